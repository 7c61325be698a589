"""Tests of runners/machine/."""
