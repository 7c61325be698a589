"""Measurement: the only package that may import TensorFlow or Keras, in a child process only.

It writes runs through `planner.runs._records` and `planner.store`; nothing imports it.
"""
