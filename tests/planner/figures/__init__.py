"""Tests of planner/figures/."""
