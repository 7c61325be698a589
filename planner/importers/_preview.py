"""What an import would change, and its commit: all rows in one file, or nothing."""

import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from planner.core import Text, listed_words
from planner.core.slugs import UNOFFICIAL
from planner.importers.formats import SourceError
from planner.runs import CheckedRun, RecordError, complete, table_from_rows
from planner.store.disk.files import write_once
from planner.store.disk.folders import Folder
from planner.store.sealed.accept import Contradiction
from planner.store.sealed.commit import commit_table, compact_name, compared
from planner.store.sealed.result_set import NAME, new_set_text, read_set
from planner.suspects import by_run, suspects

_PLACE: Final = re.compile(
    r"(?P<where>(?:line|row|run|item) [\d,]+)(?:, (?P<column>[^:]{1,80}))?: (?P<text>.*)", re.DOTALL
)
_COLUMN: Final = re.compile(r"(?P<column>[A-Za-z_][\w ./-]{0,60}): (?P<text>.*)", re.DOTALL)
_OF_THE_COMMAND: Final = (
    (re.compile(r": --fact \S+"), ""),
    (re.compile(r"Name its column of docs/records\.md with --option .*", re.DOTALL),
     "Choose its column above, or leave it out."),
    (re.compile(r"Leave it out with --option columns=.*?:, or ", re.DOTALL),
     "Leave it out above, or "),
    (re.compile(r"--option (\w+)="), r"the field \1 above: "),
)  # fmt: skip
"""What the command says of its options, and what a page says of its fields instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """A problem: row and column of the file, the rule that is broken, and what to do."""

    row: str
    column: str
    rule: str
    fix: str


def located(problem: str) -> Located:
    """Return a problem in its parts; all are sentences `place, column: rule. fix.`.

    Advice on options of the command becomes that on the fields of the page.
    """
    place = _PLACE.fullmatch(problem) or _COLUMN.fullmatch(problem)
    parts = place.groupdict() if place else {}
    text = parts.get("text") or problem
    for option, field in _OF_THE_COMMAND:
        text = option.sub(field, text)
    rule, _, fix = text.partition(". ")
    return Located(
        row=(parts.get("where") or "").capitalize(),
        column=parts.get("column") or "",
        rule=rule.rstrip("."),
        fix=fix.rstrip(".") or ("Correct the cell" if place and "where" in parts else "Correct it"),
    )


def licences(rows: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the licences that rows state, each once."""
    return tuple(dict.fromkeys(str(row["licence"]) for row in rows if row.get("licence")))


def with_terms(
    rows: Sequence[Mapping[str, Any]], terms: Mapping[str, str], name: str
) -> list[dict[str, Any]]:
    """Return the rows with the licence and the address of `terms` where they state none.

    A citation is added to what a row says of its source: the set may have another one.

    Raises:
        SourceError: every run of the file `name` states a licence, and another one is given; with
            all that is wrong with the rows.
    """
    kept = {n: text for n, text in terms.items() if n != "citation"}
    whole = [
        {**kept, **{n: v for n, v in row.items() if v is not None}, **_cited(row, terms)}
        for row in rows
    ]
    if problem := _contradicted(rows, terms.get("licence", "")):
        raise SourceError(name, [problem, *_wrong(whole)])
    return whole


