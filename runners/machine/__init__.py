"""Facts of this machine: accelerators, limits of containers, energy, environment, identity."""
