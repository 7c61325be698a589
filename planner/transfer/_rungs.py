"""Rungs in their order: the prediction of each, and its interval from leave-out errors.

The order depends on the available data, not on the width of intervals. Each rung predicts every
cell of the table without its measurement, with the `Evidence` of the target cell: the same other
cards of the workload, the same benchmarks of the card. y is log(samples/s).

*Workload on other cards.* The workload v ran on the cards h, not on k. Every library workload u on
k and on one of the cards h votes, and the answer is the weighted mean of the votes:

    vote   = y[u,k] + mean_h(y[v,h] - y[u,h])
    weight = exp(-d^2/(2 CELL_SCATTER^2)) * (ANOTHER where the precision differs) * share of h

d is the rms difference of the centred profiles over the cards h; with one card there is no profile,
and only the precision counts. The difficulty of a cell is sqrt(CELL_SCATTER^2 + weighted variance
of the votes).

*Benchmarks of the card.* A few benchmarks b ran on the card k, v and one of them on other cards h:

    y[v,h] = a + sum_b(slope_b * y[b,h])

by ridge regression towards slopes that are equal (less where the precision differs) and sum to 1.
A card without any of the benchmarks is not used; a benchmark missing on a card with another one is
filled in. Leaving a card out has the closed form residual/(1 - leverage); the leverage is also its
difficulty.

*Data sheet of the card.* With x the logarithms of peak FLOP/s in the workload's precision, memory
bandwidth and memory:

    y[v,k] = a_v + sum_i((slope_i + slope_vi) * x_i[k])

Common slopes are a ridge regression towards `RULE`, slopes of a workload one towards 0. A card
counts once for any number of workloads. The difficulty of a card is its distance from the others,
sqrt(1 + 1/own cards + x' N^-1 x), N the normal matrix.

*Interval.* Errors are logarithms of predicted over measured, divided by the difficulty. The ceil((n
+ 1)*level)-th smallest of n absolute errors covers the target with probability `level` (split
conformal prediction; Vovk, Gammerman, Shafer 2005; Papadopoulos et al. 2002). Errors of one card or
workload are correlated, so at least `GROUPS` cards and workloads are required; a smaller library
gets t*FALLBACK_SD with FALLBACK_DOF degrees of freedom, or the largest error if wider.

    rung                        requires                                     basis
    measured                    the cell itself                              measured
    workload on other cards     the workload on 1+ cards, and 1+ library     similar workload
                                workloads on these and on the target one
    benchmarks of the card      a library workload on the target card and    similar workload
                                on 1+ cards where the workload ran; first
                                where it ran on more cards than the card
                                has benchmarks
    data sheet of the card      the sheets of the card and of 1+ cards       transferred from
                                where the workload ran                       another GPU

A measurement has the interval of another session.

Limits: the errors of one card are correlated, so 100 errors of 10 cards are worth less than those
of 100 cards. No interval covers a card unlike every card of the library (another maker, another
kind of arithmetic).

Evidence: docs/evidence.md#speed-on-another-card.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.core import Floats, t_quantile
from planner.epochs import SESSION_DOF, SESSION_SD
from planner.transfer._records import SPECS, Library, Mask, Rung

CELL_SCATTER: Final = 0.1
"""Scatter of a ratio between cards about its neighbours' [relative sd]."""
ANOTHER: Final = 0.2
"""Weight of a workload in another precision, against 1 in the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The data that may be used for a cell.

    `cards` (cards,): where its workload counts as measured; its own card never counts.
    `benchmarks` (benchmarks,): rows of the workloads that count as measured on its card.
    `may_speak` (workloads, workloads): column may be used for row. Rows of the same name are not
    used, so that errors are those of an entirely unmeasured workload; only the target row may use
    its other precisions.
    """

    cards: Mask
    benchmarks: NDArray[np.intp]
    may_speak: Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class RungPrediction:
    """Log samples/s of every cell and its relative difficulty, (workloads, cards).

    NaN where there is no answer. `shares` (workloads, benchmarks, cards) are the weights of the
    benchmarks, where workloads vote.
    """

    log_samples_per_s: Floats
    difficulty: Floats
    shares: Floats | None = None


