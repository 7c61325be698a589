"""Compare hardware: which accelerator, rented or bought, for how long and for how much."""
