"""Tests of planner/people."""
