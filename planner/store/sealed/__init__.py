"""Sealed run files: each carries its own hash, and a run is kept whole or not at all.

`commit` writes them, `seal` and `accept` list and check them, `compact` merges the small
files of a result set, `result_set` reads what a set says of itself.
"""
