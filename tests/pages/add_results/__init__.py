"""Tests of the page Add results."""
