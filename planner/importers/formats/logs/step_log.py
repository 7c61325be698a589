"""Step logs of any program: a regular expression with named groups finds the numbers of a line."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from planner.core import Text
from planner.importers.formats.given import MOST_ROWS, Given, SourceError, text_of
from planner.importers.formats.source import Row, Source, Stated, later, number, rises, whole

GROUPS: Final = ("step", "step_s", "epoch", "epoch_s", "throughput", "loss", "value")
"""Groups an expression may have."""
MOST_PATTERN: Final = 500
MOST_LINE: Final = 2_000
_SECONDS: Final = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0}
_LINE_GROUPS: Final = ("step_s", "epoch_s", "throughput", "value")


def _read(given: Given, stated: Stated) -> Sequence[Row]:
    pattern = _pattern(given, stated)
    unit = stated.options.get("unit", "")
    groups = set(pattern.groupindex)
    skip = int(number(stated.options.get("skip")) or 0)
    if groups & {"step_s", "epoch_s"} and unit not in _SECONDS:
        text: str = Text(
            "option unit: is {unit!r}; state one of {seconds}.",
            unit=unit,
            seconds=", ".join(_SECONDS),
        )
        raise SourceError(given.first, [text])
    if "throughput" in groups and stated.options.get("items") != "samples":
        text = "option items: is missing. State items=samples if the speed is in samples/s."
        raise SourceError(given.first, [text])
    found: list[Mapping[str, float | None]] = []
    problems: list[str] = []
    for at, line in enumerate(text_of(given).splitlines(), 1):
        match = pattern.search(line[:MOST_LINE])
        if match is None:
            continue
        numbers = {name: number((match[name] or "").replace(",", "")) for name in groups}
        problems += [
            Text(
                "line {at}, {name}: is {match!r}; it must be a number.",
                at=at,
                name=name,
                match=match[name],
            )
            for name, value in numbers.items()
            if value is None and name in _LINE_GROUPS
        ]
        found.append(numbers)
        if len(found) > MOST_ROWS:
            raise SourceError(
                given.first,
                [Text("more than {most_rows:,} lines match. Split it.", most_rows=MOST_ROWS)],
            )
    if not found:
        problems.append("option pattern: no line matches. Try it on one line of the log.")
    elif len(found) <= skip:
        problems.append(
            Text("option skip: leaves out all {result} lines that match.", result=len(found))
        )
    if problems:
        raise SourceError(given.first, problems)
    return [_row(found, skip, _SECONDS.get(unit, 1.0), stated)]


def _pattern(given: Given, stated: Stated) -> re.Pattern[str]:
    text = stated.options.get("pattern", "")
    if not text or len(text) > MOST_PATTERN:
        words = Text(
            "option pattern: state an expression of at most {most_pattern} characters with ",
            most_pattern=MOST_PATTERN,
        )
        raise SourceError(given.first, [f"{words}groups such as (?P<step_s>[0-9.]+)."])
    try:
        pattern = re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise SourceError(
            given.first, [Text("option pattern: {error}. Correct it.", error=error)]
        ) from None
    unknown = sorted(set(pattern.groupindex) - set(GROUPS))
    if unknown or not set(pattern.groupindex) & set(_LINE_GROUPS):
        named = (
            Text("{unknown} is unknown", unknown=", ".join(unknown))
            if unknown
            else "none has a number of a run"
        )
        raise SourceError(
            given.first,
            [
                Text(
                    "option pattern: {named}. Groups: {groups}.",
                    named=named,
                    groups=", ".join(GROUPS),
                )
            ],
        )
    return pattern


def _row(
    found: Sequence[Mapping[str, float | None]], skip: int, scale: float, stated: Stated
) -> dict[str, Any]:
    batch = whole(stated.facts.get("global_batch_size"))
    row: dict[str, Any] = {"engine": "step log"}
    steps = sorted(scale * v for f in found[skip:] if (v := f.get("step_s")) is not None)
    if steps:
        mean = math.fsum(steps) / len(steps)
        row |= {
            "step_s": mean,
            "step_p10_s": steps[int(0.1 * (len(steps) - 1))],
            "step_p50_s": steps[int(0.5 * (len(steps) - 1))],
            "step_p90_s": steps[int(0.9 * (len(steps) - 1))],
            "throughput": batch / mean if batch else None,
            "note": Text(
                "{steps:,} steps of a log, the first {skip} left out.", steps=len(steps), skip=skip
            ),
        }
    speeds = [v for f in found[skip:] if (v := f.get("throughput")) is not None]
    if speeds:
        row["throughput"] = math.fsum(speeds) / len(speeds)
        row["note"] = Text(
            "Mean of {speeds:,} speeds of a log, the first {skip} left out.",
            speeds=len(speeds),
            skip=skip,
        )
    epochs = [scale * v for f in found if (v := f.get("epoch_s")) is not None]
    row |= later(epochs)
    values = [(whole(f.get("step")), f.get("value")) for f in found]
    evaluations = [
        {"step": step, "samples": step * batch if batch else None, "elapsed_s": None,
         "value": value, "loss": None}
        for step, value in values
        if step is not None and value is not None
    ]  # fmt: skip
    if evaluations and rises(evaluations):
        row["evaluations"] = evaluations
        row["final_metric"] = evaluations[-1]["value"]
    return row


SOURCE: Final = Source(
    name="step-log",
    title="Step log, by a regular expression",
    files="any text log",
    reads="the numbers of the named groups: step_s, throughput, epoch_s, value by step",
    derives="samples/s = batch / mean step; quantiles of steps; mean and sd of later epochs",
    refuses="times without a unit, speeds that are not stated to be in samples, expressions that "
    "take longer than the limit",
    read=_read,
    needs=("model", "system_name", "device_kind", "global_batch_size"),
    options={
        "pattern": "regular expression with groups, as step (?P<step>\\d+) .* (?P<step_s>[0-9.]+)s",
        "unit": "of the times: s, ms, us or min",
        "items": "samples, if the speed is in samples/s",
        "skip": "matching lines at the start that do not count, as 10",
    },
)
