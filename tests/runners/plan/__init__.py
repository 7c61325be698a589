"""Tests of runners/plan/."""
