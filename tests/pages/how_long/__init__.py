"""Tests of pages/how_long/."""
