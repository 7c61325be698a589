"""What the pages say and remember, without a browser."""
