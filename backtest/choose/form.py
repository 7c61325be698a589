"""The corner's sharpness in the law of steps to target, chosen again on three batches.

    E(B)^a = Emin^a + (Smin*B)^a

is the law of `planner.convergence.fit` for a = 1. Powers of E lie on a straight line over powers of
B, so the same fit works for every other a; Emin, Smin and Bcrit keep their meaning. The mean error
at the hidden batches is minimised.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from backtest.choose.choice import Choice, Setting, chosen, mean_over
from backtest.data.cases import TASKS, Curve, Read, cases_of
from backtest.questions.convergence import convergence_curves, may_answer, powers
from backtest.questions.figure import curve_weights

SHARPNESS: Final = (0.8, 1.0, 1.1, 1.25, 1.4, 1.5, 1.75, 2.0)
KNOWN: Final = "3 batches (ends, middle), the rest"


def form_choices(read: Read) -> list[Choice]:
    """Return the chosen sharpness of the corner, for three batches and over all tasks."""
    sets = convergence_curves(read)
    return [
        choice
        for use, tasks in (("three batches", (KNOWN,)), ("all questions", tuple(TASKS)))
        for choice in _choices(f"corner of samples to target, {use}", sets, tasks)
    ]


def _choices(use: str, sets: dict[str, list[Curve]], tasks: tuple[str, ...]) -> list[Choice]:
    pairs = [(name, task) for name in sets for task in tasks if _has_hidden(sets[name], task)]
    errors = [[_error(sets[name], task, a) for name, task in pairs] for a in SHARPNESS]
    settings = [Setting(words=f"a = {a:g}") for a in SHARPNESS]
    return chosen(use, settings, np.array(errors), [name for name, _ in pairs], "a = 1")


def _has_hidden(curves: list[Curve], task: str) -> bool:
    return bool(cases_of(curves, TASKS[task]).hidden_batch.size)


def _error(curves: list[Curve], task: str, sharpness: float) -> float:
    cases = cases_of(curves, TASKS[task])
    answered = may_answer(cases)
    error = np.abs(powers(sharpness)(cases).value / cases.hidden_value - 1.0)[answered]
    return mean_over(error, curve_weights(cases.hidden_curve[answered]))
