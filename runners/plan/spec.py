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
largest batch that fits, then measures the smallest sufficient design (`runners.plan.cases`).

Tables are read by msgspec. It stops at the first problem, so each entry is converted by itself: the
type of its field states the allowed values, the description of its `Meta` says them in words. A
field without a description is not read from a file.
"""

import difflib
import itertools
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, get_args, get_type_hints

from msgspec import Meta, ValidationError, convert

from planner.core import Text, joined, message_of, paragraph, plural
from runners.launch.launcher import Launcher
from runners.launch.launcher import from_table as launcher_of

MOST: Final = 10**12
"""Largest number in a sweep."""
_SHOWN: Final = 80
"""Characters of a wrong value that an error repeats."""

Table = Mapping[str, Any]
String = Annotated[str, Meta(description="text")]
Title = Annotated[str, Meta(pattern=r"\S", description="a line that describes the sweep")]
Truth = Annotated[bool, Meta(description="true or false")]
Count = Annotated[int, Meta(ge=1, le=MOST, description="a whole number from 1 to 1e12")]
Natural = Annotated[int, Meta(ge=0, le=MOST, description="a whole number from 0 to 1e12")]
_POSITIVE: Final = Meta(gt=0, le=MOST)
Positive = Annotated[
    Annotated[int, _POSITIVE] | Annotated[float, _POSITIVE], Meta(description="a number above 0")
]
"""Whole numbers stay whole: digests of sweeps tell 15 from 15.0."""


def words(kind: Any) -> str:  # noqa: ANN401 - a type
    """Return the values of a type in words; empty for one without a description."""
    metas = (m for m in getattr(kind, "__metadata__", ()) if m.description)
    own = next(((m.extra or {}).get("words", m.description) for m in metas), "")
    return own or next(filter(None, map(words, get_args(kind))), "")


def said(allowed: Text) -> dict[str, Any]:
    """Return the entries of a `Meta` that say the allowed values; a description is a plain str."""
    return {"description": str(allowed), "extra": {"words": allowed}}


def fits(value: Any, kind: Any) -> bool:  # noqa: ANN401 - any value, any type
    """Return whether a value is of a type, within its limits."""
    try:
        convert(value, kind)
    except ValidationError:
        return False
    return True


def wrong(where: str, value: Any, kind: Any) -> str:  # noqa: ANN401 - any value, any type
    """Return the error for a value that is not of a type; `where` names its entry."""
    return Text(
        "{where} is {value}; it must be {kind}.", where=where, value=shown(value), kind=words(kind)
    )


def problems(table: Any, record: type, where: str = "") -> list[str]:  # noqa: ANN401 - any value
    """Return the problems of a table that a record is to hold, and of the tables in it."""
    if not isinstance(table, Mapping):
        name = where.removesuffix(".")
        return [
            Text(
                "{name}: is {value}; it must be a table, as [{name}].",
                name=name,
                value=shown(table),
            )
        ]
    hints = get_type_hints(record, include_extras=True)
    entries = {f.name: f for f in fields(record)
               if words(hints[f.name]) or is_dataclass(hints[f.name])}  # fmt: skip
    messages = [unknown(f"{where}{k}:", k, entries) for k in table if k not in entries]
    for name, entry in entries.items():
        kind = hints[name]
        if name not in table:
            if entry.default is MISSING and entry.default_factory is MISSING:
                messages.append(
                    Text(
                        "{where}{name}: is missing. It must be {kind}.",
                        where=where,
                        name=name,
                        kind=words(kind),
                    )
                )
        elif is_dataclass(kind):
            messages += problems(table[name], kind, f"{where}{name}.")  # type: ignore[arg-type]
        elif (record := _record_in(kind)) and isinstance(table[name], Mapping) and table[name]:
            for key, value in table[name].items():
                messages += problems(value, record, f"{where}{name}.{key}.")
        elif not fits(table[name], kind):
            messages.append(wrong(f"{where}{name}:", table[name], kind))
    return messages


def _record_in(kind: Any) -> Any:  # noqa: ANN401 - a type
    """Return the record that a table of tables holds; None for another type."""
    if is_dataclass(kind):
        return kind
    return next(filter(None, map(_record_in, get_args(kind))), None)


def sound(table: Table, record: type) -> dict[str, Any]:
    """Return the entries of a table that fit the fields of a record."""
    hints = get_type_hints(record, include_extras=True)
    return {k: v for k, v in table.items() if k in hints and fits(v, hints[k])}


def shown(value: Any) -> str:  # noqa: ANN401 - any value
    """Return a wrong value for an error message, shortened if long."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def unknown(where: str, name: str, allowed: Iterable[str]) -> str:
    """Return the error for an unknown name, with the closest or all allowed names."""
    names = list(allowed)
    close = difflib.get_close_matches(name, names, 1)
    if close:
        return Text("{where} is unknown. Did you mean {close}?", where=where, close=close[0])
    if not names:
        return Text("{where} is unknown. None are defined.", where=where)
    return Text("{where} is unknown. Choose from: {names}.", where=where, names=", ".join(names))


