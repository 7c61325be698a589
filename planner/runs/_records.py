"""Turn plain rows into the run table, after telling everything that is wrong with them at once.

Contradictions between the numbers of one run.

A part of a time is at most the whole, and two ways to one number agree. Contradictions are refused
when a row is added; earlier files stay readable (docs/decisions/0025). Tables are rounded, so
numbers may differ by a tenth (`SLACK`). A speed or step time better than its epoch may differ more
(`OUTSIDE_STEPS`): an epoch has more than its steps.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeGuard

import pyarrow as pa

from planner.core import MAX_ENTRIES, MAX_TEXT, UNITS, Text, joined, plural
from planner.runs._schema import (
    ARROW_SCHEMA,
    BY_NAME,
    COLUMNS,
    IDENTITY,
    NESTED,
    REAL,
    SCHEMA_VERSION,
    Column,
)

Row = Mapping[str, Any]

SLACK: Final = 1.1
"""Numbers that should agree may miss each other by this factor: tables are rounded."""
OUTSIDE_STEPS: Final = 2.0
"""Largest ratio of an epoch's time to that from samples/s: it includes loading and start."""
AHEAD: Final = timedelta(days=1)
"""How far the date of a run may be ahead of the clock here: other machines have other clocks."""


def contradictions_in(row: Row) -> list[tuple[str, str]]:
    """Return each number of a sound row that another one contradicts: its column and a sentence."""
    return [*_starts(row), *_later_epochs(row), *_steps(row), *_samples(row), *_speed(row),
            *_whole_run(row)]  # fmt: skip


def _starts(row: Row) -> Iterator[tuple[str, str]]:
    until, first, start = (
        row.get(n) for n in ("until_first_epoch_end_s", "first_epoch_s", "pre_train_s")
    )
    alone = first is None or start is None  # `planner.runs._records` checks both against their sum
    for name, part in (("first_epoch_s", first), ("pre_train_s", start)):
        if until is not None and part is not None and alone and part > SLACK * until:
            text = Text(
                "is {until} s, but {name}, which is part of it, is {part} s. Correct one.",
                until=until,
                name=name,
                part=part,
            )
            yield "until_first_epoch_end_s", text
    step = row.get("first_step_s")
    if step is not None and first is not None and step > SLACK * first:
        yield (
            "first_step_s",
            Text(
                "is {step} s, but first_epoch_s is {first} s. Correct one.", step=step, first=first
            ),
        )


def _later_epochs(row: Row) -> Iterator[tuple[str, str]]:
    mean, sd, check = (
        row.get(n) for n in ("later_epoch_mean_s", "later_epoch_sd_s", "validation_s")
    )
    later = (row.get("epochs_measured") or 1) - 1
    if mean is not None and sd is not None and later > 1:
        most = mean * math.sqrt(later - 1)  # one long epoch, the others next to nothing
        if sd > SLACK * most:
            text = Text(
                "is {sd} s; {later} epochs of {mean} s on average reach {most:.6g} s at most.",
                sd=sd,
                later=later,
                mean=mean,
                most=most,
            )
            yield "later_epoch_sd_s", text
    name = "later_epoch_mean_s" if mean is not None else "first_epoch_s"
    epoch = row.get(name)
    if check is not None and epoch is not None and check > SLACK * epoch:
        text = Text(
            "is {check} s, but an epoch with its validation is {epoch} s ({name}). Correct one.",
            check=check,
            epoch=epoch,
            name=name,
        )
        yield "validation_s", text
    for entry in row.get("epochs") or ():
        check, epoch = entry.get("validation_s"), entry["epoch_s"]
        if check is not None and check > SLACK * epoch:
            text = Text(
                "epoch {epoch} took {time} s, but its validation {check} s.",
                epoch=entry["epoch"],
                time=epoch,
                check=check,
            )
            yield "epochs", Text("{text} Correct one.", text=text)
            break


def _steps(row: Row) -> Iterator[tuple[str, str]]:
    low, middle, high = (row.get(f"step_p{n}_s") for n in (10, 50, 90))
    outer = high if middle is None else middle
    named = (("step_p10_s", low, "step_p90_s" if middle is None else "step_p50_s", outer),
             ("step_p50_s", middle, "step_p90_s", high))  # fmt: skip
    for name, less, other, more in named:
        if less is not None and more is not None and less > more:
            yield (
                name,
                Text(
                    "is {less} s, above {other} of {more} s. Correct one.",
                    less=less,
                    other=other,
                    more=more,
                ),
            )
    step, steps, mean = (row.get(n) for n in ("step_s", "steps_per_epoch", "later_epoch_mean_s"))
    if step is not None and steps and mean is not None and step * steps > SLACK * mean:
        yield (
            "step_s",
            Text(
                "is {step} s, so {steps} steps take {total:.6g} s, but an epoch takes {mean} s "
                "(later_epoch_mean_s). Correct one.",
                step=step,
                steps=steps,
                total=step * steps,
                mean=mean,
            ),
        )


