"""Rows of published measurements, from tab-separated tables, and their accelerators.

A table has 35 named columns. It may lack columns, have further ones, any line ends and bytes that
are not UTF-8. An unreadable row is skipped with a line that names file and row; nothing raises. An
odd cell of a column for one task only is left out, with a line, and its row is kept.

Sources name one card in many ways ("DGX-H100", "NVIDIA Blackwell GPU (B200-SXM-180GB)", "A100
400W"). The words that state a model must be those of a catalogue entry; form and memory then
choose among its variants. If a row states neither, the SXM form with the least memory is used: its
peak is that of the larger variant. A text without a model of the catalogue has no match.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

from planner.catalog import Accelerator, Catalog, Words, accelerators_alike, words_of
from planner.core import Text, plural, shown

CellKind = Literal["text", "whole", "number"]

MOST_BYTES: Final = 64 * 2**20
"""Largest table that is read [bytes]; the largest shipped one has 1.4 MB."""
MOST_CELL: Final = 20_000
"""Longest cell [characters]."""
LARGEST: Final = 1e30
MOST_WHOLE: Final = 1e15
"""Counts: parameters, batches."""
MOST_DEVICES: Final = 1e6
_BATCHES_IN_K: Final = re.compile(r"PyTorch/Recommendation/DLRM")
"""Tables that write a batch as "64k", of which the library has the number alone."""
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
        return [], [
            Text(
                "{folder}: is not a folder. Name one with *.tsv tables.",
                folder=folder.name or folder,
            )
        ]
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
        return [], [Text("{file}: is empty.", file=file)]
    names = [name.strip().casefold() for name in header[1]]
    if "model" not in names or not {"accelerator", "source_id"} & set(names):
        problem = Text(
            "{file}: has no columns `model` and `accelerator`; it is not a table of the library.",
            file=file,
        )
        return [], [problem]
    twice = sorted({n for n in names if n in COLUMNS and names.count(n) > 1})
    if twice:
        return [], [
            Text("{file}: has the column {twice} twice. Keep one.", file=file, twice=twice[0])
        ]
    rows: list[PublishedRow] = []
    skipped = _missing(file, names)
    line = 0
    for line, cells in lines:
        parsed = _row(file, line, names, cells, skipped)
        if isinstance(parsed, str):
            skipped.append(
                Text(
                    "{file}, line {line}: {parsed} The row is skipped.",
                    file=file,
                    line=line,
                    parsed=parsed,
                )
            )
        elif parsed is not None:
            rows.append(parsed)
    if not line:
        skipped.append(Text("{file}: has no row below its column names.", file=file))
    return rows, skipped


def _missing(file: str, names: Sequence[str]) -> list[str]:
    missing = [name for name in COLUMNS if name not in names]
    if not missing:
        return []
    listed = ", ".join(missing)
    return [
        Text(
            "{file}: lacks the columns {listed}; they count as not stated.",
            file=file,
            listed=listed,
        )
    ]


def _row(
    file: str, line: int, names: Sequence[str], cells: Sequence[str], lines: list[str]
) -> PublishedRow | str | None:
    """Return the row, why it is skipped, or None for an empty line; `lines` gets cells left out."""
    if not any(cell.strip() for cell in cells):
        return None
    cut = any(name in names[len(cells) :] for name in ("model", "accelerator"))
    if cut or any(cell.strip() for cell in cells[len(names) :]):
        return plural(
            len(cells),
            "has {count} cell below {names} column names.",
            "has {count} cells below {names} column names.",
            names=len(names),
        )
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
    if reason := _unusable(values):
        return reason
    lines += left_out
    if _BATCHES_IN_K.search(values["model"]):
        for name in ("global_batch", "micro_batch"):
            if values.get(name):
                values[name] *= 1024
    odd = tuple((name, cell) for name, cell in stated if cell and values.get(name) is None)
    return PublishedRow(file=file, line=line, odd=odd, **values)


def _unusable(values: Mapping[str, Any]) -> str:
    """Return why a row of these values is skipped; "" where it is not."""
    if values.get("model") is None:
        return "has no model."
    devices, nodes = values.get("n_accelerators"), values.get("nodes")
    if devices and nodes and nodes > devices:
        return Text(
            "has {nodes:,} nodes for {devices:,} accelerators.", nodes=nodes, devices=devices
        )
    return ""


def _value(name: str, cell: str) -> Any:  # noqa: ANN401 - text, whole or number by its column
    """Return the value of a cell; ValueError states its problem."""
    kind = COLUMNS[name]
    if len(cell) > MOST_CELL:
        raise ValueError(
            Text(
                "{name} has {cell:,} characters; at most {most_cell:,} are read.",
                name=name,
                cell=len(cell),
                most_cell=MOST_CELL,
            )
        )
    if kind == "text":
        return _printable(cell) or None
    if cell.casefold() in _NOTHING or _RANGE.fullmatch(cell):
        return None  # a range is not a single number
    number = _number(cell)
    if number is None:
        raise ValueError(
            Text("{name} is {quoted}, which is not a number.", name=name, quoted=quoted(cell))
        )
    if not math.isfinite(number) or number <= 0.0:
        raise ValueError(
            Text(
                "{name} is {quoted}. It must be above 0 and finite.", name=name, quoted=quoted(cell)
            )
        )
    if not SMALLEST <= number <= LARGEST:
        raise ValueError(
            Text(
                "{name} is {quoted}, outside {smallest:g} to {largest:g}.",
                name=name,
                quoted=quoted(cell),
                smallest=SMALLEST,
                largest=LARGEST,
            )
        )
    most = MOST_DEVICES if name in _DEVICES else MOST_WHOLE
    if kind == "whole" and number > most:
        raise ValueError(
            Text(
                "{name} is {quoted}; at most {most:g} is read.",
                name=name,
                quoted=quoted(cell),
                most=most,
            )
        )
    if kind == "whole" and number != math.floor(number):
        raise ValueError(
            Text("{name} is {quoted}, which is not a whole number.", name=name, quoted=quoted(cell))
        )
    return int(number) if kind == "whole" else number


def _number(cell: str) -> float | None:
    match = _NUMBER.fullmatch(cell)
    if match is None:
        return math.inf if cell.casefold().lstrip("+-") in {"inf", "infinity"} else None
    return float(match[1].replace(",", ""))


def _printable(cell: str) -> str:
    if cell.isprintable():
        return cell.strip()
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
            return Text(
                "has {size:,} bytes; at most {most_bytes:,} are read. It is skipped.",
                size=size,
                most_bytes=MOST_BYTES,
            )
        return path.read_bytes()
    except OSError as error:
        return Text("cannot be read ({reason}). It is skipped.", reason=error.strerror or error)


def _decoded(content: bytes) -> str:
    """Return the text: UTF-8, or UTF-16 with its mark; a byte of neither becomes one letter."""
    if content[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        return content.decode("utf-16", "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("utf-8-sig", "replace")


FORMS: Final = ("sxm", "pcie", "nvl")
"""Words that state the form of a card, the likeliest first; an NVL card is a PCIe card too."""
CLOSE: Final = 0.1
"""Memory within this share of the catalogue's is the same memory: drivers show less, GiB or GB."""
_OWN_SERIES: Final = "Only tasks within its own series use it."
_NOISE: Final = re.compile(
    r"\b(?:tensor core|dgx|hgx|no opt|graphics|cts|dlc|\d+w|\d+[- ]?(?:c|cores?)|\d+ ?x|x ?\d+)\b"
)
"""Parts of a text outside the model's name: servers, power limits, cores of a chip, counts."""
_GB: Final = re.compile(r"(\d{1,3})\s*(?:gib|gb|g)\b")
_INSIDE: Final = re.compile(r"\(([^()]*)\)")
_FOREIGN: Final = re.compile(r"[^\x20-\x7e].*")
_SLICE: Final = re.compile(r"\bTPU[- ]?v\d\w*", re.IGNORECASE)


