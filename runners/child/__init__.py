"""The measured process: the only part that imports TensorFlow, Keras or JAX."""
