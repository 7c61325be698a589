"""A sweep as a TOML file, with all its mistakes reported at once.

    title = "What it is for"            about = "..."
    epochs = 3                          repeats = 1
    [limits]    timeout_s, memory_share, max_batch, attempts
    [cost]      currency, price_per_hour, price_per_kwh, power_watts
    [defaults]  factors that hold for all [[runs]]
    [patterns."name"]  factors set together
    [[runs]]    factors; a list means "each of these"; `pattern = ["name", ...]` names patterns

Every [[runs]] block is the cross product of its lists. `auto` as a batch list finds the largest
batch that fits first and then measures the smallest design that answers (`runners.plan.design`).
"""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from runners.plan.factors import (
    FACTORS,
    MOST,
    Factor,
    Table,
    factor_problems,
    shown,
    unknown,
)

__all__ = [
    "FACTORS", "LONGEST_BYTES", "MOST", "SWEEPS", "Cost", "Factor", "Limits", "Spec", "SpecError",
    "Table", "find", "from_table", "has_target", "read", "table",
]  # fmt: skip

SWEEPS: Final = Path(__file__).parents[1] / "sweeps"
LONGEST_BYTES: Final = 200_000
"""Longest file that is read as a sweep."""
_LONGEST_LINE: Final = 4_000
"""Longest line [characters]: a key of 50,000 dots kept Python's TOML parser busy for 96 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one run may use, and how often it is tried after an end that was nobody's fault."""

    timeout_s: float = 1800.0
    memory_share: float = 0.8
    """Share of the memory that is free when the run starts."""
    max_batch: int = 65_536
    """Where a search for the largest batch ends at the latest."""
    attempts: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What an hour of measuring costs; None is what nobody said."""

    currency: str = "USD"
    price_per_hour: float | None = None
    price_per_kwh: float | None = None
    power_watts: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A checked sweep. `blocks` are [[runs]] with defaults and patterns not yet filled in."""

    name: str
    title: str
    about: str = ""
    epochs: int = 3
    repeats: int = 1
    limits: Limits = field(default_factory=Limits)
    cost: Cost = field(default_factory=Cost)
    defaults: Table = field(default_factory=dict)
    patterns: Mapping[str, Table] = field(default_factory=dict)
    blocks: tuple[Table, ...] = ()


class SpecError(ValueError):
    """A sweep that cannot be planned; `problems` holds everything that is wrong with it."""

    def __init__(self, name: str, problems: Iterable[str]) -> None:
        self.problems = tuple(dict.fromkeys(problems))
        lines = "\n  ".join(self.problems)
        super().__init__(f"{len(self.problems)} problem(s) in {name}:\n  {lines}")


_TOP: Final = ("title", "about", "epochs", "repeats", "limits", "cost", "defaults", "patterns",
               "runs")  # fmt: skip
_NUMBERS: Final[Mapping[str, tuple[type, ...]]] = {
    "timeout_s": (int, float), "memory_share": (int, float), "max_batch": (int,),
    "attempts": (int,), "price_per_hour": (int, float), "price_per_kwh": (int, float),
    "power_watts": (int, float),
}  # fmt: skip


def find(named: str) -> Path:
    """The file of a sweep: a path, or the name of one shipped in runners/sweeps/."""
    path = Path(named)
    if path.suffix == ".toml" and _is_there(path):
        return path
    shipped = SWEEPS / f"{named.removesuffix('.toml')}.toml"
    if shipped.parent == SWEEPS and _is_there(shipped):
        return shipped
    names = sorted(p.stem for p in SWEEPS.glob("*.toml"))
    close = difflib.get_close_matches(named, names, 1)
    hint = f" Did you mean {close[0]}?" if close else ""
    text = f"there is no such file, and no shipped sweep of that name.{hint}"
    if _is_file(path):
        text = "it is no TOML file: a sweep's name ends in .toml."
    raise SpecError(named, [f"{text} Shipped are: {', '.join(names)}."])


def _is_file(path: Path) -> bool:
    return _is_there(path) and path.is_file()


