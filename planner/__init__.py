"""Reasoning about training time: pure functions over arrays and frozen records.

No Streamlit, no TensorFlow, no clock and no disk in here, except behind the one door
`planner.store`. The names below are the public surface.
"""
