"""Tests of runners/child/forms/."""
