"""Tests of runners/commands/."""
