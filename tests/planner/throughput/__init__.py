"""Tests of planner/throughput/."""
