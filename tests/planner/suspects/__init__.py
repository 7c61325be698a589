"""Tests of planner/suspects/."""
