"""Tests of runners/child/samples/."""
