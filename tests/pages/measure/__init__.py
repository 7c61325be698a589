"""Tests of pages/measure/."""