def accelerators_of(rows: Iterable[PublishedRow], catalog: Catalog) -> list[Accelerator | None]:
    """Return the accelerator of each row, None where the catalogue has none or several.

    Of a board with two GPUs it is one of them: tables count the GPUs of a K80, as clouds do.
    """
    by_name: dict[tuple[str, float | None], Accelerator | None] = {}
    accelerators = []
    for row in rows:
        key = _text(row), _memory_gb(row)
        if key not in by_name:
            by_name[key] = _one_gpu(_named_accelerator(*key, catalog))
        accelerators.append(by_name[key])
    return accelerators


def _one_gpu(accelerator: Accelerator | None) -> Accelerator | None:
    if accelerator is None or accelerator.devices == 1 or accelerator.maker != "NVIDIA":
        return accelerator
    share = 1.0 / accelerator.devices
    memory, bandwidth = accelerator.memory_bytes, accelerator.memory_bandwidth_bytes_per_s
    return replace(
        accelerator,
        devices=1,
        memory_bytes=None if memory is None else share * memory,
        memory_bandwidth_bytes_per_s=None if bandwidth is None else share * bandwidth,
        peak_flops_per_s={x: share * peak for x, peak in accelerator.peak_flops_per_s.items()},
    )


def unknown_accelerators(rows: Sequence[PublishedRow], catalog: Catalog) -> list[str]:
    """Return a line for each name of a file that no accelerator of the catalogue has."""
    places: dict[tuple[str, str], list[int]] = {}
    for row, accelerator in zip(rows, accelerators_of(rows, catalog), strict=True):
        if accelerator is None:
            places.setdefault((row.file, row.accelerator or ""), []).append(row.line)
    return [
        f"{file}, {lines_in_words(lines)}: "
        + (
            Text(
                "{name} is not in the catalogue. {own_series}",
                name=shown(name),
                own_series=_OWN_SERIES,
            )
            if name
            else Text("no accelerator is named. {own_series}", own_series=_OWN_SERIES)
        )
        for (file, name), lines in places.items()
    ]


