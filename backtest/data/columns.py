"""Columns that the back-test needs of each public file, and checks of their rows.

A public file may be edited, cut short or saved by a spreadsheet. A row with a bad cell is left out
and reported by file, line, column and value. In a file of epochs the other rows of its run are left
out too. A file without a required column is left out whole.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from planner.core import Text, joined, plural, shipped_rows

_KINDS: Final = ("texts", "positive", "not_negative", "positive_or_nothing")
"""Texts, numbers above 0, numbers of at least 0, and numbers above 0 or nothing."""
COLUMNS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    row["file"]: tuple(tuple(row.get(kind, "").split()) for kind in _KINDS)
    for row in shipped_rows(__package__, "columns.csv")
}
"""Columns of each file, by the kind of their values."""
_NOTHING: Final[tuple[tuple[str, ...], ...]] = ((), (), (), ())
LISTS: Final = frozenset({"conv_values"})
"""Texts of numbers above 0, separated by semicolons."""
COUNTS: Final = frozenset(
    {"num_gpus", "num_nodes", "n_gpus", "n_gpus_total", "n_nodes", "nodes", "num_gpu", "gpus"}
)
"""Numbers of devices or machines: whole, and at most `MOST_DEVICES`."""
RUNS: Final[Mapping[str, tuple[str, ...]]] = {
    "koshian2_tpu_benchmark/epochs_main.csv": ("device", "batch_size", "pattern"),
    "koshian2_tpu_benchmark/epochs_appendix.csv": ("device", "batch_size", "pattern", "mode"),
    "dawnbench_train/epochs.csv": ("task", "entry"),
}
"""Files of epochs, and the columns that identify a run."""
WORDS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("dawnbench_train/epochs.csv", "task"): ("CIFAR10", "ImageNet")
}
"""Allowed texts, by file and column."""
LEAST, MOST, MOST_DEVICES = 1e-12, 1e24, 1e6
"""Range of plausible numbers in a public file; others are typing errors."""
_NUMBER: Final = re.compile(r"[ \t]*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?[ \t]*", re.ASCII)
_SHOWN: Final = 40
"""Characters of a bad cell that are shown."""
CellsOf = Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A row that was left out and why; a whole file if `line` is None."""

    path: str
    why: str
    line: int | None = None
    column: str = ""

    def __str__(self) -> str:
        """Return file, line, column, value and problem, as the start of a sentence."""
        place = "" if self.line is None else f", line {self.line}"
        column = f", column {self.column}" if self.column else ""
        return f"{self.path}{place}{column}: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedRow:
    """A row with its line number; `broken` says why it could not be read."""

    number: int
    cells: CellsOf = field(default_factory=dict)
    broken: str = ""


def header_problem(path: str, names: Sequence[str]) -> str:
    """Return why a file's header makes it unusable; "" if it is usable."""
    needed = dict.fromkeys(n for kind in COLUMNS.get(path, ()) for n in kind)
    if not names:
        return "the file is empty"
    lacking = [n for n in needed if n not in names]
    if lacking:
        listed = ", ".join(lacking)
        reason = plural(len(lacking), "the column {columns} is missing",
                        "the columns {columns} are missing", columns=listed)  # fmt: skip
        if len(names) == 1 and len(needed) > 1:
            return joined(
                ": ", (reason, "its first line is one column. Separate columns by commas")
            )
        return reason
    twice = [n for n, count in Counter(names).items() if count > 1 and n in needed]
    return Text("the column {column} appears twice", column=twice[0]) if twice else ""


def sound_rows(path: str, lines: Sequence[NumberedRow]) -> tuple[list[CellsOf], list[Skipped]]:
    """Return the valid rows, and the rows left out with their reasons."""
    bad = {at: problem for at, line in enumerate(lines) if (problem := _problem(path, line))}
    with_them = _of_the_same_run(path, lines, bad)
    kept = [x.cells for at, x in enumerate(lines) if at not in bad and at not in with_them]
    skipped = {at: Skipped(path=path, line=lines[at].number, why=WITHOUT) for at in with_them}
    return kept, [problem for _, problem in sorted((skipped | bad).items())]


WITHOUT: Final = "another row of its run is unusable, so the run is left out"


