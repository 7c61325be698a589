"""What the page Compare hardware asks of the planner, each question once.

The same functions answer the command and the HTTP interface (`planner.answers._asking`), so a page
and
a program that ask alike get the same numbers. Draws take room, so only the last answers are kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeVar

from pages.common import kept as asked
from pages.common.link import Parameters, slugs
from pages.common.store import ROOT
from planner.answers import compare_facts
from planner.answers import question as ask
from planner.answers.comparison import (
    Answered,
    Asked,
    CompareParameters,
    Facts,
    Offered,
    answered_whole,
    compare_parameters,
)
from planner.catalog import TABLE_NAMES
from planner.core import Problem
from planner.cost import Display
from planner.store import Store
from planner.store.catalog import CatalogRead, own_folder, read_catalog
from planner.store.kept import Kept

Answer = TypeVar("Answer")
SHIPPED: Final = ROOT / "data" / "catalog"
_MOST: Final = 64
"""Answers kept; each holds some hundred kilobytes of draws."""
_KEPT: Final = Kept(_MOST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answered question: `key` identifies it, `problems` are the mistakes in it.

    `by` is the deadline where a date was given. `wrong_step` says that the timed step
    cannot be used: an answer without it would be one to another question.
    """

    key: Hashable
    answered: Answered
    facts: Facts
    asked: Asked
    display: Display
    problems: tuple[str, ...]
    by: datetime | None = None
    wrong_step: bool = False


def once(key: Hashable, ask: Callable[[], Answer]) -> Answer:
    """The answer of a question, worked out when it is not among the last ones."""
    return _KEPT.once(key, ask)


def today() -> date:
    """The day by which prices are old or fresh."""
    return datetime.now(UTC).date()


def folder() -> Path:
    """Where this machine's own rows of the catalogue are kept."""
    return own_folder(ROOT, os.environ)


def catalog() -> CatalogRead:
    """The shipped catalogue with this machine's own rows in it, read anew when a file changes."""
    return _read(SHIPPED, folder(), _stamps(SHIPPED), _stamps(folder()))


@lru_cache(maxsize=2)
def _read(shipped: Path, own: Path, *_: Hashable) -> CatalogRead:
    return read_catalog(shipped, [own])


def _stamps(place: Path) -> tuple[tuple[int, int] | None, ...]:
    found: list[tuple[int, int] | None] = []
    for table in TABLE_NAMES:
        try:
            told = os.stat(f"{place}/{table}.csv")  # noqa: PTH116 - six times a rerun, fast
            found.append((told.st_mtime_ns, told.st_size))
        except OSError:
            found.append(None)
    return tuple(found)


def of_state(shared: Store, asking: CompareParameters) -> Hashable:
    """What every answer depends on: the runs of the job, the catalogue, the day."""
    places = (*(f.path for f in shared.folders), SHIPPED, folder())
    stamps = (_stamps(SHIPPED), _stamps(folder()), today())
    return shared.serial, places, _of_runs(shared, asking), stamps


def _of_runs(shared: Store, asking: CompareParameters) -> Hashable:
    """The state of the runs that a job's answers are about; of all where there is no such job.

    Those are its own, those of other workloads that say how much epochs scatter or how fast
    accelerators are, and the trials of its network.
    """
    library = asked.library(shared)
    if asking.described is not None:
        return library
    trained = list(asked.trained_workloads(shared))
    named = asked.workload_names(shared)
    workload = named.get(asking.workload) if asking.workload else next(iter(trained), None)
    if workload not in trained:
        return shared.generation
    patterns = asked.patterns(shared, workload)
    priors = tuple(asked.priors(shared, workload, pattern) for pattern in patterns)
    trials: Hashable = None
    if asking.asked.epochs is None:  # of a target without trials the answer names others
        of = asked.trial_set_of(shared, workload)
        version = asked.trials_version(shared, of) if of else 0
        trials = (*asked.trial_sets(shared), version)
    return workload, tuple(slugs(patterns)), shared.version(workload), priors, library, trials


def facts(shared: Store, given: Parameters) -> tuple[Facts | None, tuple[str, ...]]:
    """What is known about the job in question, and what of it cannot be looked up."""
    asking, _ = compare_parameters(given)
    key = ("facts", of_state(shared, asking), _job_key(asking))
    return once(key, lambda: _facts(shared, asking))


def _facts(shared: Store, asking: CompareParameters) -> tuple[Facts | None, tuple[str, ...]]:
    problems: list[Problem] = []
    found = compare_facts(shared, catalog().catalog, asking, problems)
    return found, tuple(map(str, problems))


def _job_key(asking: CompareParameters) -> Hashable:
    target = (asking.target, asking.optimizer) if asking.asked.epochs is None else None
    size = asking.samples_per_epoch
    return asking.workload, asking.pattern, asking.described, target, size


def offered(shared: Store, given: Parameters, begins: datetime | None = None) -> Offered | None:
    """All options of the job and those to begin with, as its answer has them; None without a job.

    With a deadline or a budget one begins with those that are likely to keep them. Work begins
    then, or now.
    """
    asking, _ = compare_parameters(given, begins=begins)
    known, _ = facts(shared, given)
    return None if known is None else _offered(shared, asking, known)


def _offered(shared: Store, asking: CompareParameters, known: Facts) -> Offered:
    offers = ask.offers_key(asking.asked, known)
    key = ("offered", of_state(shared, asking), _job_key(asking), offers)
    return once(key, lambda: ask.offered(asking.asked, known, today()))


def usd_per(given: Parameters) -> dict[str, float]:
    """US dollars for one unit of the currency that is shown, where that is another one."""
    return dict(compare_parameters(given)[0].asked.usd_per)


def reply(shared: Store, given: Parameters, begins: datetime | None = None) -> Reply | None:
    """The answer to what a link asks; None where there is no such job. Work begins then, or now."""
    asking, wrong = compare_parameters(given, begins=begins)
    known, gone = facts(shared, given)
    if known is None:
        return None
    key = ("answer", of_state(shared, asking), _job_key(asking), asking.asked)
    shown = _offered(shared, asking, known)
    found = once(key, lambda: answered_whole(asking.asked, known, today(), shown))
    return Reply(
        key=key,
        answered=found,
        facts=known,
        asked=asking.asked,
        display=asking.display,
        problems=(*map(str, wrong), *gone, *found.problems),
        by=asking.by,
        wrong_step=any(problem.startswith("step_") for problem in gone),
    )


def alike(one: Reply, problems: Sequence[str]) -> Reply:
    """The same answer with other problems."""
    return replace(one, problems=tuple(problems))