def lines_in_words(lines: Iterable[int]) -> str:
    """Return the numbers of lines as messages name them: "lines 2, 5 to 9, 12"."""
    runs: list[list[int]] = []
    for line in sorted(lines):
        if runs and line == runs[-1][-1] + 1:
            runs[-1][1:] = [line]
        else:
            runs.append([line])
    named = ", ".join(" to ".join(map(str, run)) for run in runs)
    return plural(sum(map(len, runs)), "line {lines}", "lines {lines}", lines=named)


def _text(row: PublishedRow) -> str:
    """Return the row's name of its accelerator; a bare "TPU" is named by its path."""
    text = _FOREIGN.sub("", row.accelerator or "").split("@")[0].strip()
    if text.casefold() in {"tpu", "google tpu"}:
        named = _SLICE.search((row.path or "").replace("/", " "))
        return named[0] if named else text
    return text.removeprefix("CPU only:").strip()


def _memory_gb(row: PublishedRow) -> float | None:
    """Return the memory of one accelerator by its name, its column or the note [GB]."""
    name = _GB.search((row.accelerator or "").casefold())
    if name:
        return float(name[1])
    if row.accelerator_memory_gb is not None:
        return row.accelerator_memory_gb
    first = re.split(r"[\s(-]", (row.accelerator or "").strip())[0]
    if not first or not row.note:
        return None
    noted = re.search(
        rf"\b{re.escape(first)}[\w -]{{0,12}}?\b(\d{{2,3}}) ?GB?\b", row.note, re.IGNORECASE
    )
    return float(noted[1]) if noted else None


def _named_accelerator(text: str, memory_gb: float | None, catalog: Catalog) -> Accelerator | None:
    for name in _spellings(text):
        alike = accelerators_alike(catalog, name)
        if alike:
            return _variant(alike, words_of(text.replace("(", " ").replace(")", " ")), memory_gb)
    return None


def _spellings(text: str) -> Iterator[str]:
    """Yield the text unchanged and cleaned, then the parts in brackets."""
    yield text
    yield _clean(text)
    for inside in _INSIDE.findall(text):
        yield inside
        yield _clean(inside)


def _clean(text: str) -> str:
    plain = re.sub(r"[-_/]", " ", text.casefold())
    return _NOISE.sub(" ", _GB.sub(r" \1gb ", plain))


def _variant(alike: Sequence[Accelerator], words: Words, memory_gb: float | None) -> Accelerator:
    def rank(variant: Accelerator) -> tuple[bool, bool, int, float]:
        name = words_of(variant.id) | words_of(variant.name)
        stated = [form for form in FORMS if form in words][-1:]
        size = (variant.memory_bytes or 0.0) / 1e9
        other = memory_gb is None or abs(size / memory_gb - 1.0) > CLOSE
        form = next((i for i, form in enumerate(FORMS) if form in name), 0)
        return not any(form in name for form in stated), other, form, size

    return min(alike, key=rank)