def _wrong(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    try:
        table_from_rows(rows)
    except RecordError as error:
        return list(map(str, error.problems))
    return []


def _cited(row: Mapping[str, Any], terms: Mapping[str, str]) -> dict[str, str]:
    parts = (str(row.get("source") or ""), terms.get("citation", ""))
    return {"source": "; ".join(part for part in parts if part)} if any(parts) else {}


def _contradicted(rows: Sequence[Mapping[str, Any]], given: str) -> str:
    """Return that a licence is not that of the file, where every row states one; else ""."""
    others = [each for each in licences(rows) if each.casefold() != given.casefold()]
    if not given or not others or not all(row.get("licence") for row in rows):
        return ""
    return Text(
        "licence: the file says {own}, you state {given}. Leave yours out.",
        own=listed_words([repr(each) for each in others[:_MOST_LICENCES]]),
        given=repr(given),
    )


_MOST_LICENCES: Final = 5
"""Licences that a message names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """Rows as they would be written, and what they change in a set.

    `duplicates` are there with the same numbers. `flags` has a sentence per suspect run, by its
    place in `rows`. With `problems`, nothing can be written.
    """

    rows: tuple[Mapping[str, Any], ...] = ()
    duplicates: frozenset[int] = frozenset()
    flags: Mapping[int, str] | None = None
    problems: tuple[Located, ...] = ()

    @property
    def new(self) -> int:
        """Runs that would be added."""
        return len(self.rows) - len(self.duplicates)


def refused(error: SourceError | RecordError) -> Preview:
    """Return the preview of a file that is not taken."""
    return Preview(problems=tuple(located(str(problem)) for problem in error.problems))


def preview(
    folder: Path,
    rows: Sequence[Mapping[str, Any]],
    beside: Callable[[str], Iterable[CheckedRun]] | None = None,
) -> Preview:
    """Return what writing `rows` into `folder` would change; nothing is written there.

    Args:
        folder: of the set, which may not exist yet.
        rows: as `read` returns them, with their terms.
        beside: good runs of a workload that are there, to compare new ones with.
    """
    try:
        table = table_from_rows(rows)
    except RecordError as error:
        return refused(error)
    ids = table["run_id"].to_pylist()
    there, contradicted = compared(folder, table)
    if contradicted:
        return Preview(problems=tuple(map(located, _contradictions(ids, contradicted))))
    place = {run: at for at, run in enumerate(ids)}
    flags = by_run(suspects(_checked(table, beside)))
    return Preview(
        rows=tuple(complete(row) for row in rows),
        duplicates=frozenset(place[run] for run in there if run in place),
        flags={
            place[run]: "; ".join(f.evidence for f in own)
            for run, own in flags.items()
            if run in place
        },
    )


def _contradictions(ids: Sequence[str], contradicted: Iterable[Contradiction]) -> list[str]:
    """Return a problem for each run that the set has with other numbers."""
    at = {run: place for place, run in enumerate(ids, 1)}
    return [
        Text(
            "run {number}, {column}: the set has this run with other numbers, in {path}. Choose "
            "another set; for a second measurement state `repeat`.",
            number=at[c.run_id], column=c.column, path=c.path.name,
        )
        for c in contradicted
    ]  # fmt: skip


def _checked(
    table: Any,  # noqa: ANN401 - an Arrow table
    beside: Callable[[str], Iterable[CheckedRun]] | None,
) -> list[CheckedRun]:
    """Return the rows as the checks see them, after runs of the same workloads."""
    from planner.store import Store, queries

    with tempfile.TemporaryDirectory(prefix="epochwise-preview-") as place:
        own = Path(place) / "preview"
        commit_table(own, compact_name(table["run_id"].to_pylist()), table)
        store = Store((Folder(path=Path(place), label="preview", kind="own"),))
        store.refresh()
        runs = list(queries.checked_runs(store))
    new = {run.run_id for run in runs}
    workloads = dict.fromkeys(run.workload for run in runs)
    others = [r for w in workloads for r in (beside(w) if beside else ()) if r.run_id not in new]
    return [*others, *runs]


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What a commit did: `duplicates` runs were there with the same numbers."""

    path: Path | None
    new: int
    duplicates: int

    @property
    def left_out(self) -> str:
        """How many runs are left out as duplicates, in a sentence; "" where none is."""
        if not self.duplicates:
            return ""
        return Text("{stated:,} duplicates are left out.", stated=self.duplicates)


def commit(folder: Path, rows: Sequence[Mapping[str, Any]], about: Mapping[str, str]) -> Imported:
    """Write the rows that are not in `folder` yet as one sealed file, and its set.toml if absent.

    A new set is unofficial until its owner changes `standing` in set.toml. Its licence is that of
    the rows.

    Raises:
        RecordError: rows break the rules of the table; nothing is written.
        SourceError: runs are there with other numbers, or the set is a checked one; nothing is
            written.
        CommitError: the disk refuses.
    """
    table = table_from_rows(rows)
    ids = table["run_id"].to_pylist()
    there, contradicted = compared(folder, table)
    if contradicted:
        name = Text("A file for the set {folder}", folder=folder.name)
        raise SourceError(name, _contradictions(ids, contradicted))
    if own := licences(rows):
        about = {**about, "licence": "; ".join(own)}
    fresh = [at for at, run in enumerate(ids) if run not in there]
    path = None
    if fresh:
        # The set has its id, and is unofficial, from its first run on.
        write_once(folder / NAME, new_set_text({**about, "standing": UNOFFICIAL}))
        if not read_set(folder, "")[0].is_unofficial:
            text = Text("{set}: is a checked set. Imports go to unofficial ones: name another.",
                        set=folder.name)  # fmt: skip
            raise SourceError(Text("A file for the set {folder}", folder=folder.name), [text])
        path = commit_table(folder, compact_name([ids[at] for at in fresh]), table.take(fresh))
    return Imported(path=path, new=len(fresh), duplicates=len(ids) - len(fresh))
