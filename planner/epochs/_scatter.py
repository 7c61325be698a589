"""Prior of the scatter of a run's epochs, from other runs on the same machine.

Two epochs do not show the scatter of a run, and machines differ: runs of Colab scatter by 0.3 to
0.6 % (median of the relative standard deviation), runs on a shared machine by 4 to 14 %. So the
prior of a run (`EpochPrior.sd`) comes from the other runs of its result set on its system, for
training and inference apart, without excluded suspect runs. It is the usual empirical Bayes of
variances (Smyth 2004, "limma", without its search for the degrees of freedom): with d = epochs - 2
the logarithm of a measured variance has the mean and the variance

    E  ln s^2 = ln sd^2 + psi(d/2) - ln(d/2) - psi(NU0/2) + ln(NU0/2)
    V  ln s^2 = psi'(d/2) + psi'(NU0/2)                                   (di- and trigamma)

so ln sd^2 is the mean of the other runs' logarithms, each less its bias and weighted by 1/V, and of
ln SD0^2 with the weight 1/(2 SETS_SD)^2. The drift grows in the same proportion, since disturbances
last. A set never narrows the interval: the runs of Colab's GPU scatter by 0.3 %, and with that
prior the coverage was 87 and 80 instead of 93 % after 2 and 3 epochs.

    constant  value  unit           meaning
    SETS_SD   1      ln             spread of the scatter of sets about SD0: a factor of e
    NOISIER   1.5    factor         a set with less scatter than this above SD0 gets SD0
    QUIETEST  0.001  share          a smaller scatter is that of the clock's digits

A scatter above MAX_CV (20 %) counts as MAX_CV, though such runs are refused: without them the
coverage on the shared machine was 88 instead of 93 % after 2 epochs. So a single run in phases
widens the intervals of the others. No prior is above MAX_CV.

Coverage of the 90 % interval / its median width [%], one prior for all against this one:

    epochs known                       2          3          5          10         20
    shared 2-core machine, one prior   27 / 1.0   68 / 1.5   78 / 2.8   50 / 3.4   40 / 2.6
    (six sets)             this one    93 / 11    90 / 5.8   98 / 8.8   94 / 12    93 / 11
    DAWNBench, steady      one prior   77 / 6.0   90 / 4.7   94 / 3.6   90 / 3.0   90 / 2.6
                           this one    87 / 7.0   100 / 4.7  100 / 3.6  100 / 3.0  97 / 2.6
    Colab                  either      93 / 4.5   97 / 2.3   93 / 1.5   88 / 0.8

SETS_SD and the drift rule were not chosen on the shared machine (docs/constants.md has the choices
of the others), but its sets showed the need for them. NOISIER is a round number, added because
Colab's TPU, whose runs scatter 3 % more than SD0, had wider intervals without benefit (4.55 instead
of 4.5 % after 2 epochs). The prior is one number for all workloads of a set, which does not fit an
unlike run (epochs of milliseconds among epochs of seconds).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import digamma, polygamma

from planner.core import Floats
from planner.epochs.projection import MAX_CV
from planner.runs import DRIFT, EPOCHS, NU0, SD0, EpochPrior

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

SETS_SD: Final = 1.0
NOISIER: Final = 1.5
QUIETEST: Final = 0.001


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


def scatter_of_many(later_epochs: int, runs: int, mean_log_variation: float) -> Scatter:
    """Return the scatter of runs with equal counts, from their mean clipped ln(variation)."""
    weight, bias = (runs * float(a) for a in _weight_and_bias(np.array(float(later_epochs))))
    each = weight / runs
    return Scatter(
        runs=runs, weight=weight, weighted=each * (2.0 * runs * mean_log_variation - bias)
    )


def pooled_prior(later_epochs: ArrayLike, variation: ArrayLike) -> EpochPrior:
    """Return the prior of each run, from the other runs of its result set on its system.

    Arguments as `scatters`, one entry per run. It is at least `EPOCHS`, with their scatter for
    `sd`, and `drift` in proportion.
    """
    return together(scatters(later_epochs, variation)).prior()


def variation_of(epoch_s: Floats) -> float:
    """Return the coefficient of variation, ddof = 1 [share], of epochs after the first.

    NaN of fewer than 2.

    `epoch_s` [s] has the shape (epochs,).
    """
    return float(epoch_s.std(ddof=1) / epoch_s.mean()) if epoch_s.size > 1 else np.nan


def together(parts: Iterable[Scatter]) -> Scatter:
    """Return the pooled scatter of all."""
    return reduce(Scatter.and_, parts, Scatter())


def _weight_and_bias(later_epochs: Floats) -> tuple[Floats, Floats]:
    """Return 1/V ln s^2, and the bias of E ln s^2 over ln sd^2."""
    half, prior = 0.5 * (later_epochs - 1.0), 0.5 * NU0
    bias = digamma(half) - np.log(half) - digamma(prior) + np.log(prior)
    weight = 1.0 / (polygamma(1, half) + polygamma(1, prior))
    return np.asarray(weight), np.asarray(bias)
