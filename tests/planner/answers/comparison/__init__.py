"""Tests of planner/answers/comparison/."""
