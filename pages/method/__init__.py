"""Method & accuracy: how wrong we were, the formulas, and what is refused."""
