"""Stores, buckets, sweeps and restricted sets that tests make."""
