"""Measuring: plans, children, their ends, what is kept."""
