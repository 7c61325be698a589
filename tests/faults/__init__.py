"""Kills, torn files, full disks: what the store survives, with counts."""
