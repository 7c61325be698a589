"""Runs as JSON on their way to a server: written by `runners push`, read by `POST /api/v1/runs`.

    {"set": {"slug": "mine", "title": "...", "licence": "..."}, "runs": [{"model": "mlp", ...}]}

Cells have the names and types of docs/records.md; times are ISO 8601 with a time zone. Numbers
arrive to the last digit. The same run may be sent any number of times: its run_id is the hash of
its identity, and the first commit stays.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NoReturn

import pyarrow as pa

from planner.core import MAX_SET_TEXT, ParameterProblem, Text
from planner.core.parameters import CONTROL
from planner.core.slugs import UNOFFICIAL
from planner.runs import BY_NAME, RecordError, Row, run_id
from planner.store.disk.files import write_once
from planner.store.sealed.commit import Committed, commit_runs
from planner.store.sealed.result_set import FIELDS, NAME, new_set_text, read_set

MOST_RUNS: Final = 1_000
"""Most runs of one request."""
MOST_BYTES: Final = 5_000_000
"""Largest request [bytes]."""
SLUG: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,79}")
_KEYS: Final = {"set", "runs"}
_MOST_LISTED: Final = 50
_SHOWN: Final = 80
_MOST_DIGITS: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class PushRequest:
    """A request whose form is sound; the rows are checked when they are committed."""

    slug: str
    fields: Mapping[str, str]
    """Texts of the set's set.toml; used where the set is new."""
    rows: tuple[Row, ...]


class PushError(ValueError):
    """A request that is not taken; `problems` has all that is wrong."""

    def __init__(self, problems: Sequence[ParameterProblem]) -> None:
        self.problems = tuple(problems[:_MOST_LISTED])
        super().__init__(" ".join(map(str, self.problems)))


class CheckedSetError(ValueError):
    """A set that is not unofficial: runs that were not checked stay out of it."""

    def __init__(self, slug: str) -> None:
        super().__init__(
            Text(
                "{slug} is a checked set, and this token adds to unofficial sets only. Name "
                "another set, or use a token made with --official.",
                slug=slug,
            )
        )


def body_of(slug: str, fields: Mapping[str, str], rows: Sequence[Row]) -> bytes:
    """Return a request with these rows; `fields` are texts of the set's set.toml."""
    runs = [{k: _written(v) for k, v in row.items() if v is not None} for row in rows]
    body = {"set": {"slug": slug, **fields}, "runs": runs}
    return json.dumps(body, separators=(",", ":"), allow_nan=False).encode()


def read_body(data: bytes) -> PushRequest:
    """Return the runs of a request.

    Raises:
        PushError: it is not of this form; all problems are listed.
    """
    try:
        body = json.loads(
            data, parse_constant=_no_number, parse_int=_whole, object_pairs_hook=_without_twins
        )
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise PushError(
            [
                ParameterProblem(
                    parameter="", message=Text("The body is no JSON: {reason}.", reason=reason)
                )
            ]
        ) from None
    if not isinstance(body, dict) or set(body) != _KEYS:
        text = "The body must be an object with the fields set and runs."
        raise PushError([ParameterProblem(parameter="", message=text)])
    about, runs = body["set"], body["runs"]
    problems = [*_set_problems(about), *_runs_problems(runs)]
    if problems:
        raise PushError(problems)
    rows = []
    for at, run in enumerate(runs):
        row, wrong = _row(at, run)
        rows.append(row)
        problems += wrong
    if problems:
        raise PushError(problems)
    fields = {name: about[name] for name in FIELDS if about.get(name)}
    return PushRequest(slug=about["slug"], fields=fields, rows=tuple(rows))


def keep(
    results: Path,
    pushed: PushRequest,
    claim: Callable[[str], object] = lambda _: None,
    *,
    official: bool = False,
) -> list[Committed]:
    """Commit the runs to their set below `results`; a new set gets its set.toml first.

    `claim` is called with the reference of the set before any run is written. Its exceptions pass
    through, and no run is written then. A new set is unofficial, unless `official` says that those
    who send are trusted: then its standing is that of the request. Only they add to a checked set.

    Raises:
        PushError: rows break the rules of the table.
        CheckedSetError: the set is there, and it is not unofficial.
        ContradictionError: runs are there with other numbers; nothing is written.
        CommitError: the disk refused; committed runs stay.
    """
    folder = results / pushed.slug
    if problems := _of_another_set(pushed):
        raise PushError(problems)

    def begin() -> None:
        fields = {"title": pushed.slug, **pushed.fields}
        if not official:
            fields["standing"] = UNOFFICIAL
        write_once(folder / NAME, new_set_text(fields))
        there, _ = read_set(folder, "")
        if not (official or there.is_unofficial):
            raise CheckedSetError(pushed.slug)
        claim(there.reference)

    try:
        return commit_runs(folder, pushed.rows, begin=begin)
    except RecordError as error:
        raise PushError(
            [
                ParameterProblem(parameter=f"runs[{p.row}].{p.column}", message=str(p.message))
                for p in error.problems
            ]
        ) from error


