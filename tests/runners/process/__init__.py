"""Tests of runners/process/."""
