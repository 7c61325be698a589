"""Tests of planner/explore/."""
