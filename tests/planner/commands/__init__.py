"""Tests of planner/commands/."""
