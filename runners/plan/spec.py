"""A sweep as a TOML file; all its problems are reported at once.

    title = "What it is for"            about = "..."
    epochs = 3                          repeats = 1
    [limits]    timeout_s, memory_share, max_batch, attempts
    [cost]      currency, price_per_hour, price_per_kwh, power_watts
    [launch]    how runs of several processes are started (`runners.launch.launcher`)
    [defaults]  factors that hold for all [[runs]]
    [patterns."name"]  factors set together
    [[runs]]    factors; a list means "each of these"; `pattern = ["name", ...]` names patterns

Every [[runs]] block is the cross product of its lists. `auto` as a batch list first finds the
largest batch that fits, then measures the smallest sufficient design (`runners.plan.design`).
"""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from runners.launch.launcher import Launcher
from runners.launch.launcher import from_table as launcher_of

__all__ = [
    "FACTORS",
    "LONGEST_BYTES",
    "MOST",
    "SWEEPS",
    "Cost",
    "Factor",
    "Limits",
    "Spec",
    "SpecError",
    "Table",
    "find",
    "from_table",
    "has_target",
    "read",
    "table",
]


MOST: Final = 10**12
"""Largest whole number in a sweep."""
_SHOWN: Final = 80
"""Characters of a wrong value that an error repeats."""

Table = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Factor:
    """Allowed values of one factor."""

    types: tuple[type, ...]
    at_least: float | None = None
    automatic: bool = False
    """Whether "auto" is allowed: chosen for this machine."""
    at_most: float = MOST


_WHOLE, _TRUTH, _TEXT = (int,), (bool,), (str,)
FACTORS: Final[Mapping[str, Factor]] = MappingProxyType(
    {
        "workload": Factor(_TEXT),
        "options": Factor((dict,)),
        "dataset": Factor(_TEXT),
        "train_samples": Factor(_WHOLE, 1),
        "steps_per_epoch": Factor(_WHOLE, 1),
        "validation_samples": Factor(_WHOLE, 0),
        "mode": Factor(_TEXT),
        "variant": Factor(_TEXT),
        "backend": Factor(_TEXT, automatic=True),
        "engine": Factor(_TEXT, automatic=True),
        "device": Factor(_TEXT, automatic=True),
        "batch": Factor(_WHOLE, 1, automatic=True),
        "epochs": Factor(_WHOLE, 1),
        "optimizer": Factor(_TEXT),
        "learning_rate": Factor((int, float), 1e-30, at_most=1e30),
        "precision": Factor(_TEXT),
        "validation": Factor(_TRUTH),
        "augmentation": Factor(_TRUTH),
        "storage": Factor(_TEXT),
        "feed": Factor(_TEXT, automatic=True),
        "workers": Factor(_WHOLE, 1, at_most=1024),
        "multiprocessing": Factor(_TRUTH),
        "drop_remainder": Factor(_TRUTH),
        "steps_per_execution": Factor(_WHOLE, 1),
        "jit": Factor(_TRUTH, automatic=True),
        "threads": Factor(_WHOLE, 1, at_most=4096),
        "timing": Factor(_TEXT),
        "seed": Factor(_WHOLE, 0, at_most=2**32 - 1),
        "devices": Factor(_WHOLE, 1, at_most=65_536),
        "nodes": Factor(_WHOLE, 1),
        "strategy": Factor(_TEXT),
        "slow_share": Factor((int, float), 0.0, at_most=0.95),
        "wait_s": Factor((int, float), 0.0, at_most=60.0),
        "wait_sd_s": Factor((int, float), 0.0, at_most=60.0),
        "micro_batches": Factor(_WHOLE, 1, at_most=1024),
        "accelerator": Factor(_TEXT),
        "pattern": Factor(_TEXT),
    }
)
"""Factors that a sweep may set, by name."""


def factor_problems(where: str, table: Any, patterns: Table) -> list[str]:  # noqa: ANN401
    """Return the problems of a table of factors as sentences; `where` names the table."""
    if not isinstance(table, Mapping):
        return [f"{where}: must be a table."]
    messages = []
    for name, entry in table.items():
        factor = FACTORS.get(name)
        if factor is None:
            messages.append(unknown(name, tuple(FACTORS), f"in {where}"))
            continue
        values = entry if isinstance(entry, list) else [entry]
        if not values:
            messages.append(f"{where}: {name} is an empty list. Leave it out or give values.")
        if name == "options" and isinstance(entry, list):
            messages.append(f"{where}: options must be one table; lists go into it.")
        messages += [
            f"{where}: {text}" for value in values if (text := _value_problem(name, factor, value))
        ]
        if name == "pattern":
            messages += [unknown(v, tuple(patterns), f"in {where} (pattern)")
                      for v in values if isinstance(v, str) and v not in patterns]  # fmt: skip
    return messages


