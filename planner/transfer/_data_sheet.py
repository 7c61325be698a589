"""The rung "data sheet of the card".

    y[v,k] = a_v + sum_i((slope_i + slope_vi) * x_i[k])        y = log(samples/s)

with x the logarithms of peak FLOP/s in the workload's precision, memory bandwidth and memory. The
common slopes are a ridge regression towards the best rule without a fit, the geometric mean of
FLOP/s and bandwidth (1/2, 1/2, 0). The workload's own cards adjust them, by a ridge towards 0. The
intercept a_v fits the mean over its own cards.

A card counts once for any number of workloads, because the errors of a card are correlated.
SHEET_RIDGE and WORKLOAD_RIDGE are 1, scatter over prior deviation squared: a common slope may
deviate by as much as a card scatters, a workload's by as much as a cell. Every card is left out
whole: its own cells use none of its data. The difficulty of a card is its distance from the
others, sqrt(1 + 1/own cards + x' N^-1 x), with N the normal matrix.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from planner.core import Floats
from planner.transfer._prediction import Evidence, Prediction, divided
from planner.transfer._records import SPECS, Library, Mask

SHEET_RIDGE: Final = 1.0
WORKLOAD_RIDGE: Final = 1.0
RULE: Final = np.array([0.5, 0.5, 0.0])
"""Slopes of the geometric mean of FLOP/s and bandwidth."""


class _Centred(NamedTuple):
    """Deviations from the means over the cards in use (0 where not), by card left out k.

    `n` and `y_mean` (k, v), `x_mean` (k, v, 3), `x` (k, v, cards, 3), `y` (k, v, cards).
    """

    n: Floats
    x_mean: Floats
    y_mean: Floats
    x: Floats
    y: Floats


def predict(library: Library, evidence: Evidence) -> Prediction:
    """Return every cell from the data sheet of its card; arrays (workloads, cards)."""
    complete = np.asarray(np.isfinite(library.sheets).all(axis=-1))
    there = library.measured & complete
    x = np.where(there[..., None], library.sheets, 0.0)
    y = np.where(there, library.log_samples_per_s, 0.0)
    without = there & ~np.eye(len(library.cards), dtype=bool)[:, None, :]  # (left out, v, card)
    inverse, slope = _common_slopes(_centred(x, y, without), without)
    centred = _centred(x, y, without & evidence.cards)
    bent = slope[:, None, :] + _workload_slopes(centred, slope)
    sheets = np.where(complete.T[..., None], library.sheets.transpose(1, 0, 2), np.nan)
    ahead = sheets - centred.x_mean
    answer = centred.y_mean + (ahead * bent).sum(axis=-1)
    far = ((ahead @ inverse) * ahead).sum(axis=-1)
    difficulty = np.sqrt(1.0 + divided(np.ones(1), centred.n) + far)
    return Prediction(log_samples_per_s=answer.T, difficulty=difficulty.T)


def _centred(x: Floats, y: Floats, used: Mask) -> _Centred:
    by_workload = used.transpose(1, 0, 2).astype(np.float64)  # matrix products, not sums over all
    n = used.sum(axis=2).astype(np.float64)
    x_mean = divided((by_workload @ x).transpose(1, 0, 2), n[..., None])
    y_mean = divided((by_workload @ y[:, :, None])[:, :, 0].T, n)
    return _Centred(
        n=n,
        x_mean=x_mean,
        y_mean=y_mean,
        x=np.where(used[..., None], x - x_mean[:, :, None, :], 0.0),
        y=np.where(used, y - y_mean[:, :, None], 0.0),
    )


def _common_slopes(centred: _Centred, used: Mask) -> tuple[Floats, Floats]:
    """Return the inverse normal matrix (k, 3, 3) and slopes (k, 3) for every card left out."""
    once = np.nan_to_num(divided(used.astype(np.float64), used.sum(axis=1, keepdims=True)))
    x = centred.x.reshape(len(used), -1, len(SPECS))
    weighted = (x * once.reshape(len(used), -1, 1)).transpose(0, 2, 1)
    inverse = np.linalg.inv(weighted @ x + SHEET_RIDGE * np.eye(len(SPECS))).astype(np.float64)
    rest = centred.y.reshape(len(used), -1, 1) - x @ RULE[:, None]
    slope: Floats = RULE + (inverse @ (weighted @ rest))[:, :, 0]
    return inverse, slope


def _workload_slopes(centred: _Centred, slope: Floats) -> Floats:
    """Return the adjustment of the common slopes by a workload's own cards, (k, v, 3)."""
    rest = centred.y[..., None] - centred.x @ slope[:, None, :, None]
    turned = centred.x.transpose(0, 1, 3, 2)
    normal = turned @ centred.x + WORKLOAD_RIDGE * np.eye(len(SPECS))
    return np.linalg.solve(normal, turned @ rest)[..., 0].astype(np.float64)
