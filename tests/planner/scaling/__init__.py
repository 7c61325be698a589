"""Tests of planner/scaling/."""
