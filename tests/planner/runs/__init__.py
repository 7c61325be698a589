"""Tests of planner/runs/."""
