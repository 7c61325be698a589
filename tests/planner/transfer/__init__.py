"""Tests of planner/transfer/."""
