"""The prior of epochs and how a pace wanders, chosen again.

The score is that of the whole run after some of its first epochs. Data sets are the two systems of
Colab and three groups of DAWNBench: one team's runs of 181 epochs, the rest of CIFAR-10, ImageNet.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from planner.backtest.choice import Choice, Setting, chosen
from planner.backtest.epochs import KNOWN, Run, groups_of_runs
from planner.backtest.source import Read
from planner.estimate import LEVEL, Floats
from planner.later_epochs import (
    DRIFT,
    EPOCHS,
    NU0,
    RHO,
    SD0,
    SEEN,
    SETTLED,
    EpochPrior,
    LaterEpochs,
)
from planner.projection import MAX_CV
from planner.steadiness import steadiness

DOFS: Final = (1.0, NU0, 4.0)
SDS: Final = (0.003, SD0, 0.01, 0.015)
CORRELATIONS: Final = (0.0, RHO, 0.5)
DRIFTS: Final = (0.002, DRIFT, 0.005, 0.008)
SETTLING: Final = (SEEN, 50.0, 100.0, SETTLED, 400.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """The epochs known of runs of one data set, how many are ahead and what these took [s]."""

    data_set: str
    later: tuple[LaterEpochs, ...]
    ahead: tuple[int, ...]
    ahead_s: Floats
    total_s: Floats

    def score(self, prior: EpochPrior) -> float:
        """Mean interval score, as a share of the total."""
        cases = zip(self.later, self.ahead, strict=True)
        half = np.array(
            [
                float(replace(e, prior=prior).half_width(np.array(m, dtype=np.float64), LEVEL))
                for e, m in cases
            ]
        )
        mean = np.array([e.mean_s * m for e, m in zip(self.later, self.ahead, strict=True)])
        missed = np.maximum(np.abs(mean - self.ahead_s) - half, 0.0)
        return float(np.mean((2.0 * half + 2.0 / (1.0 - LEVEL) * missed) / self.total_s))


def epoch_choices(read: Read) -> list[Choice]:
    """The prior of epochs, and until when a pace wanders."""
    cut = itertools.product(groups_of_runs(read).items(), KNOWN)
    found = (_question(name, runs, k) for (name, runs), k in cut)
    questions = [q for q in found if q is not None]
    return _priors(questions) + _wandering(questions)


def _question(data_set: str, runs: Sequence[Run], k: int) -> _Question | None:
    """None where no run is long and steady enough."""
    asked = [run for run in runs if run.epoch_s.size > k and steadiness(run.epoch_s[:k]).steady]
    later = [_later(run.epoch_s[1:k]) for run in asked]
    kept = [i for i, one in enumerate(later) if one.variation <= MAX_CV]
    if not kept:
        return None
    return _Question(
        data_set=data_set,
        later=tuple(later[i] for i in kept),
        ahead=tuple(asked[i].epoch_s.size - k for i in kept),
        ahead_s=np.array([float(asked[i].epoch_s[k:].sum()) for i in kept]),
        total_s=np.array([asked[i].total_s for i in kept]),
    )


def _later(epoch_s: Floats) -> LaterEpochs:
    return LaterEpochs(count=epoch_s.size, mean_s=float(epoch_s.mean()), sd_s=float(epoch_s.std()))


def _priors(questions: Sequence[_Question]) -> list[Choice]:
    grid = itertools.product(DOFS, SDS, CORRELATIONS, DRIFTS)
    priors = [EpochPrior(dof=n, sd=s, correlation=r, drift=d) for n, s, r, d in grid]
    settings = [Setting(words=_words(p), values=_values(p)) for p in priors]
    return _choices("epochs", questions, priors, settings, _words(EPOCHS))


def _wandering(questions: Sequence[_Question]) -> list[Choice]:
    priors = [EpochPrior(settled=epochs) for epochs in SETTLING]
    settings = [
        Setting(words=_until(p.settled), values={"later_epochs:SETTLED": p.settled}) for p in priors
    ]
    return _choices("drift of epochs", questions, priors, settings, _until(SETTLED))


def _choices(
    use: str,
    questions: Sequence[_Question],
    priors: Sequence[EpochPrior],
    settings: Sequence[Setting],
    ships: str,
) -> list[Choice]:
    scores = np.array([[q.score(prior) for q in questions] for prior in priors])
    return chosen(use, settings, scores, [q.data_set for q in questions], ships)


def _until(settled: float) -> str:
    return "stays" if settled <= SEEN else f"wanders for {settled:g} epochs"


def _words(prior: EpochPrior) -> str:
    return (
        f"sd {prior.sd:g}, dof {prior.dof:g}, correlation {prior.correlation:g}, "
        f"drift {prior.drift:g}"
    )


def _values(prior: EpochPrior) -> dict[str, float]:
    return {
        "later_epochs:NU0": prior.dof,
        "later_epochs:SD0": prior.sd,
        "later_epochs:RHO": prior.correlation,
        "later_epochs:DRIFT": prior.drift,
    }
