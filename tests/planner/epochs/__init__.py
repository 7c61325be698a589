"""Tests of planner/epochs/."""
