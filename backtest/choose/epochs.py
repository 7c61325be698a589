"""The prior of epochs and of the wandering pace, chosen again.

The score is that of the whole run after some of its first epochs. Data sets are the two systems of
Colab and three groups of DAWNBench: one team's runs of 181 epochs, the rest of CIFAR-10, ImageNet.
The prior of all runs is chosen without other runs. Then the weight of other runs of the same data
set on the same system is chosen, and whether they move the drift too.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from backtest.choose.choice import ConstantChoice, Setting, chosen
from backtest.data.cases import Read
from backtest.questions.epochs import EPOCHS_SEEN, RunEpochs, beside, groups_of_runs
from planner.core import LEVEL, Floats, Text
from planner.epochs import MAX_CV, SETS_SD, Scatter
from planner.epochs.steadiness import steadiness
from planner.runs import DRIFT, EPOCHS, NU0, RHO, SD0, SEEN, SETTLED, EpochPrior, LaterEpochs

DOFS: Final = (1.0, NU0, 4.0)
SDS: Final = (0.003, SD0, 0.01, 0.015)
CORRELATIONS: Final = (0.0, RHO, 0.5)
DRIFTS: Final = (0.002, DRIFT, 0.005, 0.008)
SETTLING: Final = (SEEN, 50.0, 100.0, SETTLED, 400.0)
SETS_SDS: Final = (0.0, 0.5, SETS_SD, 2.0)

PriorOf = Callable[[Scatter], EpochPrior]
"""Returns the prior of a run from the scatter of other runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _EpochQuestion:
    """Known epochs of runs of one data set, the number of later ones and their time [s]."""

    data_set: str
    later: tuple[LaterEpochs, ...]
    beside: tuple[Scatter, ...]
    ahead: tuple[int, ...]
    ahead_s: Floats
    total_s: Floats

    def score(self, prior_of: PriorOf) -> float:
        """Return the mean interval score, as a share of the total."""
        cases = zip(self.later, self.beside, self.ahead, strict=True)
        half = np.array(
            [
                float(replace(e, prior=prior_of(s)).half_width(np.array(m, dtype=float), LEVEL))
                for e, s, m in cases
            ]
        )
        mean = np.array([e.mean_s * m for e, m in zip(self.later, self.ahead, strict=True)])
        missed = np.maximum(np.abs(mean - self.ahead_s) - half, 0.0)
        return float(np.mean((2.0 * half + 2.0 / (1.0 - LEVEL) * missed) / self.total_s))


def epoch_choices(read: Read) -> list[ConstantChoice]:
    """Return the chosen prior of epochs, and how long a pace wanders."""
    cut = itertools.product(groups_of_runs(read).items(), EPOCHS_SEEN)
    candidates = (_question(name, runs, k) for (name, runs), k in cut)
    questions = [q for q in candidates if q is not None]
    return _priors(questions) + _wandering(questions) + _pooling(questions)


def _question(data_set: str, runs: Sequence[RunEpochs], k: int) -> _EpochQuestion | None:
    """Return the question of one data set; None if no run is long and steady enough."""
    both = zip(runs, beside(runs), strict=True)
    pairs = [(r, s) for r, s in both if r.epoch_s.size > k and steadiness(r.epoch_s[:k]).steady]
    longer = [run for run, _ in pairs]
    later = [_later(run.epoch_s[1:k]) for run in longer]
    kept = [i for i, epochs in enumerate(later) if epochs.variation <= MAX_CV]
    if not kept:
        return None
    return _EpochQuestion(
        data_set=data_set,
        later=tuple(later[i] for i in kept),
        beside=tuple(pairs[i][1] for i in kept),
        ahead=tuple(longer[i].epoch_s.size - k for i in kept),
        ahead_s=np.array([float(longer[i].epoch_s[k:].sum()) for i in kept]),
        total_s=np.array([longer[i].total_s for i in kept]),
    )


def _later(epoch_s: Floats) -> LaterEpochs:
    return LaterEpochs(count=epoch_s.size, mean_s=float(epoch_s.mean()), sd_s=float(epoch_s.std()))


def _priors(questions: Sequence[_EpochQuestion]) -> list[ConstantChoice]:
    grid = itertools.product(DOFS, SDS, CORRELATIONS, DRIFTS)
    priors = [EpochPrior(dof=n, sd=s, correlation=r, drift=d) for n, s, r, d in grid]
    settings = [Setting(words=_words(p), values=_values(p)) for p in priors]
    return _choices("epochs", questions, list(map(_always, priors)), settings, _words(EPOCHS))


def _wandering(questions: Sequence[_EpochQuestion]) -> list[ConstantChoice]:
    priors = [EpochPrior(settled=epochs) for epochs in SETTLING]
    settings = [
        Setting(words=_until(p.settled), values={"runs.later_epochs:SETTLED": p.settled})
        for p in priors
    ]
    prior_functions = list(map(_always, priors))
    return _choices("drift of epochs", questions, prior_functions, settings, _until(SETTLED))


def _pooling(questions: Sequence[_EpochQuestion]) -> list[ConstantChoice]:
    grid = [(sd, lasts) for sd in SETS_SDS for lasts in (True, False) if sd or lasts]
    priors = [partial(Scatter.prior, sets_sd=sd, lasts=lasts) for sd, lasts in grid]
    settings = [
        Setting(words=_pooled(sd, lasts=lasts), values={"epochs.projection:SETS_SD": sd})
        for sd, lasts in grid
    ]
    ships = _pooled(SETS_SD, lasts=True)
    return _choices("scatter of other runs", questions, priors, settings, ships)


def _always(prior: EpochPrior) -> PriorOf:
    return lambda _: prior


def _choices(
    use: str,
    questions: Sequence[_EpochQuestion],
    priors: Sequence[PriorOf],
    settings: Sequence[Setting],
    ships: str,
) -> list[ConstantChoice]:
    scores = np.array([[q.score(prior) for q in questions] for prior in priors])
    return chosen(use, settings, scores, [q.data_set for q in questions], ships)


def _pooled(sets_sd: float, *, lasts: bool) -> str:
    if not sets_sd:
        return "not used"
    if lasts:
        return Text("sets differ by {sd:g} in the logarithm, drift too", sd=sets_sd)
    return Text("sets differ by {sd:g} in the logarithm, no drift", sd=sets_sd)


def _until(settled: float) -> str:
    return "stays" if settled <= SEEN else Text("wanders for {epochs:g} epochs", epochs=settled)


def _words(prior: EpochPrior) -> str:
    return Text(
        "sd {sd:g}, dof {dof:g}, correlation {correlation:g}, drift {drift:g}",
        sd=prior.sd, dof=prior.dof, correlation=prior.correlation, drift=prior.drift,
    )  # fmt: skip


def _values(prior: EpochPrior) -> dict[str, float]:
    return {
        "runs.later_epochs:NU0": prior.dof,
        "runs.later_epochs:SD0": prior.sd,
        "runs.later_epochs:RHO": prior.correlation,
        "runs.later_epochs:DRIFT": prior.drift,
    }
