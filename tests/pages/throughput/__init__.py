"""Tests of pages/throughput/."""
