"""The rung "workload on other cards".

The workload v was measured on the cards h, not on k. Every library workload u that was measured
on k and on one of the cards h votes with its ratio between the cards,

    vote = y[u,k] + mean_h(y[v,h] - y[u,h])            y = log(samples/s)

and the answer is the weighted mean of the votes. A weight is the similarity exp(-d^2/(2
CELL_SCATTER^2)), with d the rms difference of the centred profiles over the cards h; times
`ANOTHER` where the precision differs; times the share of the cards h that both were measured on.
With one card h there is no profile, so only the precision counts. Disagreement of the votes makes a
cell more
difficult: sqrt(CELL_SCATTER^2 + weighted variance of the votes).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.core import Floats
from planner.transfer._prediction import (
    CELL_SCATTER,
    Evidence,
    Prediction,
    divided,
    voices,
)
from planner.transfer._records import Library, Mask


def predict(library: Library, evidence: Evidence) -> Prediction:
    """Return every cell from the other cards of its workload; arrays (workloads, cards)."""
    log, there = library.log_samples_per_s, library.measured & evidence.cards
    offset, similarity = _profiles(log, there, evidence.benchmarks)
    votes = log[evidence.benchmarks] + offset
    weights = voices(library, evidence)[:, :, None] * similarity
    heard = np.isfinite(votes) & (weights > 0.0)
    return _counted(np.where(heard, votes, 0.0), np.where(heard, weights, 0.0))


def _profiles(log: Floats, there: Mask, voters: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return mean difference and similarity of workload and voter without card k, (v, u, k)."""
    both = there[:, None, :] & there[voters]
    y = np.where(there, log, 0.0)
    gap = np.where(both, y[:, None, :] - y[voters], 0.0)
    n = _over_other_cards(both.astype(np.float64))
    mean = divided(_over_other_cards(gap), n)
    variance = np.maximum(divided(_over_other_cards(gap**2), n) - mean**2, 0.0)
    shared = divided(n, _over_other_cards(there.astype(np.float64))[:, None, :])
    return mean, np.nan_to_num(shared * np.exp(-variance / (2.0 * CELL_SCATTER**2)))


def _over_other_cards(values: Floats) -> Floats:
    """Return the sum over all cards except the predicted one."""
    others: Floats = values.sum(axis=-1, keepdims=True) - values
    return others


def _counted(votes: Floats, weights: Floats) -> Prediction:
    total = weights.sum(axis=1, keepdims=True)
    shares = divided(weights, total)
    mean = divided((weights * votes).sum(axis=1), total[:, 0])
    variance = (shares * (votes - mean[:, None, :]) ** 2).sum(axis=1)
    difficulty = np.sqrt(CELL_SCATTER**2 + variance)
    return Prediction(log_samples_per_s=mean, difficulty=difficulty, shares=shares)
