"""Why this file exists: what a run's set says of its epochs is asked of all runs of the set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from planner.epoch_scatter import QUIETEST, Scatter, scatter_of_many, scatters
from planner.later_epochs import EPOCHS
from planner.projection import MAX_CV
from planner.runs import Run
from planner.store import sql
from planner.store.reader import Store


def with_priors(store: Store, runs: Sequence[Run]) -> list[Run]:
    """The runs, each with the prior that the others of its set on its system make for it."""
    beside = _scatter(store, sorted({_place(r) for r in runs})) if runs else {}
    nothing = Scatter()
    own = zip(runs, _own(runs), strict=True)
    priors = [(r, beside.get((_place(r), r.system), nothing).without(s).prior()) for r, s in own]
    return [r if p is EPOCHS else replace(r, epoch_prior=p) for r, p in priors]


def _scatter(store: Store, places: Sequence[str]) -> dict[tuple[str, str], Scatter]:
    """What all runs of these folders say, by folder and system."""
    found: dict[tuple[str, str], Scatter] = {}
    asked = {"least": QUIETEST, "most": MAX_CV, "places": list(places)}
    for place, system, later, runs, mean in store.rows(sql.SCATTER, asked):
        told = scatter_of_many(later, runs, mean)
        found[place, system] = found.get((place, system), Scatter()).and_(told)
    return found


def _own(runs: Sequence[Run]) -> list[Scatter]:
    """What each of them says, as the query counts it."""
    later = [(r.epochs_measured or 1) - 1 if r.status == "ok" else 0 for r in runs]
    return scatters(later, [_variation(r, n) for r, n in zip(runs, later, strict=True)])


def _variation(run: Run, later: int) -> float:
    if later < 2 or run.later_epoch_sd_s is None or not run.later_epoch_mean_s:
        return np.nan
    return run.later_epoch_sd_s / run.later_epoch_mean_s * math.sqrt(later / (later - 1))


def _place(run: Run) -> str:
    return run.file.rpartition("/")[0]
