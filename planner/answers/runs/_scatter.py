"""Scatter of epochs in the result set of a run, estimated from all runs of the store."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from planner.epochs import MAX_CV, QUIETEST, Scatter, scatter_of_many, scatters
from planner.runs import EPOCHS, EpochPrior, Run
from planner.store import sql
from planner.store.reader import Store

_Known = Mapping[tuple[str, str, str], Scatter]
_NOTHING: Final = Scatter()


def with_priors(store: Store, runs: Sequence[Run], without: Collection[str] = ()) -> list[Run]:
    """Return the runs, each with a prior from the other runs of its set on its system.

    Args:
        store: the source of all runs; training and inference are separate.
        runs: in any order, which is preserved.
        without: ids of runs to leave out (suspect ones).
    """
    priors = zip(runs, priors_of(store, runs, frozenset(without)), strict=True)
    return [r if p is EPOCHS else replace(r, epoch_prior=p) for r, p in priors]


def priors_of(store: Store, runs: Sequence[Run], without: frozenset[str]) -> list[EpochPrior]:
    """Return the prior of each run, as in `with_priors`."""
    beside = _scatter(store, without) if runs else {}
    own = zip(runs, _own(runs, without), strict=True)
    return [beside.get(_where(r), _NOTHING).without(s).prior() for r, s in own]


def _scatter(store: Store, without: frozenset[str]) -> _Known:
    """Return the scatter of all runs but these, by folder, system and mode; cached."""
    question = ("scatter", store.generation, without)
    return store.kept.once(question, lambda: _scatter_by_place(store, without))


def _scatter_by_place(store: Store, without: frozenset[str]) -> _Known:
    by_place: dict[tuple[str, str, str], Scatter] = {}
    parameters = {"least": QUIETEST, "most": MAX_CV, "without": sorted(without)}
    for place, system, mode, later, runs, mean in store.rows(sql.SCATTER, parameters):
        scatter, where = scatter_of_many(later, runs, mean), (place, system, mode)
        by_place[where] = by_place.get(where, _NOTHING).and_(scatter)
    return by_place


def _own(runs: Sequence[Run], without: frozenset[str]) -> list[Scatter]:
    """Return the scatter of each run, as the query counts it."""
    later = [0 if _left_out(r, without) else (r.epochs_measured or 1) - 1 for r in runs]
    return scatters(later, [_variation(r, n) for r, n in zip(runs, later, strict=True)])


def _left_out(run: Run, without: frozenset[str]) -> bool:
    return run.status != "ok" or run.run_id in without


def _variation(run: Run, later: int) -> float:
    if later < 2 or run.later_epoch_sd_s is None or not run.later_epoch_mean_s:
        return np.nan
    return run.later_epoch_sd_s / run.later_epoch_mean_s * math.sqrt(later / (later - 1))


def _where(run: Run) -> tuple[str, str, str]:
    return run.file.rpartition("/")[0], run.system, run.mode
