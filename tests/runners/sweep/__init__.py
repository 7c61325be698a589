"""Tests of runners/sweep/."""
