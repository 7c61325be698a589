"""Why this file exists: all runs are compared with all, so it is asked once for each state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

from planner.store import queries
from planner.store.reader import Store
from planner.suspects import Flag, by_run, left_out, named, suspects


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspects:
    """What is odd about runs, by run id: flags, and their names in one text.

    `left_out` are the runs that a fit can do without.
    """

    flags: Mapping[str, Sequence[Flag]]
    names: Mapping[str, str]
    left_out: frozenset[str]


_KEPT: Final[WeakKeyDictionary[Store, tuple[int, Suspects]]] = WeakKeyDictionary()


def suspects_of(store: Store) -> Suspects:
    """What is suspect among all runs that took times."""
    generation, known = _KEPT.get(store, (-1, None))
    if known is None or generation != store.generation:
        generation = store.generation
        flags = by_run(suspects(queries.checked_runs(store)))
        names = {run: named(own) for run, own in flags.items()}
        known = Suspects(flags=flags, names=names, left_out=left_out(flags))
        _KEPT[store] = (generation, known)
    return known
