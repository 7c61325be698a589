"""Time of N epochs, and the prior of their scatter from other runs on the same machine.

    total(N) = pre-train + epoch 1 + mean*(M - 1)         [s]
    M = N * epoch_ratio timed epochs, mean over epochs 2..

Epoch 1 differs from the others (graph building, caches), so it is counted once and the mean starts
at epoch 2. `epoch_ratio` is 1 except for runs that timed epochs of another size
(`planner.epochs.epoch_size`). For M < 1 that part of the mean counts. `planner.runs.later_epochs`
has the interval of the later epochs. Another session moves everything: the sd between two sessions
is sqrt(2)*session_sd*total, added in quadrature. Epochs of several kinds
(`planner.epochs.steadiness`) are refused: no mean predicts the rest.

The prior of a run's scatter (`EpochPrior.sd`) comes from the other runs of its result set on its
system, for training and inference apart, without excluded suspect runs. It is the empirical Bayes
of variances (Smyth 2004, "limma", with fixed degrees of freedom): with d = epochs - 2

    E  ln s^2 = ln sd^2 + psi(d/2) - ln(d/2) - psi(NU0/2) + ln(NU0/2)
    V  ln s^2 = psi'(d/2) + psi'(NU0/2)                                   (di- and trigamma)

so ln sd^2 is the mean of the other runs' logarithms, each less its bias and weighted by 1/V, and of
ln SD0^2 with the weight 1/(2 SETS_SD)^2. The drift grows in proportion. A set never narrows the
interval. A scatter above MAX_CV counts as MAX_CV. Limit: the prior is one number for all workloads
of a set, which does not fit an unlike run.

Evidence: docs/evidence.md#time-of-n-epochs. Reasons: docs/decisions/0005-interval-of-n-epochs.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, polygamma

from planner.core import (
    LEVEL,
    Basis,
    Estimate,
    Floats,
    Refusal,
    Text,
    bad_seconds,
    paragraph,
    speak_once,
    t_quantile,
)
from planner.epochs.steadiness import Steadiness, steadiness
from planner.runs import DRIFT, EPOCHS, NU0, SD0, EpochPrior, LaterEpochs


def start_given(
    pre_train_s: float | None, first_epoch_s: float | None, until_s: float | None
) -> tuple[float, list[str]]:
    """Return the seconds until the end of epoch 1, and their problems.

    The two parts have priority over their sum. With epoch 1 alone the time starts there: see
    `start_included`.
    """
    if until_s is not None and (pre_train_s is None or first_epoch_s is None):
        return until_s, bad_seconds("Everything until the end of epoch 1", until_s)
    if first_epoch_s is None:
        missing = "Neither first_epoch_s nor until_first_epoch_end_s is stated. State one of them."
        return np.nan, [missing]
    problems = bad_seconds("Epoch 1", first_epoch_s)
    if pre_train_s is None:
        return first_epoch_s, problems
    return pre_train_s + first_epoch_s, bad_seconds("Pre-train", pre_train_s, zero=True) + problems


def start_included(pre_train_s: float | None, until_s: float | None) -> bool:
    """Return whether a total has the start-up time in it."""
    return pre_train_s is not None or until_s is not None


def later_given(
    count: int, mean_s: float | None, sd_s: float | None, prior: EpochPrior
) -> tuple[LaterEpochs, list[str]]:
    """Return the later epochs, and their problems."""
    problems: list[str] = []
    if count < 0 or count != int(count):
        problems.append(
            Text(
                "later_epochs is {count}. Count the epochs after the first: 0, 1, 2 ...",
                count=count,
            )
        )
    if count > 0:
        problems += bad_seconds("The mean of the later epochs", mean_s)
    if sd_s is not None and not 0.0 <= sd_s < np.inf:
        problems.append(
            Text("later_epoch_sd_s is {sd_s} s. Give a number from 0 on, or None.", sd_s=sd_s)
        )
    mean = np.nan if mean_s is None else float(mean_s)
    return LaterEpochs(count=count, mean_s=mean, sd_s=sd_s, prior=prior), problems


def bad_epochs(epochs: NDArray[np.generic]) -> list[str]:
    """Return the problems of the requested numbers of epochs."""
    numbers = epochs.astype(np.float64).ravel()
    whole = (numbers >= 1.0) & (numbers == np.floor(numbers))
    bad = numbers[~(whole & (numbers <= COUNTABLE_EPOCHS))]
    if not bad.size:
        return []
    counted = "Epochs are counted 1, 2, 3 ..."
    return [
        Text(
            "epochs is {bad:g}. {counted} Choose a whole number up to {most:g}.",
            bad=bad[0],
            counted=counted,
            most=COUNTABLE_EPOCHS,
        )
    ]


def bad_share(name: str, share: float) -> list[str]:
    """Return the problems of a relative deviation."""
    if 0.0 <= share < np.inf:
        return []
    return [
        Text(
            "{name} is {share:g}. A relative deviation is 0 or more. Give 0.02 for 2 %.",
            name=name,
            share=share,
        )
    ]


def bad_ratio(epoch_ratio: float) -> list[str]:
    """Return the problems of the number of timed epochs in one epoch."""
    if 0.0 < epoch_ratio < np.inf:
        return []
    return [
        Text(
            "epoch_ratio is {epoch_ratio:g}. Give a number above 0; 1 converts nothing.",
            epoch_ratio=epoch_ratio,
        )
    ]


SESSION_SD: Final = 0.021
"""Deviation of one session from the mean of sessions [share of the total]."""
SESSION_DOF: Final = 5.0
"""Degrees of freedom of that: five pairs of sessions."""
MAX_CV: Final = 0.20
"""Variation above which the epochs are not of one kind [share of the mean]."""
COUNTABLE_EPOCHS: Final = 1e12
"""Largest number of epochs that is projected; a question has at most `how_long.MOST_EPOCHS`."""
EPOCHS_TO_MEASURE: Final = "Measure at least 3 epochs: the first one, and two like all the rest."
EACH_KIND: Final = (
    "Find what changes (image size, batch size, another job on the machine) and measure at least "
    "3 epochs of each phase."
)
NO_MEAN: Final = (
    "A mean over all of them does not predict the rest: such projections were 37 % off."
)
LIKE_LAST: Final = "The total applies only if the rest continues like the last of them."
START_NOT_INCLUDED: Final = "The start of the training program is not included."
"""The reason of a total that starts with epoch 1, because the time before it is unknown."""
UNSETTLED: Final = (
    "The last epoch measured is more than 20 % off the others: a hiccup, or the first of another "
    "kind. Measure one more."
)


def project(
    pre_train_s: float | None,
    epoch_s: ArrayLike,
    epochs: ArrayLike,
    *,
    level: float = LEVEL,
    session_sd: float = 0.0,
    continuing: bool = False,
    rest_like_last: bool = False,
    prior: EpochPrior = EPOCHS,
    epoch_ratio: float = 1.0,
) -> Estimate | Refusal:
    """Return the total time of `epochs` epochs [s] from the epochs of one measured run.

    Args:
        pre_train_s: process start to the first step of epoch 1 [s], at least 0; None where it is
            unknown: the total starts with epoch 1 then, and a reason says so.
        epoch_s: measured epoch times from epoch 1 on [s], above 0, shape (k,).
        epochs: N, whole numbers from 1, scalar or any shape.
        level: coverage of the interval [share].
        session_sd: relative sd of one session; `SESSION_SD` for another session or machine, 0 for
            the same one.
        continuing: the measured epochs are the first of the projected run, so that only the
            N - k remaining ones are uncertain (if N >= k; fewer are projected like a new run).
        rest_like_last: after a change the rest continues like the last kind of epochs. Then
            everything before that kind is added as measured, and the mean starts after it.
        prior: of the epoch scatter; that of `scatters` where other runs were
            measured on the same machine.
        epoch_ratio: timed epochs in one epoch, above 0; 1 for epochs as timed.

    Returns:
        The total in the shape of `epochs`, or a `Refusal` where no epoch, one epoch, epochs that
        vary by more than 20 %, or epochs of several kinds (`planner.epochs.steadiness`) were
        measured.
        With `rest_like_last` fewer epochs than before the last kind are refused. N = 1 is pre-train
        plus epoch 1, exactly.

    Raises:
        ValueError: names all impossible values.
    """
    times, numbers = np.asarray(epoch_s, dtype=np.float64), np.asarray(epochs)
    if times.ndim != 1:
        raise ValueError(
            Text("epoch_s has shape {shape}. Give one flat list of epoch times.", shape=times.shape)
        )
    problems = [] if pre_train_s is None else bad_seconds("Pre-train", pre_train_s, zero=True)
    for epoch, seconds in enumerate(times, start=1):
        problems += bad_seconds(f"Epoch {epoch}", seconds)
    problems += bad_epochs(numbers) + bad_ratio(epoch_ratio)
    speak_once(problems + bad_share("session_sd", session_sd))
    if not times.size:
        return Refusal(reason="No epoch was measured.", measure_next=EPOCHS_TO_MEASURE)
    kinds = steadiness(times)
    split = rest_like_last and not kinds.steady
    after = kinds.segments[-1].first_epoch if split else 1
    if split and (numbers * epoch_ratio < after).any():
        return _refuse_earlier(kinds, math.ceil(after / epoch_ratio))
    total = _total(
        (float((pre_train_s or 0.0) + times[:after].sum()), float(times[0])),
        _measured(times, after, prior),
        numbers,
        epoch_ratio,
        level=level,
        session_sd=session_sd,
        continuing=continuing,
    )
    total = _from_start(total, included=pre_train_s is not None)
    exact = _exact(numbers, epoch_ratio)
    return total if exact else _with_kinds(total, kinds, split=split)


def project_summary(
    *,
    epochs: ArrayLike,
    later_epochs: int,
    later_epoch_mean_s: float | None,
    later_epoch_sd_s: float | None = None,
    pre_train_s: float | None = None,
    first_epoch_s: float | None = None,
    until_first_epoch_end_s: float | None = None,
    level: float = LEVEL,
    session_sd: float = 0.0,
    continuing: bool = False,
    prior: EpochPrior = EPOCHS,
    epoch_ratio: float = 1.0,
) -> Estimate | Refusal:
    """Return the total time of `epochs` epochs [s] from a published summary, as `project`.

    Args:
        epochs: N, whole numbers from 1, scalar or any shape.
        later_epochs: count of measured epochs after the first.
        later_epoch_mean_s: their mean [s], above 0; None where there are none.
        later_epoch_sd_s: their standard deviation with ddof = 0 [s]; None where unknown: then the
            prior alone is used, and a reason says so.
        pre_train_s: process start to the first step of epoch 1 [s]; None where it is unknown.
        first_epoch_s: epoch 1 [s].
        until_first_epoch_end_s: the sum of those two [s]; used where one of them is missing.
            Without it and `pre_train_s` the total starts with epoch 1, and a reason says so.
        level: coverage of the interval [share].
        session_sd: relative sd between sessions, see `project`.
        continuing: see `project`; k is `later_epochs` + 1.
        prior: see `project`.
        epoch_ratio: see `project`.

    Returns:
        As `project`.

    Raises:
        ValueError: names all impossible values.
    """
    numbers = np.asarray(epochs)
    start_s, problems = start_given(pre_train_s, first_epoch_s, until_first_epoch_end_s)
    later, wrong = later_given(later_epochs, later_epoch_mean_s, later_epoch_sd_s, prior)
    wrong += bad_epochs(numbers) + bad_ratio(epoch_ratio)
    speak_once(problems + wrong + bad_share("session_sd", session_sd))
    first_s = start_s if first_epoch_s is None else first_epoch_s
    total = _total(
        (start_s, first_s), later, numbers, epoch_ratio,
        level=level, session_sd=session_sd, continuing=continuing,
    )  # fmt: skip
    return _from_start(total, included=start_included(pre_train_s, until_first_epoch_end_s))


def later_epoch(
    *,
    later_epochs: int,
    later_epoch_mean_s: float | None,
    later_epoch_sd_s: float | None = None,
    level: float = LEVEL,
    session_sd: float = 0.0,
    prior: EpochPrior = EPOCHS,
    epoch_ratio: float = 1.0,
) -> Estimate | Refusal:
    """Return the time of one more epoch in the long run [s]: the limit of total(N)/N.

    The mean of epochs 2.., with the variance of `project` divided by m^2 as m grows, and the spread
    between sessions as there.
    Arguments, refusals and errors as `project_summary`.
    """
    later, problems = later_given(later_epochs, later_epoch_mean_s, later_epoch_sd_s, prior)
    speak_once(problems + bad_share("session_sd", session_sd) + bad_ratio(epoch_ratio))
    if refusal := _refuse(later):
        return refusal
    mean = np.asarray(later.mean_s * epoch_ratio)
    half = later.half_width_of_one(level) * epoch_ratio
    half = np.hypot(half, session_half_width(level, session_sd) * mean)
    return _estimate(mean, half, level, "measured", _reasons(later))


def session_half_width(level: float, session_sd: float = SESSION_SD) -> float:
    """Return half-width between a measured session and another one, as a share of the time."""
    return float(np.sqrt(2.0) * session_sd * t_quantile(level, SESSION_DOF))


def _exact(epochs: NDArray[np.generic], epoch_ratio: float) -> bool:
    """Return whether only the first timed epoch is requested, so that nothing is estimated."""
    return epoch_ratio == 1.0 and bool((epochs == 1).all())


def _total(
    start: tuple[float, float],
    later: LaterEpochs,
    epochs: NDArray[np.generic],
    epoch_ratio: float,
    *,
    level: float,
    session_sd: float,
    continuing: bool,
) -> Estimate | Refusal:
    """Return `start`, the seconds until the end of epoch 1 and those of epoch 1, plus the rest."""
    start_s, first_s = start
    timed_epochs = epochs.astype(np.float64) * epoch_ratio
    if _exact(epochs, epoch_ratio):  # needs no later epoch, so nothing can be refused
        exact = np.full(epochs.shape, start_s)
        between = session_half_width(level, session_sd) * exact
        return _estimate(exact, between, level, "measured", ())
    if refusal := _refuse(later):
        return refusal
    ahead, measured = timed_epochs - later.after, later.count + later.after
    # Below one epoch the mean's part is left out, which is at most the time of epoch 1.
    total = start_s + np.where(ahead < 0.0, min(first_s, later.mean_s), later.mean_s) * ahead
    if continuing:
        ahead = np.where(timed_epochs >= measured, timed_epochs - measured, ahead)
    if epoch_ratio != 1.0:  # a part of epoch 1 was never timed by itself
        ahead = np.maximum(ahead, np.minimum(timed_epochs, 1.0))
    half = later.half_width(ahead, level)
    half = np.hypot(half, session_half_width(level, session_sd) * total)
    basis: Basis = "extrapolated" if (timed_epochs > measured).any() else "measured"
    return _estimate(total, half, level, basis, _reasons(later))


def _from_start(total: Estimate | Refusal, *, included: bool) -> Estimate | Refusal:
    """Return a total with the reason that its start-up time is not included."""
    if included or isinstance(total, Refusal):
        return total
    return replace(total, reasons=(START_NOT_INCLUDED, *total.reasons))


def _refuse(later: LaterEpochs) -> Refusal | None:
    if later.count < 1:
        return Refusal(
            reason="Only the first epoch was measured, and it is not like the rest. Taking it for "
            "all was 34 % wrong in the median and 251 % for one run in twenty.",
            measure_next=EPOCHS_TO_MEASURE,
        )
    if later.variation > MAX_CV:
        which = Text(
            "Epochs {first} to {last}", first=later.after + 1, last=later.after + later.count
        )
        return Refusal(
            reason=Text(
                "{which} vary by {variation:.0f} %; above 20 % something changes while "
                "it trains, and this formula was 37 % off.",
                which=which,
                variation=100 * later.variation,
            ),
            measure_next=EACH_KIND,
        )
    return None


def _refuse_earlier(kinds: Steadiness, after: int) -> Refusal:
    return Refusal(
        reason=Text(
            "{sentence} Fewer than {after} epochs end before the last kind begins.",
            sentence=kinds.sentence,
            after=after,
        ),
        measure_next=Text("Add up the epochs as measured, or choose {after} or more.", after=after),
    )


def _with_kinds(total: Estimate | Refusal, kinds: Steadiness, *, split: bool) -> Estimate | Refusal:
    """Return a total with a refusal or reason if the epochs are, or may be, of several kinds."""
    if kinds.steady:
        more = UNSETTLED if kinds.unsettled else ""
    elif isinstance(total, Refusal):
        return replace(total, reason=paragraph(total.reason, kinds.sentence))
    elif split:
        more = paragraph(kinds.sentence, LIKE_LAST)
    else:
        return Refusal(reason=paragraph(kinds.sentence, NO_MEAN), measure_next=EACH_KIND)
    if isinstance(total, Refusal) or not more:
        return total
    return replace(total, reasons=(*total.reasons, more))


def _reasons(later: LaterEpochs) -> tuple[str, ...]:
    """Return the source of the interval, where it is not these epochs alone."""
    sd = f"{100 * later.prior.sd:.2g} %"
    if not later.shows_scatter:
        unknown = "The scatter of the epochs is unknown; the interval uses that of other runs"
        return (f"{unknown} ({sd}).",)
    if later.prior.sd > SD0:
        return (
            Text(
                "Epochs of other runs on this machine scatter by {sd}; the interval includes this.",
                sd=sd,
            ),
        )
    return ()


def _estimate(
    value: Floats, half: Floats, level: float, basis: Basis, reasons: tuple[str, ...]
) -> Estimate:
    """Return the interval in the shape of `value`: floats for a scalar.

    Symmetric, but below half of the value the lower end falls like an exponential of the same
    slope, so that it stays above 0.
    """
    far = 0.5 * value * np.exp(1.0 - 2.0 * half / value)
    parts = value, np.where(half > 0.5 * value, far, value - half), value + half
    mid, low, high = parts if value.ndim else (float(part) for part in parts)
    return Estimate(value=mid, low=low, high=high, level=level, basis=basis, reasons=reasons)


def _measured(times: Floats, after: int, prior: EpochPrior) -> LaterEpochs:
    rest = times[after:] if times.size > after else np.array([np.nan])
    count, mean_s = times.size - after, float(rest.mean())
    sd_s = float(rest.std())
    return LaterEpochs(count=count, mean_s=mean_s, sd_s=sd_s, after=after, prior=prior)


SETS_SD: Final = 1.0
"""Spread of the scatter of result sets about SD0 [logarithm]: a factor of e."""
NOISIER: Final = 1.5
"""A set whose scatter is less than this factor above SD0 gets SD0."""
QUIETEST: Final = 0.001
"""A smaller scatter is that of the clock's digits [share of the mean]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter:
    """Pooled scatter of runs: their count, and the sums of weights and weighted ln(sd^2)."""

    runs: int = 0
    weight: float = 0.0
    weighted: float = 0.0

    def and_(self, more: Scatter) -> Scatter:
        """Return the pooled scatter of these and more runs."""
        return Scatter(
            runs=self.runs + more.runs,
            weight=self.weight + more.weight,
            weighted=self.weighted + more.weighted,
        )

    def without(self, part: Scatter) -> Scatter:
        """Return the pooled scatter without some runs."""
        return Scatter(
            runs=self.runs - part.runs,
            weight=self.weight - part.weight,
            weighted=self.weighted - part.weighted,
        )

    def prior(self, *, sets_sd: float = SETS_SD, lasts: bool = True) -> EpochPrior:
        """Return the prior of one more run there, at least `EPOCHS`.

        Its sd has four digits, since the last ones depend on the order of the sum. Without
        `lasts` the drift is the usual one.
        """
        if self.runs < 1 or sets_sd <= 0.0:
            return EPOCHS
        prior_weight = 1.0 / (2.0 * sets_sd) ** 2
        drawn = (self.weighted + prior_weight * 2.0 * math.log(SD0)) / (self.weight + prior_weight)
        sd = min(float(f"{math.exp(0.5 * drawn):.4g}"), MAX_CV)
        prior = EPOCHS.scattering(sd) if sd > NOISIER * SD0 else EPOCHS
        return prior if lasts else replace(prior, drift=DRIFT)


