"""Model parallelism."""
