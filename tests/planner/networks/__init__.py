"""Tests of the named networks and their operations."""
