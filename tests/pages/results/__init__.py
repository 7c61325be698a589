"""Tests of pages/results/."""
