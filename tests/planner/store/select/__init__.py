"""Tests of planner/store/select/."""
