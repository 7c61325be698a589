"""Tests of runners/child/engines/."""
