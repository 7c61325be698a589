"""Samples to train on: data sets, synthetic ones, feeds, and their order."""
