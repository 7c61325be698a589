"""Tests of planning capacity."""
