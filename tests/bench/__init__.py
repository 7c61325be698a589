"""How fast and how large: figures of the store and of the fits, run by `make bench`."""
