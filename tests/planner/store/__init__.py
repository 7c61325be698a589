"""Tests of planner/store/."""