def _of_the_same_run(
    path: str, lines: Sequence[NumberedRow], bad: Mapping[int, Skipped]
) -> set[int]:
    """Return the indices of valid rows whose run lacks a row.

    If the bad row does not identify its run, the runs next to it count as incomplete.
    """
    names = RUNS.get(path, ())
    if not names or not bad:
        return set()
    broken = set()
    for at, problem in bad.items():
        unknown = problem.column in ("", *names)
        places = (at - 1, at + 1) if unknown else (at,)
        broken |= {_key(lines[p], names) for p in places if 0 <= p < len(lines)}
    return {at for at, x in enumerate(lines) if at not in bad and _key(x, names) in broken}


def _key(line: NumberedRow, names: Sequence[str]) -> tuple[str | None, ...]:
    return tuple(line.cells.get(name) for name in names)


def _problem(path: str, line: NumberedRow) -> Skipped | None:
    """Return the first problem of a row; None if it is valid."""
    if line.broken:
        return Skipped(path=path, line=line.number, why=line.broken)
    texts, above, at_least, optional = COLUMNS.get(path, _NOTHING)
    for name in (*texts, *above, *at_least, *optional):
        if line.cells.get(name) is None:
            return Skipped(path=path, line=line.number, column=name, why="the cell is missing")
    for name in (*texts, *above, *at_least, *optional):
        cell, gap = line.cells[name] or "", name in optional
        if name in texts:
            reason = _bad_text(cell) or _bad_list(cell if name in LISTS else "")
            reason = reason or _bad_word(cell, WORDS.get((path, name), ()))
        else:
            reason = _wrong(cell, name, zero=name in at_least, gap=gap)
        if reason:
            return Skipped(path=path, line=line.number, column=name, why=reason)
    return None


def _bad_text(cell: str) -> str:
    if any("\ud800" <= letter <= "\udfff" for letter in cell):
        return Text("{cell} is not UTF-8", cell=_shown(cell))
    return (
        Text("{cell} has a line break", cell=_shown(cell)) if "\n" in cell or "\r" in cell else ""
    )


def _bad_word(cell: str, allowed: tuple[str, ...]) -> str:
    """Return why a cell is not an allowed word; "" if it is, or if any word is allowed."""
    if not allowed or cell in allowed:
        return ""
    return Text("{cell} is not {allowed}", cell=_shown(cell), allowed=" or ".join(allowed))


def _bad_list(cell: str) -> str:
    """Return why a cell is not a list of numbers above 0; "" if it is, or empty."""
    parts = cell.split(";") if cell else []
    return next(
        (reason for part in parts if (reason := _wrong(part, "", zero=False, gap=False))), ""
    )


def _wrong(cell: str, name: str, *, zero: bool, gap: bool) -> str:
    """Return why a cell is not a valid number; "" if it is."""
    if not cell:
        return "" if gap else "the cell is empty"
    if not _NUMBER.fullmatch(cell):
        return Text("{cell} is not a number", cell=_shown(cell))
    value = float(cell)
    if value > 0.0:
        return _beyond(cell, value, name)
    if zero and value == 0.0:
        return ""
    if zero:
        return Text("{cell} is not a number of at least 0", cell=_shown(cell))
    return Text("{cell} is not a number above 0", cell=_shown(cell))


def _beyond(cell: str, value: float, name: str) -> str:
    """Return why a number above 0 is implausible; "" if it is plausible."""
    if name in COUNTS and not (value <= MOST_DEVICES and value.is_integer()):
        return Text(
            "{cell} is not a whole number up to {most:,.0f}", cell=_shown(cell), most=MOST_DEVICES
        )
    if not LEAST <= value <= MOST:
        return Text(
            "{cell} is outside {least:g} to {most:g}", cell=_shown(cell), least=LEAST, most=MOST
        )
    return ""


def _shown(cell: str) -> str:
    """Return a cell for a message: shortened, with unprintable characters escaped."""
    cut = cell if len(cell) <= _SHOWN else f"{cell[:_SHOWN]}… ({len(cell):,} letters)"
    plain = "".join(x if x.isprintable() else x.encode("unicode_escape").decode() for x in cut)
    return f"“{plain}”"
