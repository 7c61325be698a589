"""Tests of planner/core/."""
