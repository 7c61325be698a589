"""Trials with stored evaluations.

A trial is one training at one batch size, learning rate and seed. The trials of one set have
network, data set, precision, metric and result set in common. Result sets are not pooled: they stop
by different rules, and trials stopped early would bias targets.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from planner.core import Floats

NO_OPTIMIZER: Final = "optimiser not stated"
DIVERGED: Final = "nan"
"""Status of a trial whose loss was no longer a number: it never reaches a target."""
_SHARE: Final = re.compile(r".*accuracy|.*error rate|((validation|test|training|top-\d) )?error")
"""Metrics shown in per cent, whose values are shares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSet:
    """Trials that can be compared: one network, data set, precision and metric, one result set.

    `network` has the variant in it, `trials` counts those that ended well or diverged, `target`
    is the value of the metric that most of them aimed at, and `files` are where they are kept.
    """

    network: str
    dataset: str | None
    precision: str | None
    metric: str
    folder: str
    result_set: str
    files: tuple[str, ...]
    trials: int
    target: float | None
    higher_is_better: bool | None
    basis: str
    licence: str | None
    source: str | None
    standing: str | None = None

    @property
    def key(self) -> tuple[str | None, ...]:
        """Its identity, independent of the place of its files."""
        return (
            self.network, self.dataset, self.precision, self.metric, self.folder, self.result_set
        )  # fmt: skip

    @property
    def set_folder(self) -> str:
        """Name of the trials' folder: the set they are shown with."""
        return self.files[0].rsplit("/", 2)[-2] if self.files else self.result_set

    @property
    def subject(self) -> str:
        """Network and data set, as at the start of a workload's name."""
        return " · ".join(p for p in (self.network, self.dataset) if p)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """The evaluations of a set of trials, flat.

    Shape (trials,): `optimizer`, `batch` [samples], `learning_rate` and `noise_scale` [samples]
    (NaN if unknown), `counts` (False for a trial without evaluations that did not diverge: its
    result is unknown), `first` and `best` value of the metric (NaN
    without evaluations). Shape (evaluations,): `trial`, rising indices into those, `step` and
    `value`. `target` is the recorded one, NaN where there is none.
    """

    metric: str
    higher_is_better: bool
    target: float
    optimizer: NDArray[np.str_]
    batch: Floats
    learning_rate: Floats
    noise_scale: Floats
    counts: NDArray[np.bool_]
    first: Floats
    best: Floats
    trial: NDArray[np.int64]
    step: Floats
    value: Floats

    @property
    def optimizers(self) -> list[str]:
        """Optimisers of the trials that count, most trials first, then by name."""
        names = Counter(self.optimizer[self.counts].tolist())
        return sorted(names, key=lambda n: (-names[n], n.casefold()))

    @property
    def in_per_cent(self) -> bool:
        """Whether values are shares shown in per cent."""
        finite = self.best[np.isfinite(self.best)]
        return bool(_SHARE.fullmatch(self.metric) and finite.size and (np.abs(finite) <= 1.0).all())


def trials_of(
    of: TrialSet,
    *,
    optimizer: Sequence[str | None],
    batch: Floats,
    learning_rate: Floats,
    noise_scale: Floats,
    status: Sequence[str],
    trial: NDArray[np.int64],
    step: Floats,
    value: Floats,
) -> Trials:
    """Return the trials of a set, from columns of shape (trials,) and flat evaluations.

    If it is not recorded whether higher is better, the direction of the median trial from its first
    to its last evaluation decides.
    """
    starts = np.flatnonzero(np.append(True, trial[1:] != trial[:-1])) if trial.size else trial
    first, low, high, last = (np.full(batch.shape, np.nan) for _ in range(4))
    if trial.size:
        owner = trial[starts]
        first[owner], last[owner] = value[starts], value[np.append(starts[1:], trial.size) - 1]
        low[owner], high[owner] = (f.reduceat(value, starts) for f in (np.fmin, np.fmax))
    higher = of.higher_is_better
    if higher is None:
        higher = bool(trial.size and np.nanmedian(last - first) > 0.0)
    kept = np.bincount(trial, minlength=batch.size) > 0
    return Trials(
        metric=of.metric,
        higher_is_better=higher,
        target=np.nan if of.target is None else of.target,
        optimizer=np.array([o or NO_OPTIMIZER for o in optimizer], dtype=np.str_),
        batch=batch,
        learning_rate=learning_rate,
        noise_scale=noise_scale,
        counts=kept | np.array([s == DIVERGED for s in status], dtype=np.bool_),
        first=first,
        best=high if higher else low,
        trial=trial,
        step=step,
        value=value,
    )


def no_trials(of: TrialSet) -> Trials:
    """Return the trials of a set whose files disappeared during the request."""
    none, nowhere = np.empty(0), np.empty(0, dtype=np.int64)
    return trials_of(
        of, optimizer=(), batch=none, learning_rate=none, noise_scale=none, status=(),
        trial=nowhere, step=none, value=none,
    )  # fmt: skip
