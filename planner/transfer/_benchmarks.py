"""The rung "benchmarks of the card".

A few benchmarks b were measured on the card k. The workload v was measured on other cards h, with
at least one of the benchmarks. Over these cards v is a linear function of the benchmarks,

    y[v,h] = a + sum_b(slope_b * y[b,h])               y = log(samples/s)

by ridge regression towards the additive model (v has the speed-up of the benchmarks: slopes sum to
1, equal except for `ANOTHER` where the precision differs). Benchmarks are correlated and cards are
few, hence the ridge: SLOPE_RIDGE is the variance of a
cell (0.1^2) over the prior variance of a slope about the additive one (0.3^2). In the limit of
many benchmarks this is a low-rank completion of the table, in that of a hard ridge the additive
one.

A card h without any of these benchmarks is not used: the table would fill it in from v's own speed
there. (With an H100 NVL that ran only v, answers were 3 times off and outside every interval.) A
benchmark missing on a card h with another one is filled in.

Leaving a card out has a closed form: a ridge with a free intercept is a linear smoother, so the
error is residual/(1 - leverage). The leverage also measures how difficult a card is.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from planner.core import Floats
from planner.transfer._prediction import (
    CELL_SCATTER,
    Evidence,
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


def predict(library: Library, evidence: Evidence) -> Prediction:
    """Return every cell from the benchmarks of its card; arrays (workloads, cards)."""
    design = _design(library, evidence)
    learnt = np.where(design.there[:, None, :], design.x, 0.0)
    normal = learnt @ learnt.transpose(0, 2, 1) + SLOPE_RIDGE * np.eye(evidence.benchmarks.size)
    inverse = np.linalg.inv(normal)
    n = design.there.sum(axis=1, keepdims=True).astype(np.float64)
    leverage = divided(np.ones(1), n) + ((inverse @ design.x) * design.x).sum(axis=1)
    y = np.where(design.there, library.log_samples_per_s, 0.0)
    additive = divided(y.sum(axis=1, keepdims=True), n) + _along(design.prior, design.x)
    rest = np.where(design.there, y - additive, 0.0)
    slope = (inverse @ (learnt @ rest[:, :, None]))[:, :, 0]
    fitted = additive + _along(slope, design.x)
    left_out = y - divided(y - fitted, 1.0 - leverage)
    answered = _answered(library, evidence) & (n - design.there > 0.0)
    answer = np.where(answered, np.where(design.there, left_out, fitted), np.nan)
    leverage = np.where(design.there, divided(leverage, 1.0 - leverage), leverage)
    difficulty = np.sqrt(1.0 + np.where(answered, leverage, np.nan))
    return Prediction(log_samples_per_s=answer, difficulty=difficulty)


def _design(library: Library, evidence: Evidence) -> _Design:
    there = library.measured & evidence.cards & tied(library, evidence)
    x = np.nan_to_num(library.filled[evidence.benchmarks])
    mean = divided(there @ x.T, there.sum(axis=1, keepdims=True))
    prior = np.where(np.isfinite(mean), voices(library, evidence), 0.0)
    x = np.where(prior[:, :, None] > 0.0, x - mean[:, :, None], 0.0)
    prior = np.nan_to_num(divided(prior, prior.sum(axis=1, keepdims=True)))
    return _Design(x=x, prior=prior, there=there)


def tied(library: Library, evidence: Evidence) -> Mask:
    """Return the cards with a measured benchmark usable for the workload, (v, k)."""
    usable = evidence.may_speak[:, evidence.benchmarks].astype(np.float64)
    return np.asarray(usable @ library.measured[evidence.benchmarks] > 0.0)


def _along(slope: Floats, x: Floats) -> Floats:
    """Return the sum over the benchmarks, (v, k)."""
    return (slope[:, None, :] @ x)[:, 0, :]


def _answered(library: Library, evidence: Evidence) -> Mask:
    """Return the cells with at least one usable benchmark and none filled in."""
    usable = evidence.may_speak[:, evidence.benchmarks, None]
    complete = (library.measured[evidence.benchmarks] | ~usable).all(axis=1)
    return np.asarray(complete & usable.any(axis=1))
