"""Step logs of any program: a regular expression with named groups finds the numbers of a line."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from planner.core import Text
from planner.importers.formats.source import Row, Source, Stated, later, number, rises, whole
from planner.importers.formats.source_files import MOST_ROWS, SourceError, SourceFiles, text_of

GROUPS: Final = ("step", "step_s", "epoch", "epoch_s", "throughput", "loss", "value")
"""Groups an expression may have."""
MOST_PATTERN: Final = 500
MOST_LINE: Final = 2_000
_SECONDS: Final = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0}
_WORDS: Final = {
    "ms": "ms", "msec": "ms", "us": "us", "µs": "us", "μs": "us", "s": "s", "sec": "s",
    "secs": "s", "second": "s", "seconds": "s", "min": "min", "mins": "min", "minutes": "min",
    "h": "h", "hours": "h",
}  # fmt: skip
_WORD: Final = re.compile(r"\s{0,3}([a-zµμ]+)(?![A-Za-z])")
_CUT_BEFORE: Final = re.compile(r"(?:\d[.,]?|(?:^|[\s=:(])[-.])$")
_CUT_AFTER: Final = re.compile(r"\d|[.,:]\d|[eE][+-]?\d")
_THOUSANDS: Final = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")
_COMMAS: Final = ("decimal", "thousands")
_TIMES: Final = frozenset({"step_s", "epoch_s"})
_ABOVE_0: Final = _TIMES | {"throughput"}
_LINE_GROUPS: Final = ("step_s", "epoch_s", "throughput", "value")


def _read(files: SourceFiles, stated: Stated) -> Sequence[Row]:
    pattern = _pattern(files, stated)
    unit = _options(files, stated, set(pattern.groupindex))
    skip = _skip(files, stated)
    lines, problems = _matches(files, pattern, unit, stated.options.get("comma", ""))
    if not lines:
        problems.append("option pattern: no line matches. Try it on one line of the log.")
    elif len(lines) <= skip:
        problems.append(
            Text("option skip: leaves out all {result} lines that match.", result=len(lines))
        )
    steps = [{"step": f["step"]} for f in lines if f.get("step") and f.get("value") is not None]
    if not rises(steps):
        problems.append("the steps do not rise. It holds several trainings: give one file each.")
    if problems:
        raise SourceError(files.first, problems)
    return [_row(lines, skip, _SECONDS.get(unit, 1.0), stated)]


def _options(files: SourceFiles, stated: Stated, groups: set[str]) -> str:
    """Return the unit of times; SourceError for options that groups need or that do not exist."""
    unit, comma = stated.options.get("unit", ""), stated.options.get("comma", "")
    problems: list[str] = []
    if groups & _TIMES and unit not in _SECONDS:
        problems.append(
            Text(
                "option unit: is {unit!r}; state one of {seconds}.",
                unit=unit,
                seconds=", ".join(_SECONDS),
            )
        )
    if "throughput" in groups and stated.options.get("items") != "samples":
        problems.append(
            "option items: is missing. State items=samples if the speed is in samples/s."
        )
    if comma not in ("", *_COMMAS):
        problems.append(
            Text(
                "option comma: is {comma!r}; state {ways}.", comma=comma, ways=" or ".join(_COMMAS)
            )
        )
    if problems:
        raise SourceError(files.first, problems)
    return unit


def _matches(
    files: SourceFiles, pattern: re.Pattern[str], unit: str, comma: str
) -> tuple[list[Mapping[str, float | None]], list[str]]:
    lines: list[Mapping[str, float | None]] = []
    problems: list[str] = []
    for at, line in enumerate(text_of(files).splitlines(), 1):
        match = pattern.search(line, 0, MOST_LINE)
        if match is None:
            continue
        numbers: dict[str, float | None] = {}
        for name in set(pattern.groupindex) - {"epoch"}:
            numbers[name], wrong = _number(match, name, unit, comma)
            if wrong:
                problems.append(Text("line {at}, {name}: {wrong}", at=at, name=name, wrong=wrong))
        lines.append(numbers)
        if len(lines) > MOST_ROWS:
            text = Text("more than {most_rows:,} lines match. Split it.", most_rows=MOST_ROWS)
            raise SourceError(files.first, [text])
    return lines, problems


def _skip(files: SourceFiles, stated: Stated) -> int:
    text = stated.options.get("skip") or "0"
    if not re.fullmatch(r"\d{1,6}", text, re.ASCII):
        why = Text("option skip: is {text!r}; it must be a whole number of lines.", text=text)
        raise SourceError(files.first, [why])
    return int(text)


def _number(  # noqa: PLR0911 - a way out for each problem
    match: re.Match[str], name: str, unit: str, comma: str
) -> tuple[float | None, str | None]:
    """Return the number of a group, and why it is not the one that the line has."""
    text = match[name]
    if text is None:
        return None, None
    line, (start, end) = match.string, match.span(name)
    if _CUT_BEFORE.search(line[:start]) or _CUT_AFTER.match(line, end):
        part = line[max(start - 8, 0) : end + 8]
        return None, Text(
            "the expression takes {text!r} of {part!r}. Let the group take the whole number.",
            text=text, part=part,
        )  # fmt: skip
    if "," in text and comma == "thousands" and _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    elif "," in text and comma == "decimal" and "." not in text and text.count(",") == 1:
        text = text.replace(",", ".")
    elif "," in text:
        return None, Text(
            "is {text!r}. State the option comma={ways}, if its comma is one of them.",
            text=text, ways=" or ".join(_COMMAS),
        )  # fmt: skip
    value = whole(text) if name == "step" and number(text) != 0.0 else number(text)
    if value is None:
        kind = "a whole number" if name == "step" else "a number"
        return None, Text("is {text!r}; it must be {kind}.", text=text, kind=kind)
    if name in _ABOVE_0 and value <= 0.0:
        return None, Text("is {text!r}; it must be above 0.", text=text)
    word = _WORD.match(line, end) if name in _TIMES else None
    written = _WORDS.get(word[1], unit) if word else unit
    if written != unit:
        return None, Text(
            "the log says {written}, the option unit says {unit}. Correct the option, or take "
            "lines of one unit.",
            written=written, unit=unit,
        )  # fmt: skip
    return float(value), None


def _pattern(files: SourceFiles, stated: Stated) -> re.Pattern[str]:
    text = stated.options.get("pattern", "")
    if not text or len(text) > MOST_PATTERN:
        words = Text(
            "option pattern: state an expression of at most {most_pattern} characters with groups "
            "such as {example}.",
            most_pattern=MOST_PATTERN,
            example="(?P<step_s>[0-9.]+)",
        )
        raise SourceError(files.first, [words])
    try:
        pattern = re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise SourceError(
            files.first, [Text("option pattern: {error}. Correct it.", error=error)]
        ) from None
    unknown = sorted(set(pattern.groupindex) - set(GROUPS))
    if unknown or not set(pattern.groupindex) & set(_LINE_GROUPS):
        named = (
            Text("{unknown} is unknown", unknown=", ".join(unknown))
            if unknown
            else "none has a number of a run"
        )
        raise SourceError(
            files.first,
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
    lines: Sequence[Mapping[str, float | None]], skip: int, scale: float, stated: Stated
) -> dict[str, Any]:
    batch = whole(stated.facts.get("global_batch_size"))
    row: dict[str, Any] = {"engine": "step log"}
    steps = sorted(scale * v for f in lines[skip:] if (v := f.get("step_s")) is not None)
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
    speeds = [v for f in lines[skip:] if (v := f.get("throughput")) is not None]
    if speeds:
        row["throughput"] = math.fsum(speeds) / len(speeds)
        row["note"] = Text(
            "Mean of {speeds:,} speeds of a log, the first {skip} left out.",
            speeds=len(speeds),
            skip=skip,
        )
    epochs = [scale * v for f in lines if (v := f.get("epoch_s")) is not None]
    row |= later(epochs)
    values = [(whole(f.get("step")), f.get("value")) for f in lines]
    evaluations = [
        {"step": step, "samples": step * batch if batch else None, "elapsed_s": None,
         "value": value, "loss": None}
        for step, value in values
        if step is not None and value is not None
    ]  # fmt: skip
    if evaluations:
        row["evaluations"] = evaluations
        row["final_metric"] = evaluations[-1]["value"]
    return row


SOURCE: Final = Source(
    name="step-log",
    title="Step log, by a regular expression",
    files="any text log",
    reads="the numbers of the named groups: step_s, throughput, epoch_s, value by step",
    derives="samples/s = batch / mean step; quantiles of steps; mean and sd of later epochs",
    refuses="times without a unit or of another one than the log writes, parts of a number, commas "
    "without a statement, speeds that are not stated to be in samples, expressions that "
    "take longer than the limit",
    read=_read,
    needs=("model", "system_name", "device_kind", "global_batch_size"),
    options={
        "pattern": "regular expression with groups, as step (?P<step>\\d+) .* (?P<step_s>[0-9.]+)s",
        "unit": "of the times: s, ms, us or min",
        "items": "samples, if the speed is in samples/s",
        "comma": "decimal or thousands, if numbers have a comma",
        "skip": "matching lines at the start that do not count, as 10",
    },
)