def _samples(row: Row) -> Iterator[tuple[str, str]]:
    samples, steps, batch = (
        row.get(n) for n in ("samples_per_epoch", "steps_per_epoch", "global_batch_size")
    )
    if samples and steps and batch:
        # The last batch may be a partial one, or the feed drops it.
        most, least = max(SLACK * steps * batch, (steps + 1) * batch - 1), (steps - 1) * batch
        if samples > most or SLACK * samples < least:
            processed = steps * batch
            text = Text(
                "is {samples}, but {steps} steps of {batch} are {processed}. Correct one.",
                samples=samples,
                steps=steps,
                batch=batch,
                processed=processed,
            )
            yield "samples_per_epoch", text
    for entry in row.get("epochs") or ():
        timed = entry.get("samples")
        if samples and timed and not 1.0 / SLACK <= timed / samples <= SLACK:
            text = Text(
                "epoch {epoch} has {timed} samples, but samples_per_epoch is {samples}",
                epoch=entry["epoch"],
                timed=timed,
                samples=samples,
            )
            yield "epochs", Text("{text}. Correct one.", text=text)
            break


def _speed(row: Row) -> Iterator[tuple[str, str]]:
    """Yield samples/s against the samples and the time of an epoch, without its validation."""
    speed, samples, mean = (
        row.get(n) for n in ("throughput", "samples_per_epoch", "later_epoch_mean_s")
    )
    if speed is None or not samples or mean is None:
        return
    check = row.get("validation_s")
    slowest, training = samples / mean, mean - min(check or 0.0, mean)
    fastest = samples / training if training > 0.0 else math.inf
    stated = check is not None or row.get("validation") is False
    if SLACK * speed < slowest or (stated and speed > OUTSIDE_STEPS * fastest):
        text = Text(
            "is {speed} samples/s, but {samples} samples in {mean} s make {slowest:.6g}.",
            speed=speed,
            samples=samples,
            mean=mean,
            slowest=slowest,
        )
        yield "throughput", Text("{text} Correct one.", text=text)


def _whole_run(row: Row) -> Iterator[tuple[str, str]]:
    """Yield contradictions of the whole run and its parts, of which any may be missing."""
    total, until = row.get("total_s"), row.get("until_first_epoch_end_s")
    if total is None:
        return
    first = (row.get("pre_train_s") or 0.0) + (row.get("first_epoch_s") or 0.0)
    later = (row.get("epochs_measured") or 1) - 1
    parts = (row.get("startup_s") or 0.0) + (first if until is None else until)
    parts += (row.get("later_epoch_mean_s") or 0.0) * later
    if parts > SLACK * total:
        text = Text(
            "is {total} s, but start-up and epochs add up to {parts:.6g} s. Correct one.",
            total=total,
            parts=parts,
        )
        yield "total_s", text


_WHOLE_ITEMS: Final = frozenset({"epoch", "step", "samples"})
_MAY_DIVERGE: Final = frozenset({"loss", "metric", "value"})
_HALF_A_CHARACTER: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordProblem:
    """One thing wrong with one row: where, what, and what to do next."""

    row: int
    column: str
    message: str

    def __str__(self) -> str:
        return f"row {self.row + 1}, {self.column}: {self.message}"


class RecordError(ValueError):
    """Rows that cannot be stored; `problems` has all of them."""

    def __init__(self, problems: Sequence[RecordProblem]) -> None:
        self.problems = tuple(problems)
        count, shown = len(problems), [str(p) for p in self.problems[:20]]
        more = Text("and {more} more", more=count - 20) if count > 20 else ""
        heading = plural(count, "{count} problem in the rows:", "{count} problems in the rows:")
        super().__init__(joined("\n  ", (heading, *shown, more)))


def run_id(row: Row) -> str:
    """Return the first 32 hex digits of the sha256 of the identity columns that are not NULL.

    Leaving NULLs out keeps the id of an old run when a later version adds a column.
    """
    identity = {n: _as_kept(BY_NAME[n], row[n]) for n in IDENTITY if row.get(n) is not None}
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _as_kept(column: Column, value: Any) -> Any:  # noqa: ANN401 - any cell
    """Return the value as the file keeps it.

    A whole learning rate of 1 is 1.0 there, and one run.
    """
    return _real(value) if column.type == REAL else value