def _whole(least: int, most: int) -> Any:  # noqa: ANN401 - a type
    allowed = Text("a whole number from {least} to {most}", least=least, most=most)
    return Annotated[int, Meta(ge=least, le=most, **said(allowed))]


def _number(least: float, most: float) -> Any:  # noqa: ANN401 - a type
    either = (
        Annotated[int, Meta(ge=math.ceil(least), le=int(min(most, MOST)))]
        | Annotated[float, Meta(ge=least, le=most)]
    )
    allowed = Text("a number from {least:g} to {most:g}", least=least, most=most)
    return Annotated[either, Meta(**said(allowed))]


def _auto(kind: Any) -> Any:  # noqa: ANN401 - a type
    """Return the type that also allows "auto": chosen for this machine."""
    either = Text('{kind} or "auto"', kind=words(kind))
    return Annotated[kind | Literal["auto"], Meta(**said(either))]


FACTORS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "workload": String,
        "options": Annotated[dict[str, Any], Meta(description="a table")],
        "dataset": String,
        "train_samples": Count,
        "steps_per_epoch": Count,
        "validation_samples": Natural,
        "mode": String,
        "variant": String,
        "backend": _auto(String),
        "engine": _auto(String),
        "device": _auto(String),
        "batch": _auto(Count),
        "epochs": Count,
        "optimizer": String,
        "learning_rate": _number(1e-30, 1e30),
        "precision": String,
        "validation": Truth,
        "augmentation": Truth,
        "storage": String,
        "feed": _auto(String),
        "workers": _whole(1, 1024),
        "multiprocessing": Truth,
        "drop_remainder": Truth,
        "steps_per_execution": Count,
        "jit": _auto(Truth),
        "tuned": Truth,
        "threads": _whole(1, 4096),
        "timing": String,
        "seed": _whole(0, 2**32 - 1),
        "devices": _whole(1, 65_536),
        "nodes": Count,
        "strategy": String,
        "slow_share": _number(0.0, 0.95),
        "wait_s": _number(0.0, 60.0),
        "wait_sd_s": _number(0.0, 60.0),
        "micro_batches": _whole(1, 1024),
        "accelerator": String,
        "pattern": String,
    }
)
"""Types of the factors that a sweep may set, by name."""
_LIMIT: Final = Meta(ge=-MOST, le=MOST)
_OPTION: Final[Any] = Annotated[
    bool | str | Annotated[int, _LIMIT] | Annotated[float, _LIMIT],
    Meta(description="a number or a text"),
]


def factor_problems(where: str, table: Any, patterns: Table) -> list[str]:  # noqa: ANN401
    """Return the problems of a table of factors as sentences; `where` names the table."""
    if not isinstance(table, Mapping):
        return [Text("{where}: must be a table.", where=where)]
    messages = []
    for name, entry in table.items():
        kind = FACTORS.get(name)
        if kind is None:
            messages.append(unknown(f"{where}: {name}", name, FACTORS))
        elif name == "options" and isinstance(entry, list):
            messages.append(
                Text("{where}: options must be one table; lists go into it.", where=where)
            )
        else:
            messages += _value_problems(f"{where}: {name}", entry, kind)
        if name == "options" and isinstance(entry, Mapping):
            for option, values in entry.items():
                messages += _value_problems(f"{where}: options: {option}", values, _OPTION)
        if name == "pattern":
            messages += [unknown(f"{where}: pattern {value!r}", value, patterns)
                         for value in _listed(entry)
                         if isinstance(value, str) and value not in patterns]  # fmt: skip
    return messages


def _listed(entry: Any) -> list[Any]:  # noqa: ANN401 - a value, or a list of them
    return entry if isinstance(entry, list) else [entry]


def _value_problems(where: str, entry: Any, kind: Any) -> list[str]:  # noqa: ANN401
    if entry == []:
        return [Text("{where} is an empty list. Leave it out or give values.", where=where)]
    return [wrong(where, value, kind) for value in _listed(entry) if not fits(value, kind)]


