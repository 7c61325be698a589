"""Variants of a network: pruned, rebuilt with other settings, trained briefly."""
