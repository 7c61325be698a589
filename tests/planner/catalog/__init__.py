"""Tests of planner/catalog/."""