def evidence_for(library: Library, row: int, column: int) -> Evidence:
    """Return the evidence for one cell of the table, without the cell itself."""
    cards, there = library.measured[row].copy(), library.measured[:, column].copy()
    cards[column] = there[row] = False
    may_speak = ~library.same_name
    may_speak[row] |= library.same_name[row]
    may_speak[row, row] = False
    return Evidence(cards=cards, benchmarks=np.flatnonzero(there), may_speak=may_speak)


def voices(library: Library, evidence: Evidence) -> Floats:
    """Return benchmark weights by precision, 0 where not allowed, (workloads, benchmarks)."""
    precision = np.where(library.same_precision, 1.0, ANOTHER)
    return np.where(evidence.may_speak, precision, 0.0)[:, evidence.benchmarks]


def divided(numerator: Floats, denominator: Floats) -> Floats:
    """Return the quotient, NaN where the denominator is 0."""
    shape = np.broadcast_shapes(np.shape(numerator), np.shape(denominator))
    nothing = np.full(shape, np.nan)
    np.divide(numerator, denominator, out=nothing, where=np.asarray(denominator) != 0.0)
    return nothing


GROUPS: Final = 3
"""Least number of cards and of workloads behind the errors of an interval."""
FALLBACK_SD: Final = 0.3
"""Of an answer that could not be checked [relative sd]."""
FALLBACK_DOF: Final = 4.0
"""Degrees of freedom of its Student t."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Leave-out errors of a rung: `quantile` of |error|/difficulty and its sample.

    `typical_difficulty` is the median over its cells. Where `checked` is false the library is too
    small and `quantile` is the stated fallback, for a difficulty of 1.
    """

    quantile: float
    typical_difficulty: float
    residuals: int
    cards: int
    workloads: int
    checked: bool

    def half_width(self, difficulty: float) -> float:
        """Return half-width of the interval in the logarithm for a cell of that difficulty."""
        return self.quantile * (difficulty if self.checked else 1.0)


def calibrate(library: Library, prediction: RungPrediction, level: float) -> Calibration:
    """Return the calibration of a rung from its errors on all measured cells.

    Args:
        library: the table.
        prediction: of every cell, each without its own measurement.
        level: coverage of the interval [share].

    Raises:
        ValueError: level is not strictly between 0 and 1.
    """
    error = np.abs(prediction.log_samples_per_s - library.log_samples_per_s)
    row, column = np.nonzero(np.isfinite(error))
    difficulty = prediction.difficulty[row, column]
    fallback = float(t_quantile(level, FALLBACK_DOF)) * FALLBACK_SD
    groups = len({library.workloads[i][0] for i in row}), len({*column.tolist()})
    rank = rank_of(level, row.size)
    checked = rank <= row.size and min(groups) >= GROUPS
    return Calibration(
        quantile=float(np.partition((error[row, column] / difficulty), rank - 1)[rank - 1])
        if checked
        else max([fallback, *error[row, column]]),
        typical_difficulty=float(np.median(difficulty)) if checked else 1.0,
        residuals=int(row.size),
        cards=groups[1],
        workloads=groups[0],
        checked=checked,
    )


def rank_of(level: float, n: int) -> int:
    """Return the rank of the error (rising) that bounds the next with probability `level`."""
    return math.ceil(round((n + 1) * level, 9))


SLOPE_RIDGE: Final = (CELL_SCATTER / 0.3) ** 2
"""Variance of a cell over the prior variance of a slope about the additive one."""


class _Design(NamedTuple):
    """Regressors about their means (v, b, k), prior slopes (v, b), cards to learn from (v, k)."""

    x: Floats
    prior: Floats
    there: Mask


def predict_by_benchmarks(library: Library, evidence: Evidence) -> RungPrediction:
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
    return RungPrediction(log_samples_per_s=answer, difficulty=difficulty)


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


SHEET_RIDGE: Final = 1.0
"""Variance of a card over the prior variance of a common slope."""
WORKLOAD_RIDGE: Final = 1.0
"""Variance of a cell over the prior variance of a workload's own slope."""
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


