"""Measurement: the only room that may import TensorFlow or Keras, and only in a child process.

It writes runs through `planner.runs._records` and `planner.store`; nothing imports it.
"""
