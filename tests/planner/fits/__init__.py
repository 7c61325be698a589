"""Tests of planner/fits/."""
