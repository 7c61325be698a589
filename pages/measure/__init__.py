"""Measure: what a sweep would cost, start it, follow it, stop and resume it."""
