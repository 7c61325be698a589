"""Throughput: samples per second against batch size, and the effect of a factor."""
