"""Results: every run, filtered by what it is, and one run in detail."""