def _is_there(path: Path) -> bool:
    """Names that no disk takes (too long, or with a NUL) are nobody's."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def read(path: Path) -> Spec:
    """The sweep in a TOML file; SpecError tells everything that is wrong with it."""
    return from_table(path.stem, table(path))


def table(path: Path) -> Table:
    """The TOML table in a file; SpecError where it holds none, is too long or is no file."""
    try:
        return tomllib.loads(_text(path))
    except (OSError, ValueError, RecursionError) as error:  # TOML and UTF-8 errors are ValueErrors
        told = error.strerror if isinstance(error, OSError) else error
        raise SpecError(path.name, [f"it cannot be read as TOML: {told}"]) from error


def _text(path: Path) -> str:
    if path.exists() and not path.is_file():  # a pipe would wait for ever
        raise ValueError("it is not a plain file. Give the TOML file of a sweep.")
    with path.open("rb") as file:
        data = file.read(LONGEST_BYTES + 1)
    if len(data) > LONGEST_BYTES:
        raise ValueError(f"it is longer than {LONGEST_BYTES:,} bytes, which no sweep is.")
    text = data.decode()
    long = [n for n, line in enumerate(text.split("\n"), 1) if len(line) > _LONGEST_LINE]
    if long:
        raise ValueError(f"line {long[0]} is longer than {_LONGEST_LINE:,} characters. Break it.")
    return text


def has_target(body: Table) -> bool:
    """Whether it is a sweep of steps to a target, which has a form and a command of its own."""
    return "target" in body and "runs" not in body


def from_table(name: str, body: Table) -> Spec:
    """The sweep of a TOML table."""
    if has_target(body):
        raise SpecError(name, ["it is a sweep of steps to a target: use `converge` for it."])
    problems = [*_top_problems(body), *_block_problems(body)]
    if problems:
        raise SpecError(name, problems)
    given = {k: body[k] for k in ("title", "about", "epochs", "repeats") if k in body}
    return Spec(
        name=name,
        limits=Limits(**body.get("limits", {})),
        cost=Cost(**body.get("cost", {})),
        defaults=body.get("defaults", {}),
        patterns=body.get("patterns", {}),
        blocks=tuple(body["runs"]),
        **given,
    )


def _top_problems(body: Table) -> list[str]:
    found = [unknown(k, _TOP, "at the top") for k in body if k not in _TOP]
    if not (isinstance(body.get("title"), str) and body["title"].strip()):
        found.append("title: is missing. Say in a line what the sweep is for.")
    if not isinstance(body.get("about", ""), str):
        found.append(f"about: is {shown(body['about'])}; it must be text.")
    for name in ("epochs", "repeats"):
        value = body.get(name, 1)
        if not (_above_zero(value, (int,)) and value <= MOST):
            found.append(f"{name}: is {shown(value)}; it must be a whole number from 1.")
    for name, record in (("limits", Limits), ("cost", Cost)):
        known = tuple(record.__dataclass_fields__)
        found += _number_problems(name, body.get(name, {}), known)
    return found


def _number_problems(name: str, table: Any, known: tuple[str, ...]) -> list[str]:  # noqa: ANN401
    if not isinstance(table, Mapping):
        return [f"{name}: must be a table, as [{name}]."]
    found = [unknown(k, known, f"in [{name}]") for k in table if k not in known]
    for key, value in table.items():
        types = _NUMBERS.get(key)
        if types and not _above_zero(value, types):
            found.append(f"{name}.{key}: is {shown(value)}; it must be a number above 0.")
    if not isinstance(table.get("currency", ""), str):
        found.append(f"{name}.currency: is {shown(table['currency'])}; it must be text.")
    share = table.get("memory_share", 0.5)
    if isinstance(share, int | float) and share > 1:
        found.append(f"limits.memory_share: is {share}; it is a share, at most 1.")
    return found


def _block_problems(body: Table) -> list[str]:
    blocks, patterns = body.get("runs"), body.get("patterns", {})
    if not isinstance(blocks, list) or not blocks:
        return ["runs: is missing. Write at least one [[runs]] block with a workload and a batch."]
    if not isinstance(patterns, Mapping):
        return ['patterns: must be tables, as [patterns."name"].']
    found = factor_problems("[defaults]", body.get("defaults", {}), patterns)
    for name, table in patterns.items():
        found += factor_problems(f'[patterns."{name}"]', table, {})
    for i, block in enumerate(blocks, 1):
        found += factor_problems(f"[[runs]] block {i}", block, patterns)
    return found


def _above_zero(value: Any, types: tuple[type, ...]) -> bool:  # noqa: ANN401 - any value
    number = isinstance(value, types) and not isinstance(value, bool)
    return number and value > 0 and math.isfinite(value)
