"""Tests of planner/answers/runs/."""
