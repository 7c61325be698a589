"""Effect of each input on an answer: one at a time, and all at once.

    swing             |answer at the input's 95th percentile - answer at its 5th|, the other inputs
                      at their medians                                    [unit of the answer]
    rank correlation  Spearman's, between the draws of the input and of the answer   [-1 to 1]

The swing is the change of the answer, the correlation its part of the scatter. Bars of swing, the
largest on top, make a tornado chart. Limits: interactions of inputs are not included; inputs with
common draws have the same correlation.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.core import Floats, Text, speak_once
from planner.cost._draws import quantile

ENDS: Final = (0.05, 0.5, 0.95)
Answer = Callable[[Mapping[str, Floats]], Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class Influence:
    """The effect of one input on the answer.

    `low` and `high` are the answers at its 5th and 95th percentile, with the other inputs at their
    medians; `high` is below `low` for a falling answer.
    """

    name: str
    low: float
    high: float
    rank_correlation: float

    @property
    def swing(self) -> float:
        """Length of the bar [unit of the answer]; 0 where both ends are endless."""
        return 0.0 if self.low == self.high else abs(self.high - self.low)


def sensitivity(answer: Answer, inputs: Mapping[str, Floats]) -> tuple[Influence, ...]:
    """Return the effect of each input on an answer, the largest swing first.

    Args:
        answer: function from inputs by name to the answer, element by element, for flat arrays of
            any length.
        inputs: draws of every uncertain input, finite, each of shape (draws,).

    Returns:
        One `Influence` per input; ties in the order of correlation, then name.

    Raises:
        ValueError: there are no inputs, their lengths differ, or a draw is not finite.
    """
    _check(inputs)
    table = np.array(list(inputs.values()))
    low, middle, high = quantile(table, ENDS)
    scenarios = np.where(np.eye(len(table), dtype=bool), low[:, None], middle[:, None])
    scenarios = np.hstack(
        [scenarios, np.where(np.eye(len(table), dtype=bool), high[:, None], middle[:, None])]
    )
    ends = np.asarray(answer(dict(zip(inputs, scenarios, strict=True)))).reshape(2, -1)
    ranks = _ranks(np.broadcast_to(answer(inputs), table.shape[1:]))
    influences = [
        Influence(
            name=name,
            low=float(ends[0, i]),
            high=float(ends[1, i]),
            rank_correlation=_correlation(_ranks(table[i]), ranks),
        )
        for i, name in enumerate(inputs)
    ]
    return tuple(sorted(influences, key=lambda i: (-i.swing, -abs(i.rank_correlation), i.name)))


def _correlation(first: Floats, second: Floats) -> float:
    """Return Pearson's correlation of two flat arrays; 0 where one is flat."""
    left, right = first - first.mean(), second - second.mean()
    scale = np.sqrt((left @ left) * (right @ right))
    return float(left @ right / scale) if scale > 0.0 else 0.0


def _check(inputs: Mapping[str, Floats]) -> None:
    lengths = {np.shape(draws) for draws in inputs.values()}
    if len(lengths) != 1 or len(next(iter(lengths))) != 1:
        shapes = ", ".join(str(shape) for shape in sorted(lengths, key=str)) or "none"
        raise ValueError(
            Text(
                "Inputs have shapes {shapes}. Give each the same number of draws, as a flat array.",
                shapes=shapes,
            )
        )
    speak_once(
        [
            Text(
                "{name} has draws that are not finite. Leave it out or bound its range.", name=name
            )
            for name, draws in inputs.items()
            if not np.isfinite(draws).all()
        ]
    )


def _ranks(values: Floats) -> Floats:
    """Return ranks from 1; ties share their mean. scipy.stats takes a second to import."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return ranks
