"""Sweeps over the nodes of a Ray cluster; only `connection` imports Ray."""
