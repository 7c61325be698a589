"""Sweeps over the nodes of a cluster."""
