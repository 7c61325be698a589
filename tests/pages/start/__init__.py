"""What the start page shows and where it leads."""
