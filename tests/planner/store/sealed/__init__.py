"""Tests of planner/store/sealed/."""
