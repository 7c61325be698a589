"""Tests of planner/convergence/."""