def _real(value: Any) -> Any:  # noqa: ANN401 - any cell
    whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if whole and _finite(value) else value


def complete(row: Row) -> dict[str, Any]:
    """Return the row with schema_version, recorded_at (now, if absent) and its run_id filled in."""
    full = dict(row)
    full["schema_version"] = SCHEMA_VERSION
    full.setdefault("recorded_at", datetime.now(UTC))
    full["run_id"] = run_id(full)
    return full


def check_rows(rows: Sequence[Row]) -> list[RecordProblem]:
    """Return every problem of every row; an empty list where all is well."""
    return [p for i, row in enumerate(rows) for p in _row_problems(i, row)]


def table_from_rows(rows: Iterable[Row]) -> pa.Table:
    """Return run table (columns of `planner.runs._schema`), or RecordError with all problems."""
    whole = [complete(row) for row in rows]
    problems = check_rows(whole) + _impossible(whole) + _duplicates(whole)
    if problems:
        raise RecordError(problems)
    return pa.Table.from_pylist([_row_as_kept(row) for row in whole], schema=ARROW_SCHEMA)


def _row_as_kept(row: Row) -> dict[str, Any]:
    """Return whole numbers as reals where a real is kept.

    Arrow takes none above 2**53 by itself.
    """
    kept = {name: _as_kept(BY_NAME[name], value) for name, value in row.items()}
    for name in NESTED:
        kept[name] = row.get(name) and [
            {key: value if key in _WHOLE_ITEMS else _real(value) for key, value in item.items()}
            for item in row[name]
        ]
    return kept


def _impossible(rows: Sequence[Row]) -> list[RecordProblem]:
    """Return numbers that contradict each other, and dates in the future: refused when added.

    Files from before stay readable.
    """
    now = datetime.now(UTC)
    return [
        RecordProblem(row=i, column=column, message=text)
        for i, row in enumerate(rows)
        if not any(_value_problem(c, row.get(c.name)) for c in COLUMNS)
        for column, text in (*_future(row, now), *contradictions_in(row))
    ]


def _future(row: Row, now: datetime) -> Iterator[tuple[str, str]]:
    if row["recorded_at"] - now > AHEAD:
        yield (
            "recorded_at",
            Text(
                "is {when:%Y-%m-%d %H:%M} UTC, in the future: the clock here says "
                "{now:%Y-%m-%d %H:%M} UTC. Correct the date, or the clock that is wrong.",
                when=row["recorded_at"].astimezone(UTC),
                now=now,
            ),
        )


def _duplicates(rows: Sequence[Row]) -> list[RecordProblem]:
    first: dict[str, int] = {}
    problems = []
    for i, row in enumerate(rows):
        before = first.setdefault(row["run_id"], i)
        if before != i:
            text = Text(
                "is the same run as row {before} (all identity columns are equal). "
                "Number the repeats in `repeat`, or drop one of the two.",
                before=before + 1,
            )
            problems.append(RecordProblem(row=i, column="run_id", message=text))
    return problems


def _row_problems(i: int, row: Row) -> list[RecordProblem]:
    unknown = [
        RecordProblem(
            row=i, column=str(name), message="is not a column. Put it into the JSON map `extra`."
        )
        for name in row
        if name not in BY_NAME
    ]
    values = [
        RecordProblem(row=i, column=c.name, message=text)
        for c in COLUMNS
        if ((value := row.get(c.name)) is not None or c.required)
        and (text := _value_problem(c, value))
    ]
    return unknown + values + ([] if values else _cross_problems(i, row))


def _value_problem(column: Column, value: Any) -> str | None:  # noqa: ANN401 - any cell
    if value is None:
        return "is missing. Every run needs it." if column.required else None
    if column.group == "nested":
        return _nested_problem(column, value)
    return _type_problem(column, value) or _range_problem(column, value)


