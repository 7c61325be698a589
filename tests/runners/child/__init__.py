"""Tests of runners/child/."""
