"""The rung "benchmarks of the card".

A few benchmarks b were measured on the card k, and the workload v on other cards h where at least
one of them was measured too. Over these, how v goes with the benchmarks is a straight line,

    y[v,h] = a + sum_b(slope_b * y[b,h])               y = log(samples/s)

by ridge regression towards the additive model (v is on k as much faster as the benchmarks are:
slopes that sum to 1, equal but for `ANOTHER` where the precision differs). Benchmarks are strong
regressors of each other and cards are few, hence the ridge: SLOPE_RIDGE is the variance of a
cell (0.1^2) over the prior variance of a slope about the additive one (0.3^2). In the limit of
many benchmarks this is a low-rank completion of the table, in that of a hard ridge the additive
one.

A card h without any of these benchmarks says nothing: what the table would fill in for it is made
of v's own speed there alone (from an H100 NVL that ran only v the answers were 3 times off, and no
interval held). A benchmark that is missing on a card h where another was measured is filled in.

Leaving a card out is exact in closed form: a ridge with a free intercept is a linear smoother, so
the error is residual/(1 - leverage). The leverage also says how difficult a card is.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from planner.core import Floats
from planner.transfer._prediction import (
    CELL_SCATTER,
    Known,
    Prediction,
    divided,
    voices,
)
from planner.transfer._records import Library, Mask

SLOPE_RIDGE: Final = (CELL_SCATTER / 0.3) ** 2


class _Design(NamedTuple):
    """Regressors about their means (v, b, k), prior slopes (v, b), cards to learn from (v, k)."""

    x: Floats
    prior: Floats
    there: Mask


def predict(library: Library, known: Known) -> Prediction:
    """Every cell from the benchmarks of its card; arrays (workloads, cards)."""
    design = _design(library, known)
    learnt = np.where(design.there[:, None, :], design.x, 0.0)
    normal = learnt @ learnt.transpose(0, 2, 1) + SLOPE_RIDGE * np.eye(known.benchmarks.size)
    inverse = np.linalg.inv(normal)
    n = design.there.sum(axis=1, keepdims=True).astype(np.float64)
    leverage = divided(np.ones(1), n) + ((inverse @ design.x) * design.x).sum(axis=1)
    y = np.where(design.there, library.log_samples_per_s, 0.0)
    additive = divided(y.sum(axis=1, keepdims=True), n) + _along(design.prior, design.x)
    rest = np.where(design.there, y - additive, 0.0)
    slope = (inverse @ (learnt @ rest[:, :, None]))[:, :, 0]
    fitted = additive + _along(slope, design.x)
    left_out = y - divided(y - fitted, 1.0 - leverage)
    answered = _answered(library, known) & (n - design.there > 0.0)
    answer = np.where(answered, np.where(design.there, left_out, fitted), np.nan)
    leverage = np.where(design.there, divided(leverage, 1.0 - leverage), leverage)
    difficulty = np.sqrt(1.0 + np.where(answered, leverage, np.nan))
    return Prediction(log_samples_per_s=answer, difficulty=difficulty)


def _design(library: Library, known: Known) -> _Design:
    there = library.measured & known.cards & tied(library, known)
    x = np.nan_to_num(library.filled[known.benchmarks])
    mean = divided(there @ x.T, there.sum(axis=1, keepdims=True))
    prior = np.where(np.isfinite(mean), voices(library, known), 0.0)
    x = np.where(prior[:, :, None] > 0.0, x - mean[:, :, None], 0.0)
    prior = np.nan_to_num(divided(prior, prior.sum(axis=1, keepdims=True)))
    return _Design(x=x, prior=prior, there=there)


def tied(library: Library, known: Known) -> Mask:
    """Cards where a benchmark was measured that may be used for the workload, (v, k)."""
    usable = known.may_speak[:, known.benchmarks].astype(np.float64)
    return np.asarray(usable @ library.measured[known.benchmarks] > 0.0)


def _along(slope: Floats, x: Floats) -> Floats:
    """Sum over the benchmarks, (v, k)."""
    return (slope[:, None, :] @ x)[:, 0, :]


def _answered(library: Library, known: Known) -> Mask:
    """Cells of which at least one benchmark may be used, and none was filled in."""
    usable = known.may_speak[:, known.benchmarks, None]
    complete = (library.measured[known.benchmarks] | ~usable).all(axis=1)
    return np.asarray(complete & usable.any(axis=1))
