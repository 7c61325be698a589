"""What several pages share: the store, links, colours, tables, downloads."""
