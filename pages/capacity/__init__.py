"""The page Capacity."""
