"""Results that programs of benchmarks write, or that articles and contests publish."""
