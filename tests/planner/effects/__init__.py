"""Tests of planner/effects/."""
