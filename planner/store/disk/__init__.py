"""Files and folders: replaced whole, locked, queued for, and never half written."""
