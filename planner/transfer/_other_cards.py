"""The rung "workload on other cards".

The workload v was measured on the cards h, not on k. Every library workload u that was measured
on k and on one of the cards h votes with its ratio between the cards,

    vote = y[u,k] + mean_h(y[v,h] - y[u,h])            y = log(samples/s)

and the answer is the mean of the votes, weighted by similarity: exp(-d^2/(2 CELL_SCATTER^2)), where
d is the rms difference of the two profiles over the cards h once their means are taken off; times
`ANOTHER` where the precision differs; times the share of the cards h that both were measured on.
One card h shows no profile, so there only the precision weighs. The more the votes disagree, the
more difficult the cell: sqrt(CELL_SCATTER^2 + weighted variance of the votes).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.core import Floats
from planner.transfer._prediction import (
    CELL_SCATTER,
    Known,
    Prediction,
    divided,
    voices,
)
from planner.transfer._records import Library, Mask


def predict(library: Library, known: Known) -> Prediction:
    """Every cell from the other cards of its workload; arrays (workloads, cards)."""
    log, there = library.log_samples_per_s, library.measured & known.cards
    offset, similarity = _profiles(log, there, known.benchmarks)
    votes = log[known.benchmarks] + offset
    weights = voices(library, known)[:, :, None] * similarity
    heard = np.isfinite(votes) & (weights > 0.0)
    return _counted(np.where(heard, votes, 0.0), np.where(heard, weights, 0.0))


def _profiles(log: Floats, there: Mask, voters: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Mean difference and similarity of workload and voter over the cards but k, (v, u, k)."""
    both = there[:, None, :] & there[voters]
    y = np.where(there, log, 0.0)
    gap = np.where(both, y[:, None, :] - y[voters], 0.0)
    n = _over_other_cards(both.astype(np.float64))
    mean = divided(_over_other_cards(gap), n)
    variance = np.maximum(divided(_over_other_cards(gap**2), n) - mean**2, 0.0)
    shared = divided(n, _over_other_cards(there.astype(np.float64))[:, None, :])
    return mean, np.nan_to_num(shared * np.exp(-variance / (2.0 * CELL_SCATTER**2)))


def _over_other_cards(values: Floats) -> Floats:
    """Sum over all cards but the one that is predicted."""
    others: Floats = values.sum(axis=-1, keepdims=True) - values
    return others


def _counted(votes: Floats, weights: Floats) -> Prediction:
    total = weights.sum(axis=1, keepdims=True)
    shares = divided(weights, total)
    mean = divided((weights * votes).sum(axis=1), total[:, 0])
    variance = (shares * (votes - mean[:, None, :]) ** 2).sum(axis=1)
    difficulty = np.sqrt(CELL_SCATTER**2 + variance)
    return Prediction(log_samples_per_s=mean, difficulty=difficulty, shares=shares)
