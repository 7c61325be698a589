"""Tests of runners/workloads/."""
