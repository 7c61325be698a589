"""Interval of the sum of the next m epochs from a few measured ones.

The sum of m future epochs, estimated from the mean of n measured ones, has the variance

    s^2 (m + m^2/n) (1 + RHO)/(1 - RHO) + (DRIFT*mean*m)^2 * min(max(m, SEEN), SETTLED)/SEEN

and a Student t distribution with NU0 + n - 1 degrees of freedom, where s^2 pools the measured
scatter with a prior of SD0 times the mean. Epochs of one run are correlated and drift, which a
textbook interval ignores. The drift continues as a random walk from SEEN to SETTLED epochs.

Limit: on shared processors, whose speed changes during a run, the interval is too narrow for long
rests.

Evidence: docs/evidence.md#later-epochs-of-a-run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from planner.core import Floats, t_quantile

NU0: Final = 2.0
"""Weight of the prior of the scatter [degrees of freedom]."""
SD0: Final = 0.006
"""Prior scatter of epochs [share of the mean]."""
RHO: Final = 0.3
"""Correlation of neighbouring epochs."""
DRIFT: Final = 0.003
"""Slow drift over a run of SEEN epochs [share of the mean]."""
SEEN: Final = 20.0
"""Length of the runs with that drift [epochs]."""
SETTLED: Final = 200.0
"""Length of a run after which the drift grows no further [epochs]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochPrior:
    """The prior of epoch times; its defaults are the constants above.

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
    def shows_scatter(self) -> bool:
        """Whether the epochs themselves show their scatter."""
        return self.sd_s is not None and self.count > 1

    @property
    def dof(self) -> float:
        """Degrees of freedom of every interval."""
        return self.prior.dof + (self.count - 1 if self.shows_scatter else 0)

    @property
    def variance(self) -> float:
        """Scatter of one epoch about the mean [s^2]: prior and measured epochs pooled."""
        measured = self.count * (self.sd_s or 0.0) ** 2
        return (self.prior.dof * (self.prior.sd * self.mean_s) ** 2 + measured) / self.dof

    @property
    def variation(self) -> float:
        """Coefficient of variation with ddof = 1 [share], 0 where it is unknown."""
        unbiased = np.sqrt(self.count / (self.count - 1)) if self.shows_scatter else 0.0
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
