"""Tests of the comparison of hardware."""
