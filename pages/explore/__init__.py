"""Explore: any chart, pivot table or query of the runs, and views to come back to."""
