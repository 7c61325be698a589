"""Who looks at a page or asks the HTTP interface, what they see and what they may change."""
