"""Tests of planner/answers/."""