def scatters(later_epochs: ArrayLike, variation: ArrayLike) -> list[Scatter]:
    """Return each run's contribution to the scatter.

    Args:
        later_epochs: count of measured epochs after the first, shape (runs,); fewer than 2 have no
            weight.
        variation: the coefficient of variation of these epochs, ddof = 1 [share], shape (runs,);
            NaN if unknown.
    """
    count, share = (np.asarray(a, dtype=np.float64) for a in (later_epochs, variation))
    usable = (count >= 2.0) & np.isfinite(share)
    weight, bias = _weight_and_bias(np.where(usable, count, 2.0))
    log_variance = 2.0 * np.log(np.clip(np.where(usable, share, QUIETEST), QUIETEST, MAX_CV))
    columns = (a.tolist() for a in (usable, weight, weight * (log_variance - bias)))
    return [
        Scatter(runs=1, weight=w, weighted=x) if k else Scatter()
        for k, w, x in zip(*columns, strict=True)
    ]


def variation_of(epoch_s: Floats) -> float:
    """Return the coefficient of variation, ddof = 1 [share], of epochs after the first.

    NaN of fewer than 2.

    `epoch_s` [s] has the shape (epochs,).
    """
    return float(epoch_s.std(ddof=1) / epoch_s.mean()) if epoch_s.size > 1 else np.nan


