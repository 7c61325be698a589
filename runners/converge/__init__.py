"""Steps to a target against batch size (article 001): plan, rates, rows; no TensorFlow."""
