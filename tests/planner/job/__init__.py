"""Tests of planner/job/."""