def _value_problem(name: str, factor: Factor, value: Any) -> str | None:  # noqa: ANN401
    if value == "auto" and factor.automatic:
        return None
    sound = isinstance(value, factor.types) and (
        factor.types == _TRUTH or not isinstance(value, bool)
    )
    if not sound:
        kinds = {int: "a whole number", float: "a number", bool: "true or false", str: "text",
                 dict: "a table"}  # fmt: skip
        expected = kinds[factor.types[-1]] + (' or "auto"' if factor.automatic else "")
        return f"{name} is {shown(value)}; it must be {expected}."
    if factor.at_least is not None and not factor.at_least <= value <= factor.at_most:
        return (
            f"{name} is {shown(value)}; it must be at least {factor.at_least:g} "
            f"and at most {factor.at_most:g}."
        )
    return _option_problem(value) if isinstance(value, dict) else None


def _option_problem(options: Table) -> str | None:
    """Return the first problem of a table of options: numbers, texts, booleans or lists."""
    for name, entry in options.items():
        for value in entry if isinstance(entry, list) else [entry]:
            plain = isinstance(value, str | bool) or (
                isinstance(value, int | float) and abs(value) <= MOST
            )
            if not plain:
                return f"options: {name} is {shown(value)}; it must be a number or a text."
        if entry == []:
            return f"options: {name} is an empty list. Leave it out or give values."
    return None


def shown(value: Any) -> str:  # noqa: ANN401 - any value
    """Return a wrong value for an error message, shortened if long."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def unknown(name: str, allowed: tuple[str, ...], where: str) -> str:
    """Return an error for an unknown name, with the closest or all allowed names."""
    close = difflib.get_close_matches(name, allowed, 1)
    listed = f"Choose from: {', '.join(allowed)}." if allowed else "None are defined."
    hint = f"Did you mean {close[0]}?" if close else listed
    return f"{name}: is unknown {where}. {hint}"


SWEEPS: Final = Path(__file__).parents[1] / "sweeps"
LONGEST_BYTES: Final = 200_000
"""Largest file that is read as a sweep."""
_LONGEST_LINE: Final = 4_000
"""Longest line [characters]: a key of 50,000 dots kept Python's TOML parser busy for 96 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one run, and the number of attempts after a crash or kill."""

    timeout_s: float = 1800.0
    memory_share: float = 0.8
    """Share of the memory that is free when the run starts."""
    max_batch: int = 65_536
    """Upper bound of a search for the largest batch [samples]."""
    attempts: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Prices of measuring; None means not given."""

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
    launch: Launcher = field(default_factory=Launcher)
    defaults: Table = field(default_factory=dict)
    patterns: Mapping[str, Table] = field(default_factory=dict)
    blocks: tuple[Table, ...] = ()
    wrong_blocks: frozenset[int] = frozenset()
    """Numbers of blocks that are not expanded: they have problems (see `SpecError.rest`)."""


class SpecError(ValueError):
    """A sweep that cannot be planned; `problems` lists all its problems."""

    def __init__(self, name: str, problems: Iterable[str], rest: Spec | None = None) -> None:
        self.name = name
        self.rest = rest
        """The sweep without its wrong parts: their combinations can be checked as well."""
        self.problems = tuple(dict.fromkeys(problems))
        lines = "\n  ".join(self.problems)
        super().__init__(f"{len(self.problems)} problem(s) in {name}:\n  {lines}")


_TOP: Final = ("title", "about", "epochs", "repeats", "limits", "cost", "launch", "defaults",
               "patterns", "runs")  # fmt: skip
_NUMBERS: Final[Mapping[str, tuple[type, ...]]] = {
    "timeout_s": (int, float), "memory_share": (int, float), "max_batch": (int,),
    "attempts": (int,), "price_per_hour": (int, float), "price_per_kwh": (int, float),
    "power_watts": (int, float),
}  # fmt: skip


def find(named: str) -> Path:
    """Return the file of a sweep, from a path or the name of a shipped sweep.

    Raises:
        SpecError: there is no such file or name.
    """
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
        text = "it is not a TOML file: a sweep's name ends in .toml."
    raise SpecError(named, [f"{text} Shipped sweeps: {', '.join(names)}."])


def _is_file(path: Path) -> bool:
    return _is_there(path) and path.is_file()


def _is_there(path: Path) -> bool:
    """Return whether the path exists; False for invalid names (too long, or with a NUL)."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def read(path: Path) -> Spec:
    """Return the sweep in a TOML file; SpecError lists all its problems."""
    return from_table(path.stem, table(path))


def table(path: Path) -> Table:
    """Return the TOML table in a file; SpecError if it is invalid, too long or not a file."""
    try:
        return tomllib.loads(_text(path))
    except (OSError, ValueError, RecursionError) as error:  # TOML and UTF-8 errors are ValueErrors
        reason = error.strerror if isinstance(error, OSError) else error
        raise SpecError(path.name, [f"it cannot be read as TOML: {reason}"]) from error