def predict_by_data_sheet(library: Library, evidence: Evidence) -> RungPrediction:
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
    return RungPrediction(log_samples_per_s=answer.T, difficulty=difficulty.T)


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


def predict_by_other_cards(library: Library, evidence: Evidence) -> RungPrediction:
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


def _counted(votes: Floats, weights: Floats) -> RungPrediction:
    total = weights.sum(axis=1, keepdims=True)
    shares = divided(weights, total)
    mean = divided((weights * votes).sum(axis=1), total[:, 0])
    variance = (shares * (votes - mean[:, None, :]) ** 2).sum(axis=1)
    difficulty = np.sqrt(CELL_SCATTER**2 + variance)
    return RungPrediction(log_samples_per_s=mean, difficulty=difficulty, shares=shares)


PREDICTS: Final[Mapping[Rung, Callable[[Library, Evidence], RungPrediction]]] = {
    "workload on other cards": predict_by_other_cards,
    "benchmarks of the card": predict_by_benchmarks,
    "data sheet of the card": predict_by_data_sheet,
}
"""The rungs below a measurement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RungEstimate:
    """One rung's answer for a cell: log samples/s, half-width in the logarithm, and its sources.

    Where its errors are smaller than those of a measurement, `surer_than_measured` is true and
    `half_width` that of a measurement.
    """

    rung: Rung
    cell: tuple[int, int]
    evidence: Evidence
    log_samples_per_s: float
    half_width: float
    surer_than_measured: bool
    prediction: RungPrediction
    calibration: Calibration


def answer_by(
    library: Library, evidence: Evidence, cell: tuple[int, int], rung: Rung, level: float
) -> RungEstimate | None:
    """Return a rung's answer for a cell (row, column); None where it lacks data.

    Its interval is at least as wide as that of one measurement.
    """
    if rung not in PREDICTS:
        return None
    prediction = PREDICTS[rung](library, evidence)
    log = float(prediction.log_samples_per_s[cell])
    if not np.isfinite(log):
        return None
    calibration = calibrate(library, prediction, level)
    half_width = calibration.half_width(float(prediction.difficulty[cell]))
    measured = measured_half_width(1, 0.0, level)
    return RungEstimate(
        rung=rung,
        cell=cell,
        evidence=evidence,
        log_samples_per_s=log,
        half_width=max(half_width, measured),
        surer_than_measured=half_width < measured,
        prediction=prediction,
        calibration=calibration,
    )


def best_answer(
    library: Library, cell: tuple[int, int], level: float, rung: Rung | None = None
) -> RungEstimate | None:
    """Return the answer of the first rung that can be checked, else of the first that has one."""
    evidence = evidence_for(library, *cell)
    unchecked = None
    for candidate in ladder(evidence) if rung is None else (rung,):
        answer = answer_by(library, evidence, cell, candidate, level)
        if answer is not None and answer.calibration.checked:
            return answer
        unchecked = unchecked or answer
    return unchecked


def ladder(evidence: Evidence) -> tuple[Rung, ...]:
    """Return the rungs below a measurement, the most certain first.

    Workload on other cards and benchmarks of the card use the same part of the table, one its rows,
    the other its columns: the one with more data is first.
    """
    first: tuple[Rung, Rung] = ("workload on other cards", "benchmarks of the card")
    if np.count_nonzero(evidence.cards) > evidence.benchmarks.size:
        first = first[::-1]
    return (*first, "data sheet of the card")


def measured_half_width(runs: int, squares: float, level: float) -> float:
    """Return the half-width, in the logarithm, of one more run on the same kind of card.

    The prior spread between sessions and machines (`planner.epochs.projection`) pooled with that of
    `runs` repeats, whose squared deviations in the logarithm sum to `squares`.
    """
    dof = SESSION_DOF + runs - 1
    variance = (SESSION_DOF * SESSION_SD**2 + squares) / dof
    return float(t_quantile(level, dof) * np.sqrt(variance * (1.0 + 1.0 / runs)))
