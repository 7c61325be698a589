"""Where two numbers contradict each other one of them is wrong: which one explains the most?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def fewest_to_blame(conflicts: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """A few that take part in every conflict, so that none is left among the others.

    Whoever is in most of the conflicts goes first, of equals the last one. That is the fewest
    where one or a few odd ones contradict many; it is not searched for in every case.

    Args:
        conflicts: symmetric, shape (n, n); true where two contradict each other.

    Returns:
        True for those to blame, shape (n,).
    """
    left, blamed = conflicts.copy(), np.zeros(len(conflicts), dtype=bool)
    many = left.sum(axis=1)
    while many.any():
        worst = many.size - 1 - int(many[::-1].argmax())
        blamed[worst] = True
        many -= left[worst]
        left[worst] = left[:, worst] = False
        many[worst] = 0
    return blamed
