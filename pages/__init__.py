"""Everything a browser shows. Nothing imports this room."""