def together(parts: Iterable[Scatter]) -> Scatter:
    """Return the pooled scatter of all."""
    return reduce(Scatter.and_, parts, Scatter())


def scatter_sums(
    later_epochs: ArrayLike, runs: ArrayLike, mean_log_variation: ArrayLike
) -> tuple[Floats, Floats]:
    """Return the weights and weighted ln(sd^2) of groups of runs with equal counts of epochs.

    Args:
        later_epochs: count of measured epochs after the first, shape (groups,).
        runs: count of runs, shape (groups,).
        mean_log_variation: mean clipped ln(variation), shape (groups,).
    """
    later, count, mean = (
        np.asarray(a, dtype=np.float64) for a in (later_epochs, runs, mean_log_variation)
    )
    weight, bias = _weight_and_bias(later)
    weight = weight * count
    return weight, weight * (2.0 * mean - bias)


def _weight_and_bias(later_epochs: Floats) -> tuple[Floats, Floats]:
    """Return 1/V ln s^2, and the bias of E ln s^2 over ln sd^2."""
    half, prior = 0.5 * (later_epochs - 1.0), 0.5 * NU0
    bias = digamma(half) - np.log(half) - digamma(prior) + np.log(prior)
    weight = 1.0 / (polygamma(1, half) + polygamma(1, prior))
    return np.asarray(weight), np.asarray(bias)
