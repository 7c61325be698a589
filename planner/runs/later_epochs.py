"""Interval of the sum of the next m epochs from a few measured ones.

The sum of m future epochs, estimated from the mean of n measured ones, has the variance

    s^2 (m + m^2/n) (1 + RHO)/(1 - RHO) + (DRIFT*mean*m)^2 * min(max(m, SEEN), SETTLED)/SEEN

and a Student t distribution with NU0 + n - 1 degrees of freedom, where s^2 pools the measured
scatter with a prior of SD0 times the mean. Epochs of one run are correlated and drift: the textbook
interval ignores both and has a coverage of 65 to 76 % instead of 90 % on 80 real runs.

    constant     value  unit               meaning
    NU0          2      degrees of freedom weight of the prior on epoch scatter
    SD0          0.006  share of the mean  prior scatter of epochs
    RHO          0.3    correlation        of neighbouring epochs (median 0.25)
    DRIFT        0.003  share of the mean  slow drift over a run (median 0.53 % over 19 epochs)
    SEEN         20     epochs             over which that drift was measured; it continues beyond
    SETTLED      200    epochs             after which it grows no further, as in long runs

On 80 runs of 20 epochs the median error of the total after k = 2, 3, 5, 10 epochs was 0.44, 0.33,
0.23, 0.12 %; the coverage was 94, 96, 93, 90 %, the width 4.3, 2.3, 1.4, 0.7 %. On 31 steady public
runs of 14 to 400 epochs (DAWNBench) errors were 0.51, 0.54, 0.53, 0.27 %. With a constant drift of
0.3 % the coverage fell with the number of known epochs; with a random walk beyond 20 epochs, up to
200, it does not:

    epochs known                  2     3     5     10    15    20    30
    drift that stays        [%]   77    87    90    84    80    79    73
    drift that wanders      [%]   77    90    94    90    87    90    86
    its interval's width    [%]   6.0   4.7   3.6   3.0   2.8   2.6   2.3

Two epochs are too few there. Nothing was fitted: SEEN is the length of the runs for DRIFT, SETTLED
a round number above the 181 epochs of most long ones (tried: 50 to 400; two runs of 400 drift no
further). The evidence is one team's runs of 181 epochs: without them 50 epochs would be best
(docs/constants.md). For more than 130 remaining epochs the coverage is 77 % from ten epochs on (62
and 54 % before): three of 13 ran on shared processors, whose speed changes by 4 to 15 %.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from planner.core import Floats, t_quantile

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

NU0: Final = 2.0
SD0: Final = 0.006
RHO: Final = 0.3
DRIFT: Final = 0.003
SEEN: Final = 20.0
SETTLED: Final = 200.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochPrior:
    """The prior of epoch times; see the table above.

    `planner.epochs.projection` refines it by other runs on the same machine.
    """

    dof: float = NU0
    sd: float = SD0
    correlation: float = RHO
    drift: float = DRIFT
    settled: float = SETTLED

    def scattering(self, sd: float) -> EpochPrior:
        """Return same of epochs that scatter by `sd` [share], and drift as much more as that."""
        return replace(self, sd=sd, drift=self.drift * sd / self.sd)

    @property
    def autocorrelation(self) -> float:
        """How much faster the variance of a sum grows when neighbours resemble each other."""
        return (1.0 + self.correlation) / (1.0 - self.correlation)

    def wandered(self, ahead: ArrayLike) -> Floats:
        """Return the standard deviation of the mean of later epochs, as a share of it."""
        epochs = np.clip(np.asarray(ahead, dtype=np.float64), SEEN, max(self.settled, SEEN))
        return np.asarray(self.drift * np.sqrt(epochs / SEEN), dtype=np.float64)


EPOCHS: Final = EpochPrior()
"""The prior of a run without others on its machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterEpochs:
    """Epochs of one kind: their count, mean [s] and sd with ddof = 0 [s] (None: unknown).

    They follow `after` epochs that are added as measured: epoch 1, or all before the last kind.
    """

    count: int
    mean_s: float
    sd_s: float | None
    after: int = 1
    prior: EpochPrior = EPOCHS

    @property
    def known_scatter(self) -> bool:
        """Whether the epochs themselves show their scatter."""
        return self.sd_s is not None and self.count > 1

    @property
    def dof(self) -> float:
        """Degrees of freedom of every interval."""
        return self.prior.dof + (self.count - 1 if self.known_scatter else 0)

    @property
    def variance(self) -> float:
        """Scatter of one epoch about the mean [s^2]: prior and measured epochs pooled."""
        measured = self.count * (self.sd_s or 0.0) ** 2
        return (self.prior.dof * (self.prior.sd * self.mean_s) ** 2 + measured) / self.dof

    @property
    def variation(self) -> float:
        """Coefficient of variation with ddof = 1 [share], 0 where it is unknown."""
        unbiased = np.sqrt(self.count / (self.count - 1)) if self.known_scatter else 0.0
        return float(unbiased) * (self.sd_s or 0.0) / self.mean_s

    def half_width(self, ahead: Floats, level: float) -> Floats:
        """Return the half-width of the interval of the sum of later epochs [s], in their shape."""
        spread = self.variance * self.prior.autocorrelation
        variance = spread * (ahead + ahead**2 / self.count)
        variance += (self.prior.wandered(ahead) * self.mean_s * ahead) ** 2
        return np.asarray(t_quantile(level, self.dof) * np.sqrt(variance))

    def half_width_of_one(self, level: float) -> Floats:
        """Return the limit of `half_width(m)/m` for many epochs [s]."""
        variance = self.variance * self.prior.autocorrelation / self.count
        variance += (float(self.prior.wandered(np.inf)) * self.mean_s) ** 2
        return np.asarray(t_quantile(level, self.dof) * np.sqrt(variance))
