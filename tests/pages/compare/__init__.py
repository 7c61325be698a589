"""Tests of pages/compare/."""
