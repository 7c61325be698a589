"""Training and inference loops, their clock, and the framework under Keras."""
