"""The runs that explain the most contradictions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def fewest_to_blame(conflicts: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return a small set that takes part in every conflict.

    The one with most conflicts is removed first, of equals the last one. This is minimal if one or
    a few odd ones contradict many, but not in every case.

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
