"""Tests of published measurements."""
