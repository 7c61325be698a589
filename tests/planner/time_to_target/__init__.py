"""Tests of planner/time_to_target/."""
