"""Tests of pages/common/."""