def _text(path: Path) -> str:
    if path.exists() and not path.is_file():  # a pipe would block
        raise ValueError("it is not a plain file. Give the TOML file of a sweep.")
    with path.open("rb") as file:
        data = file.read(LONGEST_BYTES + 1)
    if len(data) > LONGEST_BYTES:
        raise ValueError(f"it is longer than {LONGEST_BYTES:,} bytes.")
    text = data.decode()
    long = [n for n, line in enumerate(text.split("\n"), 1) if len(line) > _LONGEST_LINE]
    if long:
        raise ValueError(f"line {long[0]} is longer than {_LONGEST_LINE:,} characters. Break it.")
    return text


def has_target(body: Table) -> bool:
    """Return whether the table is a sweep of steps to a target (command `converge`)."""
    return "target" in body and "runs" not in body


def from_table(name: str, body: Table) -> Spec:
    """Return the sweep of a TOML table."""
    if has_target(body):
        raise SpecError(name, ["it is a sweep of steps to a target. Use `converge`."])
    problems = [*_top_problems(body), *_block_problems(body)]
    if problems:
        raise SpecError(name, problems, _rest(name, body))
    top = {k: body[k] for k in ("title", "about", "epochs", "repeats") if k in body}
    return Spec(
        name=name,
        limits=Limits(**body.get("limits", {})),
        cost=Cost(**body.get("cost", {})),
        launch=launcher_of(body.get("launch", {}))[0],
        defaults=body.get("defaults", {}),
        patterns=body.get("patterns", {}),
        blocks=tuple(body["runs"]),
        **top,
    )


def _rest(name: str, body: Table) -> Spec | None:
    """Return the sound blocks of a wrong sweep; None if what they share is wrong too."""
    blocks, patterns = body.get("runs"), body.get("patterns", {})
    if not isinstance(blocks, list) or not isinstance(patterns, Mapping):
        return None
    shared = [("defaults", body.get("defaults", {}), patterns)]
    shared += [(pattern, table, {}) for pattern, table in patterns.items()]
    if any(factor_problems(*part) for part in shared):
        return None
    wrong = {i for i, block in enumerate(blocks, 1) if factor_problems("", block, patterns)}
    return Spec(
        name=name,
        title="",
        defaults=body.get("defaults", {}),
        patterns=patterns,
        blocks=tuple(blocks),
        wrong_blocks=frozenset(wrong),
    )


def _top_problems(body: Table) -> list[str]:
    messages = [unknown(k, _TOP, "at the top") for k in body if k not in _TOP]
    if not (isinstance(body.get("title"), str) and body["title"].strip()):
        messages.append("title: is missing. Describe the sweep in one line.")
    if not isinstance(body.get("about", ""), str):
        messages.append(f"about: is {shown(body['about'])}; it must be text.")
    for name in ("epochs", "repeats"):
        value = body.get(name, 1)
        if not (_above_zero(value, (int,)) and value <= MOST):
            messages.append(f"{name}: is {shown(value)}; it must be a whole number from 1.")
    for name, record in (("limits", Limits), ("cost", Cost)):
        allowed = tuple(record.__dataclass_fields__)
        messages += _number_problems(name, body.get(name, {}), allowed)
    launch = body.get("launch", {})
    if not isinstance(launch, Mapping):
        return [*messages, "launch: must be a table, as [launch]."]
    return [*messages, *launcher_of(launch)[1]]


def _number_problems(name: str, table: Any, allowed: tuple[str, ...]) -> list[str]:  # noqa: ANN401
    if not isinstance(table, Mapping):
        return [f"{name}: must be a table, as [{name}]."]
    messages = [unknown(k, allowed, f"in [{name}]") for k in table if k not in allowed]
    for key, value in table.items():
        types = _NUMBERS.get(key)
        if types and not _above_zero(value, types):
            messages.append(f"{name}.{key}: is {shown(value)}; it must be a number above 0.")
    if not isinstance(table.get("currency", ""), str):
        messages.append(f"{name}.currency: is {shown(table['currency'])}; it must be text.")
    share = table.get("memory_share", 0.5)
    if isinstance(share, int | float) and share > 1:
        messages.append(f"limits.memory_share: is {share}; it is a share, at most 1.")
    return messages


def _block_problems(body: Table) -> list[str]:
    blocks, patterns = body.get("runs"), body.get("patterns", {})
    if not isinstance(blocks, list) or not blocks:
        return ["runs: is missing. Write at least one [[runs]] block with a workload and a batch."]
    if not isinstance(patterns, Mapping):
        return ['patterns: must be tables, as [patterns."name"].']
    messages = factor_problems("[defaults]", body.get("defaults", {}), patterns)
    for name, table in patterns.items():
        messages += factor_problems(f'[patterns."{name}"]', table, {})
    for i, block in enumerate(blocks, 1):
        messages += factor_problems(f"[[runs]] block {i}", block, patterns)
    return messages


def _above_zero(value: Any, types: tuple[type, ...]) -> bool:  # noqa: ANN401 - any value
    number = isinstance(value, types) and not isinstance(value, bool)
    return number and value > 0 and math.isfinite(value)
