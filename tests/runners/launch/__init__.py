"""Tests of runners/launch/."""
