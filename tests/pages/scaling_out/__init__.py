"""The page Scaling out."""