def _type_problem(column: Column, value: Any) -> str | None:  # noqa: ANN401 - any cell
    kind = column.type
    if pa.types.is_string(kind):
        return _text_problem(column, value)
    if pa.types.is_boolean(kind):
        return (
            None
            if isinstance(value, bool)
            else Text("is {value!r}; it must be true or false.", value=value)
        )
    if pa.types.is_integer(kind):
        return (
            None if _whole(value) else Text("is {value!r}; it must be a whole number.", value=value)
        )
    if pa.types.is_timestamp(kind):
        return _time_problem(value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return None if number else Text("is {value!r}; it must be a number.", value=value)


def _time_problem(value: Any) -> str | None:  # noqa: ANN401 - any cell
    if not isinstance(value, datetime) or value.tzinfo is None:
        shown = value.isoformat() if isinstance(value, datetime) else value
        return Text("is {value!r}; it must be a time with a time zone.", value=shown)
    try:
        value.astimezone(UTC)
    except OverflowError:
        when = value.isoformat()
        return Text("is {when!r}, beyond the calendar in UTC. Correct it.", when=when)
    return None


def _whole(value: Any) -> TypeGuard[int]:  # noqa: ANN401 - any cell
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond every float
        return False


def _text_problem(column: Column, value: Any) -> str | None:  # noqa: ANN401 - any cell
    if not isinstance(value, str):
        return Text("is {value!r}; it must be text.", value=value)
    if len(value) > MAX_TEXT:
        return Text(
            "has {value} characters; at most {max_text} are kept. Shorten it.",
            value=len(value),
            max_text=MAX_TEXT,
        )
    if _HALF_A_CHARACTER.search(value):
        return "holds half a character (a lone surrogate). Read the text again as UTF-8."
    if not value.strip():
        return "is empty. Leave it out instead: missing is NULL."
    if column.choices and value not in column.choices:
        return Text(
            "is {value!r}; it must be one of {choices}.",
            value=value,
            choices=", ".join(column.choices),
        )
    return _json_problem(value) if column.name == "extra" else None


def _json_problem(value: str) -> str | None:
    try:
        parsed = json.loads(value, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        return Text("is not JSON ({error}). Write a JSON object.", error=error)
    return None if isinstance(parsed, dict) else "is JSON but not an object. Write {...}."


def _no_constant(name: str) -> None:
    raise ValueError(Text("{name} is not a JSON value", name=name))


def _range_problem(column: Column, value: Any) -> str | None:  # noqa: ANN401 - any cell
    if isinstance(value, str | bool | datetime):
        return None
    unit = f" {column.unit}" if column.unit else ""
    if not _finite(value):
        return Text(
            "is {value}. A number must be finite; leave it out where it is not known.", value=value
        )
    if column.rule == "positive" and value <= 0:
        return Text(
            "is {value}{unit}. It must be above 0; leave it out where it is not known.",
            value=value,
            unit=unit,
        )
    if column.rule == "not negative" and value < 0:
        return Text("is {value}{unit}. It must not be negative.", value=value, unit=unit)
    if value not in column.span:
        words = column.span.words(column.unit)
        return Text(
            "is {value}{unit}; it must be from {words}. Correct it or leave it out.",
            value=value,
            unit=unit,
            words=words,
        )
    return None


def list_problem(name: str, value: Any) -> str | None:  # noqa: ANN401 - any cell
    """Return the problem of a run's epochs, evaluations or steps, or None."""
    return None if value is None else _nested_problem(BY_NAME[name], value)


def _nested_problem(column: Column, value: Any) -> str | None:  # noqa: ANN401 - any cell
    if not isinstance(value, Sequence) or isinstance(value, str):
        return Text("is {name}; it must be a list of records.", name=type(value).__name__)
    if len(value) > MAX_ENTRIES:
        return Text(
            "has {value:,} entries; at most {max_entries:,} are stored. Shorten it.",
            value=len(value),
            max_entries=MAX_ENTRIES,
        )
    names = {field.name for field in column.type.value_type}
    key = column.type.value_type.field(0).name
    before = 0
    for n, item in enumerate(value):
        if not isinstance(item, Mapping) or set(item) - names:
            return Text(
                "item {number} must be a record with only {names}.",
                number=n + 1,
                names=", ".join(sorted(names)),
            )
        at = item.get(key)
        if not _whole(at) or at <= before:
            return Text(
                "item {number}: {key} is {at!r}; it must grow from 1.", number=n + 1, key=key, at=at
            )
        before = at
        if bad := _item_problem(column, item):
            return f"{key} {at} {bad}"
    return None


def _is_usual(name: str, number: Any) -> bool:  # noqa: ANN401 - any cell
    """Return whether nothing can be wrong with a number: most are, and few need every rule."""
    if name in _WHOLE_ITEMS:
        return type(number) is int and 1 <= number <= UNITS["steps"].most
    if type(number) is not float:
        return False
    return name in _MAY_DIVERGE or (
        name.endswith("_s") and UNITS["s"].least <= number <= UNITS["s"].most
    )


def _item_problem(column: Column, item: Row) -> str | None:
    for name, number in item.items():
        if number is None or _is_usual(name, number):
            continue
        if isinstance(number, bool) or not isinstance(number, int | float):
            return Text("has {name} {number!r}; it must be a number.", name=name, number=number)
        if name in _WHOLE_ITEMS and (not _whole(number) or number < 0):
            return Text(
                "has {name} {number!r}; it must be a whole number, not negative.",
                name=name,
                number=number,
            )
        diverged = name in _MAY_DIVERGE and isinstance(number, float)
        if not diverged and not _finite(number):  # a diverged loss is a fact
            return Text("took {name}={number}. A time must be finite.", name=name, number=number)
        if name.endswith("_s") and (number < 0 or (number == 0 and name in {"epoch_s", "step_s"})):
            return Text(
                "took {number} s ({name}). A time must be above 0. Fix it or mark the run.",
                number=number,
                name=name,
            )
        unit = "s" if name.endswith("_s") else "steps" if name in _WHOLE_ITEMS else None
        if unit and number not in UNITS[unit]:
            return Text(
                "has {name} {number!r}; it must be from {words}. Correct it.",
                name=name,
                number=number,
                words=UNITS[unit].words(""),
            )
    needed = {"epochs": "epoch_s", "steps": "step_s"}.get(column.name)
    return Text("has no {needed}.", needed=needed) if needed and item.get(needed) is None else None


def _cross_problems(i: int, row: Row) -> list[RecordProblem]:
    """Return problems between columns; checked only if every single value is sound."""
    problems: list[tuple[str, str]] = []
    if row["status"] != "ok" and row.get("status_reason") is None:
        problems.append(
            (
                "status_reason",
                Text("is missing. Say why the run ended as {status}.", status=row["status"]),
            )
        )
    epochs, count = row.get("epochs"), row.get("epochs_measured")
    if epochs is not None and count is not None and len(epochs) != count:
        problems.append(
            (
                "epochs",
                Text(
                    "has {epochs} entries but epochs_measured is {count}.",
                    epochs=len(epochs),
                    count=count,
                ),
            )
        )
    if row.get("later_epoch_mean_s") is not None and (count or 0) < 2:
        problems.append(("epochs_measured", "must be at least 2 where later epochs are given."))
    if row["schema_version"] > SCHEMA_VERSION:
        problems.append(
            (
                "schema_version",
                Text(
                    "is newer than {schema_version}. Update Epochwise.",
                    schema_version=SCHEMA_VERSION,
                ),
            )
        )
    problems += _batch_problem(row) + _epochs_problem(row)
    return [RecordProblem(row=i, column=column, message=text) for column, text in problems]


def _epochs_problem(row: Row) -> list[tuple[str, str]]:
    """Return a summary must be that of the epochs beside it: pages project from the summary."""
    problems: list[tuple[str, str]] = []
    until, start = row.get("until_first_epoch_end_s"), row.get("pre_train_s")
    first = row.get("first_epoch_s")
    parts = None if start is None or first is None else start + first
    if until is not None and parts is not None and not math.isclose(until, parts, rel_tol=0.01):
        text = Text(
            "is {until} s, but pre_train_s and first_epoch_s make {parts:.6g} s.",
            until=until,
            parts=parts,
        )
        problems.append(("until_first_epoch_end_s", text))
    times = [e["epoch_s"] for e in row.get("epochs") or ()]
    summary = {"first_epoch_s": times[:1], "later_epoch_mean_s": times[1:]}
    for name, of in summary.items():
        value, mean = row.get(name), sum(of) / len(of) if of else None
        if value is not None and mean is not None and not math.isclose(value, mean, rel_tol=0.01):
            problems.append(
                (
                    name,
                    Text(
                        "is {value} s, but the epochs beside it give {mean:.6g} s.",
                        value=value,
                        mean=mean,
                    ),
                )
            )
    return problems


def _batch_problem(row: Row) -> list[tuple[str, str]]:
    parts = [
        row.get(n)
        for n in (
            "per_device_batch_size",
            "accelerators_per_node",
            "number_of_nodes",
            "global_batch_size",
        )
    ]
    if any(p is None for p in parts) or row.get("parallelism") in {"stage", "branch", "tensor"}:
        return []
    per_device, per_node, nodes, whole = (int(p) for p in parts if p is not None)
    product = per_device * per_node * nodes * int(row.get("gradient_accumulation_steps") or 1)
    if product == whole:
        return []
    return [
        (
            "global_batch_size",
            Text(
                "is {whole}, but the devices together take {product}.", whole=whole, product=product
            ),
        )
    ]