SWEEPS: Final = Path(__file__).parents[1] / "sweeps"
LONGEST_BYTES: Final = 200_000
"""Largest file that is read as a sweep."""
_LONGEST_LINE: Final = 4_000
"""Longest line [characters]: a key of 50,000 dots kept Python's TOML parser busy for 96 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseLimits:
    """Limits of one run, and the number of attempts after a crash or kill."""

    timeout_s: Positive = 1800.0
    memory_share: Annotated[float, Meta(gt=0, le=1, description="a share above 0, at most 1")] = 0.8
    """Share of the memory that is free when the run starts."""
    max_batch: Count = 65_536
    """Upper bound of a search for the largest batch [samples]."""
    attempts: Count = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Prices of measuring; None means not given."""

    currency: String = "USD"
    price_per_hour: Positive | None = None
    price_per_kwh: Positive | None = None
    power_watts: Positive | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A checked sweep. `runs` are its blocks with defaults and patterns not yet filled in."""

    name: str
    title: Title
    about: String = ""
    epochs: Count = 3
    repeats: Count = 1
    limits: CaseLimits = field(default_factory=CaseLimits)
    cost: Cost = field(default_factory=Cost)
    launch: Annotated[Launcher, Meta(description="a table, as [launch]")] = field(
        default_factory=Launcher
    )
    defaults: Annotated[Table, Meta(description="a table of factors, as [defaults]")] = field(
        default_factory=dict
    )
    patterns: Annotated[Mapping[str, Any], Meta(description='tables, as [patterns."name"]')] = (
        field(default_factory=dict)
    )
    runs: Annotated[
        tuple[Any, ...],
        Meta(min_length=1, description="[[runs]] blocks, each with a workload and a batch"),
    ]
    wrong_blocks: frozenset[int] = frozenset()
    """Numbers of blocks that are not expanded: they have problems (see `SpecError.rest`)."""


class SpecError(ValueError):
    """A sweep that cannot be planned; `problems` lists all its problems."""

    def __init__(self, name: str, problems: Iterable[str], rest: Spec | None = None) -> None:
        self.name = name
        self.rest = rest
        """The sweep without its wrong parts: their combinations can be checked as well."""
        self.problems = tuple(dict.fromkeys(problems))
        lines = joined("\n  ", self.problems)
        super().__init__(plural(len(self.problems), "{count} problem in {name}:\n  {lines}",
                                "{count} problems in {name}:\n  {lines}",
                                name=name, lines=lines))  # fmt: skip


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
    hint = Text("Did you mean {close}?", close=close[0]) if close else ""
    text = paragraph("there is no such file, and no shipped sweep of that name.", hint)
    if _is_there(path) and path.is_file():
        text = Text("it is not a TOML file: a sweep's name ends in .toml.")
    shipped_names = Text("Shipped sweeps: {names}.", names=", ".join(names))
    raise SpecError(named, [paragraph(text, shipped_names)])


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
        reason = error.strerror if isinstance(error, OSError) else message_of(error)
        raise SpecError(
            path.name, [Text("it cannot be read as TOML: {reason}", reason=reason)]
        ) from error


def _text(path: Path) -> str:
    if path.exists() and not path.is_file():  # a pipe would block
        raise ValueError("it is not a plain file. Give the TOML file of a sweep.")
    with path.open("rb") as file:
        data = file.read(LONGEST_BYTES + 1)
    if len(data) > LONGEST_BYTES:
        raise ValueError(Text("it is longer than {most:,} bytes.", most=LONGEST_BYTES))
    text = data.decode()
    long = [n for n, line in enumerate(text.split("\n"), 1) if len(line) > _LONGEST_LINE]
    if long:
        raise ValueError(
            Text(
                "line {number} is longer than {most:,} characters. Break it.",
                number=long[0],
                most=_LONGEST_LINE,
            )
        )
    return text


def has_target(body: Table) -> bool:
    """Return whether the table is a sweep of steps to a target (command `converge`)."""
    return "target" in body and "runs" not in body


def from_table(name: str, body: Table) -> Spec:
    """Return the sweep of a TOML table."""
    if has_target(body):
        raise SpecError(name, ["it is a sweep of steps to a target. Use `converge`."])
    launch: Any = body.get("launch", {})
    of_launch: list[str] = []
    if isinstance(launch, Mapping):
        launch, of_launch = launcher_of(launch)
    whole = {**body, "launch": launch}
    of_factors, rest = _factors(name, body)
    if messages := [*problems(whole, Spec), *of_launch, *of_factors]:
        raise SpecError(name, messages, rest)
    return convert({**whole, "name": name}, Spec)


def _factors(name: str, body: Table) -> tuple[list[str], Spec | None]:
    """Return the problems of all factors, and a sweep of the sound blocks only.

    None for the sweep if what its blocks share is wrong too.
    """
    defaults, patterns, blocks = (
        body.get("defaults", {}),
        body.get("patterns", {}),
        body.get("runs"),
    )
    if not isinstance(patterns, Mapping) or not isinstance(blocks, list):
        return [], None
    sound = isinstance(defaults, Mapping)
    shared = factor_problems("[defaults]", defaults, patterns) if sound else []
    for pattern, entry in patterns.items():
        shared += factor_problems(f'[patterns."{pattern}"]', entry, {})
    each = [
        factor_problems(Text("[[runs]] block {number}", number=i), b, patterns)
        for i, b in enumerate(blocks, 1)
    ]
    wrong_blocks = frozenset(i for i, messages in enumerate(each, 1) if messages)
    rest = Spec(
        name=name,
        title="",
        defaults=defaults,
        patterns=patterns,
        runs=tuple(blocks),
        wrong_blocks=wrong_blocks,
    )
    return [*shared, *itertools.chain(*each)], rest if sound and not shared else None