def _of_another_set(pushed: PushRequest) -> list[ParameterProblem]:
    """Return a problem for each run that says it is of another set: it would be shown as that."""
    return [
        ParameterProblem(
            parameter=f"runs[{at}].result_set",
            message=Text(
                "is {stated!r}; the runs are sent to the set {slug!r}.",
                stated=_short(str(row["result_set"])), slug=pushed.slug,
            ),
        )
        for at, row in enumerate(pushed.rows)
        if row.get("result_set") not in (None, pushed.slug)
    ]  # fmt: skip


def _set_problems(about: object) -> list[ParameterProblem]:
    if not isinstance(about, dict):
        return [ParameterProblem(parameter="set", message="must be an object.")]
    problems = [
        ParameterProblem(
            parameter=f"set.{_short(name)}",
            message=Text("is unknown. Use {fields}.", fields=", ".join(FIELDS)),
        )
        for name in about
        if name not in {"slug", *FIELDS}
    ]
    slug = about.get("slug")
    if not isinstance(slug, str) or not SLUG.fullmatch(slug):
        text = "must be small letters, digits and hyphens, at most 80 of them."
        problems.append(ParameterProblem(parameter="set.slug", message=text))
    problems += [
        ParameterProblem(
            parameter=f"set.{name}",
            message=Text(
                "must be text of at most {max_set_text} letters.", max_set_text=MAX_SET_TEXT
            ),
        )
        for name in FIELDS
        if name in about and not (isinstance(about[name], str) and len(about[name]) <= MAX_SET_TEXT)
    ]
    return problems


def _runs_problems(runs: object) -> list[ParameterProblem]:
    if isinstance(runs, list) and 0 < len(runs) <= MOST_RUNS:
        return []
    return [
        ParameterProblem(
            parameter="runs",
            message=Text("must be a list of 1 to {most_runs:,} runs.", most_runs=MOST_RUNS),
        )
    ]


def _row(at: int, run: object) -> tuple[dict[str, Any], list[ParameterProblem]]:
    if not isinstance(run, dict):
        return {}, [ParameterProblem(parameter=f"runs[{at}]", message="must be an object.")]
    row: dict[str, Any] = {}
    problems = []
    for name, cell in run.items():
        column = BY_NAME.get(name)
        if column is None:
            text = "is no column of a run. docs/records.md lists all."
            problems.append(ParameterProblem(parameter=f"runs[{at}].{_short(name)}", message=text))
            continue
        row[name] = cell
        if isinstance(cell, str) and (control := CONTROL.search(cell)):
            text = Text("has the control character U+{code:04X}.", code=ord(control[0]))
            problems.append(ParameterProblem(parameter=f"runs[{at}].{name}", message=text))
        if pa.types.is_timestamp(column.type) and cell is not None:
            try:
                row[name] = datetime.fromisoformat(cell)
            except (TypeError, ValueError):
                text = "must be a time such as 2026-11-25T12:00:00+00:00."
                problems.append(ParameterProblem(parameter=f"runs[{at}].{name}", message=text))
    if not problems and "run_id" in row:
        try:
            own = run_id(row)
        except (TypeError, ValueError):
            own = row["run_id"]  # a wrong cell: the rules of the table name it
        if own != row["run_id"]:
            text = "is not the hash of the run's identity. Leave it out."
            problems.append(ParameterProblem(parameter=f"runs[{at}].run_id", message=text))
    return row, problems


def _written(value: Any) -> Any:  # noqa: ANN401 - any cell
    return value.isoformat() if isinstance(value, datetime) else value


def _no_number(name: str) -> NoReturn:
    raise ValueError(Text("{name} is not a number of JSON", name=name))


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(Text("a number has {count:,} digits", count=len(digits)))
    return int(digits)


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    by_name = dict(pairs)
    if len(by_name) < len(pairs):
        raise ValueError(Text("an object has a name twice"))
    return by_name


def _short(name: str) -> str:
    return name if len(name) <= _SHOWN else f"{name[:_SHOWN]}..."
