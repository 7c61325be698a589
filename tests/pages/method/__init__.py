"""Tests of pages/method/."""
