"""Rows of published measurements, read from tab-separated tables with 35 named columns.

A table may lack columns, have further ones, any line ends and bytes that are not UTF-8. An
unreadable row is skipped with a line that names file and row; nothing raises. An odd cell of a
column for one task only is left out, with a line, and its row is kept.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

CellKind = Literal["text", "whole", "number"]

MOST_BYTES: Final = 64 * 2**20
"""Largest table that is read [bytes]; the largest shipped one has 1.4 MB."""
MOST_CELL: Final = 20_000
"""Longest cell [characters]."""
LARGEST: Final = 1e30
MOST_WHOLE: Final = 1e15
"""Counts: parameters, batches."""
MOST_DEVICES: Final = 1e6
NEEDED_BY_ONE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "memory_gb": "Only the memory task leaves the row out.",
        "device_hours": "Only whole jobs leave the row out.",
        "accelerator_memory_gb": "The accelerator is found by its name alone.",
    }
)
"""Columns whose odd cells do not exclude the row, and their effect."""
_DEVICES: Final = frozenset({"n_accelerators", "nodes"})
SMALLEST: Final = 1e-12
"""Limits of a number; other values are errors."""
_SHOWN: Final = 40
_NOTHING: Final = frozenset({"", "-", "--", "n/a", "na", "nan", "none", "null", "unknown", "?"})
_RANGE: Final = re.compile(r"\d[\d.,]*\s*(?:-|to|\.\.)\s*\d.*")
_NUMBER: Final = re.compile(
    r"[~≈]?\s*(\d+(?:,\d{3})+(?:\.\d+)?|[+-]?\d*\.?\d+(?:[eE][+-]?\d+)?\.?)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRow:
    """One published figure: the cells of its row, None where the source does not state one.

    `file` and `line` are the place of the row; the header is line 1. Sizes are those of the
    library: `params` and `active_params` [parameters], `seq_len` [tokens], `image_px` [pixels of a
    side], `flops_per_sample_stated` [FLOP], memory [GB], `mfu_stated` [share], times [s or h as the
    name says], `samples_per_s_total` of all devices together. `throughput_value` is in
    `throughput_unit`, both as stated. `odd` are column and text of cells that state no number:
    ranges, "n/a".
    """

    file: str
    line: int
    source_id: str | None = None
    repo_or_page: str | None = None
    path: str | None = None
    commit_or_date: str | None = None
    licence: str | None = None
    published: str | None = None
    model: str | None = None
    family: str | None = None
    params: int | None = None
    active_params: int | None = None
    seq_len: int | None = None
    image_px: int | None = None
    flops_per_sample_stated: float | None = None
    precision: str | None = None
    optimizer: str | None = None
    framework: str | None = None
    accelerator: str | None = None
    accelerator_memory_gb: float | None = None
    n_accelerators: int | None = None
    nodes: int | None = None
    global_batch: int | None = None
    micro_batch: int | None = None
    parallelism: str | None = None
    activation_recompute: str | None = None
    throughput_value: float | None = None
    throughput_unit: str | None = None
    samples_per_s_total: float | None = None
    tokens_per_s_per_device: float | None = None
    model_tflops_per_device: float | None = None
    mfu_stated: float | None = None
    step_time_s: float | None = None
    memory_gb: float | None = None
    time_to_train_h: float | None = None
    device_hours: float | None = None
    note: str | None = None
    odd: tuple[tuple[str, str], ...] = ()

    @property
    def place(self) -> str:
        """File and line, as messages name the row."""
        return f"{self.file}, line {self.line}"

    @property
    def recomputes(self) -> bool | None:
        """Whether activations are recomputed; None where the row does not state it."""
        if self.activation_recompute is None:
            return None
        return self.activation_recompute.casefold() not in {"n", "no", "false", "0", "none", "off"}


_KINDS: Final[Mapping[str, CellKind]] = MappingProxyType(
    {"str": "text", "int": "whole", "float": "number"}
)
COLUMNS: Final[Mapping[str, CellKind]] = MappingProxyType(
    {
        f.name: _KINDS[str(f.type).split(" ")[0]]
        for f in fields(PublishedRow)
        if f.name not in {"file", "line", "odd"}
    }
)
"""The 35 columns of a table in their order, and the type of their cells."""


def read_rows(folder: Path) -> tuple[list[PublishedRow], list[str]]:
    """Return the sound rows of every *.tsv file below a folder, and a line for each skipped one.

    Files are read in the order of their paths. A folder that does not exist has no rows and one
    line that says so.
    """
    if not folder.is_dir():
        return [], [f"{folder.name or folder}: is not a folder. Name one with *.tsv tables."]
    rows: list[PublishedRow] = []
    skipped: list[str] = []
    for path in sorted(p for p in folder.rglob("*") if p.suffix.lower() == ".tsv"):
        name = path.relative_to(folder).as_posix().encode("utf-8", "replace").decode()
        if any(part.startswith(".") for part in path.relative_to(folder).parts):
            continue
        content = _content(path)
        if isinstance(content, str):
            skipped.append(f"{name}: {content}")
            continue
        sound, bad = rows_of(_decoded(content), name)
        rows += sound
        skipped += bad
    return rows, skipped


def rows_of(text: str, file: str) -> tuple[list[PublishedRow], list[str]]:
    """Return the sound rows of one table, and a line for each skipped row.

    Args:
        text: the table with its header.
        file: how messages name it.
    """
    lines = _lines(text)
    header = next(lines, None)
    if header is None:
        return [], [f"{file}: is empty."]
    names = [name.strip().casefold() for name in header[1]]
    if "model" not in names or not {"accelerator", "source_id"} & set(names):
        problem = (
            f"{file}: has no columns `model` and `accelerator`; it is not a table of the library."
        )
        return [], [problem]
    twice = sorted({n for n in names if n in COLUMNS and names.count(n) > 1})
    if twice:
        return [], [f"{file}: has the column {twice[0]} twice. Keep one."]
    rows: list[PublishedRow] = []
    skipped = _missing(file, names)
    line = 0
    for line, cells in lines:
        parsed = _row(file, line, names, cells, skipped)
        if isinstance(parsed, str):
            skipped.append(f"{file}, line {line}: {parsed} The row is skipped.")
        elif parsed is not None:
            rows.append(parsed)
    if not line:
        skipped.append(f"{file}: has no row below its column names.")
    return rows, skipped


def _missing(file: str, names: Sequence[str]) -> list[str]:
    missing = [name for name in COLUMNS if name not in names]
    if not missing:
        return []
    listed = ", ".join(missing)
    return [f"{file}: lacks the columns {listed}; they count as not stated."]


def _row(
    file: str, line: int, names: Sequence[str], cells: Sequence[str], lines: list[str]
) -> PublishedRow | str | None:
    """Return the row, why it is skipped, or None for an empty line; `lines` gets cells left out."""
    if not any(cell.strip() for cell in cells):
        return None
    if any(cell.strip() for cell in cells[len(names) :]):
        return f"has {len(cells)} cells below {len(names)} column names."
    values: dict[str, Any] = {}
    left_out: list[str] = []
    stated = [(n, cell.strip()) for n, cell in zip(names, cells, strict=False) if n in COLUMNS]
    for name, cell in stated:
        try:
            values[name] = _value(name, cell)
        except ValueError as error:
            if name not in NEEDED_BY_ONE:
                return str(error)
            left_out.append(f"{file}, line {line}: {error} {NEEDED_BY_ONE[name]}")
    if values.get("model") is None:
        return "has no model."
    lines += left_out
    odd = tuple((name, cell) for name, cell in stated if cell and values.get(name) is None)
    return PublishedRow(file=file, line=line, odd=odd, **values)


def _value(name: str, cell: str) -> Any:  # noqa: ANN401 - text, whole or number by its column
    """Return the value of a cell; ValueError states its problem."""
    kind = COLUMNS[name]
    if len(cell) > MOST_CELL:
        raise ValueError(f"{name} has {len(cell):,} characters; at most {MOST_CELL:,} are read.")
    if kind == "text":
        return _printable(cell) or None
    if cell.casefold() in _NOTHING or _RANGE.fullmatch(cell):
        return None  # a range is not a single number
    number = _number(cell)
    if number is None:
        raise ValueError(f"{name} is {quoted(cell)}, which is not a number.")
    if not math.isfinite(number) or number <= 0.0:
        raise ValueError(f"{name} is {quoted(cell)}. It must be above 0 and finite.")
    if not SMALLEST <= number <= LARGEST:
        raise ValueError(f"{name} is {quoted(cell)}, outside {SMALLEST:g} to {LARGEST:g}.")
    most = MOST_DEVICES if name in _DEVICES else MOST_WHOLE
    if kind == "whole" and number > most:
        raise ValueError(f"{name} is {quoted(cell)}; at most {most:g} is read.")
    if kind == "whole" and number != math.floor(number):
        raise ValueError(f"{name} is {quoted(cell)}, which is not a whole number.")
    return int(number) if kind == "whole" else number


def _number(cell: str) -> float | None:
    match = _NUMBER.fullmatch(cell)
    if match is None:
        return math.inf if cell.casefold().lstrip("+-") in {"inf", "infinity"} else None
    return float(match[1].replace(",", ""))


def _printable(cell: str) -> str:
    return "".join(c if c.isprintable() else " " for c in cell).strip()


def quoted(cell: str) -> str:
    """Return a cell in quotes, shortened, as messages show it."""
    return repr(cell if len(cell) <= _SHOWN else f"{cell[: _SHOWN - 3]}...")


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of every line; a quoted cell ends in its line."""
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text.removeprefix("\ufeff")), 1):
        if line.strip():
            yield number, [_unquoted(cell) for cell in line.split("\t")]


def _unquoted(cell: str) -> str:
    if len(cell) >= 2 and cell[0] == cell[-1] == '"':
        return cell[1:-1].replace('""', '"')
    return cell


def _content(path: Path) -> bytes | str:
    """Return the bytes of a plain file, or why it is not read."""
    try:
        if not path.is_file():  # a pipe would wait for ever
            return "is not a plain file. It is skipped."
        if (size := path.stat().st_size) > MOST_BYTES:
            return f"has {size:,} bytes; at most {MOST_BYTES:,} are read. It is skipped."
        return path.read_bytes()
    except OSError as error:
        return f"cannot be read ({error.strerror or error}). It is skipped."


def _decoded(content: bytes) -> str:
    """Return the text: UTF-8, or UTF-16 with its mark; a byte of neither becomes one letter."""
    if content[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        return content.decode("utf-16", "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("utf-8-sig", "replace")
