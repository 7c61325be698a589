"""Tests of planner/mfu/."""
