"""The runs that a link of the Results page lists, a part at a time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from planner.answers import asked
from planner.answers.runs import suspects_of
from planner.core import Given, Problem, looked_up, not_found, query_of, read
from planner.core.slugs import slugs
from planner.store import queries
from planner.store.reader import Store
from planner.suspects import ANY, NAMES, NONE, narrowed

_RUN: Final = re.compile(r"[0-9a-f]{32}")
_CURSOR: Final = re.compile(r"([0-9]{1,9})-([0-9a-f]{32})")
_CHANGED: Final = "The runs have changed since. Start again without a cursor."


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsAnswer:
    """A part of the runs a question leaves, in the order of the Results page.

    `total` counts all of them; `next_cursor` asks for the rest, "" where there is none.
    """

    rows: tuple[Mapping[str, Any], ...]
    total: int
    next_cursor: str
    query: str
    problems: tuple[Problem, ...]


def results_answered(store: Store, given: Given) -> ResultsAnswer:
    """Runs under filters, each with what is suspect about it."""
    found = read(asked.RESULTS, given)
    told, problems = found.values, list(found.problems)
    suspect = suspects_of(store)
    filters = _filters(store, told, problems)
    filters |= narrowed(suspect.flags, _flags(told["suspect"], problems))
    if told["run"] is not None:
        filters |= {"only": _one_run(told["run"], problems)}
    begin = _begin(told["cursor"], problems)
    table = queries.table(store, filters, most=begin[0] + told["limit"])
    ids = table["run_id"].to_pylist()
    if begin[0] and (len(ids) < begin[0] or ids[begin[0] - 1] != begin[1]):
        problems.append(Problem(parameter="cursor", message=_CHANGED))
    rows = [_row(r, suspect.names) for r in table.slice(begin[0]).to_pylist()]
    total, end = queries.count(store, filters), begin[0] + len(rows)
    return ResultsAnswer(
        rows=tuple(rows),
        total=total,
        next_cursor=f"{end}-{ids[-1]}" if rows and end < total else "",
        query=query_of(asked.RESULTS, told),
        problems=tuple(problems),
    )


def _row(row: Mapping[str, Any], suspect: Mapping[str, str]) -> dict[str, Any]:
    """A run as plain data: its time of recording in UTC as a text."""
    when = row["recorded_at"]
    told = None if when is None else f"{when:%Y-%m-%dT%H:%M:%SZ}"
    return {**row, "recorded_at": told, "suspect": suspect.get(row["run_id"])}


def _filters(
    store: Store, told: Mapping[str, Any], problems: list[Problem]
) -> dict[str, list[str]]:
    """Values by facet, looked up by their slugs."""
    found: dict[str, list[str]] = {}
    for facet, counts in queries.facets(store, {}).items():
        wanted = told[facet]
        if not wanted:
            continue
        known = slugs(counts)
        found[facet] = [known[s] for s in _meant(facet, wanted, known, problems)]
    return found


def _meant(
    facet: str, wanted: Sequence[str], known: Mapping[str, str], problems: list[Problem]
) -> list[str]:
    """The slugs that are meant; `problems` gets the texts that mean none, or several."""
    meant = [(w, looked_up(w, known)) for w in wanted]
    problems += [
        Problem(parameter=facet, message=not_found(facet.replace("_", " "), w, known))
        for w, m in meant
        if not isinstance(m, str)
    ]
    return [m for _, m in meant if isinstance(m, str)]


def _flags(wanted: tuple[str, ...], problems: list[Problem]) -> list[str]:
    known = slugs([ANY, NONE, *NAMES])
    return [known[s] for s in _meant("suspect", wanted, known, problems)]


def _one_run(text: str, problems: list[Problem]) -> list[str]:
    if _RUN.fullmatch(text):
        return [text]
    message = "A run's id is 32 digits from 0 to f. Copy it from a row."
    problems.append(Problem(parameter="run", message=message))
    return []


def _begin(cursor: str | None, problems: list[Problem]) -> tuple[int, str]:
    """How many runs were told before, and the last of them."""
    if cursor is None:
        return 0, ""
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        message = "This is no cursor of ours. Take next_cursor as it is."
        problems.append(Problem(parameter="cursor", message=message))
        return 0, ""
    return int(found[1]), found[2]
