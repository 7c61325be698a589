"""Tests of recording a training of one's own."""
