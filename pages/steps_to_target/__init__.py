"""Steps to target: the batch from which larger ones give diminishing returns."""
