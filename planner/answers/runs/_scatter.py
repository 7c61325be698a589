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
    """The runs, each with the prior that the others of its set on its system make for it.

    Args:
        store: whose runs speak, of every workload; training and inference each for themselves.
        runs: in any order, which is kept.
        without: ids of runs that say nothing (suspect ones).
    """
    priors = zip(runs, priors_of(store, runs, frozenset(without)), strict=True)
    return [r if p is EPOCHS else replace(r, epoch_prior=p) for r, p in priors]


def priors_of(store: Store, runs: Sequence[Run], without: frozenset[str]) -> list[EpochPrior]:
    """The prior of each run, as `with_priors` gives them: what other runs change of an answer."""
    beside = _scatter(store, without) if runs else {}
    own = zip(runs, _own(runs, without), strict=True)
    return [beside.get(_where(r), _NOTHING).without(s).prior() for r, s in own]


def _scatter(store: Store, without: frozenset[str]) -> _Known:
    """What all runs but these say, by folder, system and mode; asked once a generation."""
    question = ("scatter", store.generation, without)
    return store.kept.once(question, lambda: _asked(store, without))


def _asked(store: Store, without: frozenset[str]) -> _Known:
    found: dict[tuple[str, str, str], Scatter] = {}
    asked = {"least": QUIETEST, "most": MAX_CV, "without": sorted(without)}
    for place, system, mode, later, runs, mean in store.rows(sql.SCATTER, asked):
        told, where = scatter_of_many(later, runs, mean), (place, system, mode)
        found[where] = found.get(where, _NOTHING).and_(told)
    return found


def _own(runs: Sequence[Run], without: frozenset[str]) -> list[Scatter]:
    """What each of them says, as the query counts it."""
    later = [0 if _says_nothing(r, without) else (r.epochs_measured or 1) - 1 for r in runs]
    return scatters(later, [_variation(r, n) for r, n in zip(runs, later, strict=True)])


def _says_nothing(run: Run, without: frozenset[str]) -> bool:
    return run.status != "ok" or run.run_id in without


def _variation(run: Run, later: int) -> float:
    if later < 2 or run.later_epoch_sd_s is None or not run.later_epoch_mean_s:
        return np.nan
    return run.later_epoch_sd_s / run.later_epoch_mean_s * math.sqrt(later / (later - 1))


def _where(run: Run) -> tuple[str, str, str]:
    return run.file.rpartition("/")[0], run.system, run.mode
