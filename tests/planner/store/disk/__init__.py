"""Tests of planner/store/disk/."""
