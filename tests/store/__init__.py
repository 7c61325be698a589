"""What the store promises."""
