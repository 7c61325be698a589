"""Tests of runners/converge/."""
