"""Keras: CSVLogger's file, `History.history` as JSON, and Lightning's metrics.csv."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from planner.core import Text
from planner.importers.formats.source import Row, Source, Stated, cell, finite, later, number
from planner.importers.formats.source_files import (
    MOST_COLUMNS,
    SourceError,
    SourceFiles,
    json_of,
    table_of,
    text_of,
)

_HIGHER: Final = ("acc", "auc", "f1", "precision", "recall", "map", "iou")
_STEP: Final = "step"
"""Column of Lightning, which writes several lines an epoch."""
_SEVERAL: Final = "the epochs do not rise. It holds several trainings: split it into one file each."
_SECONDS: Final = {"s": 1.0, "ms": 1e-3, "min": 60.0, "h": 3600.0}


def _read(files: SourceFiles, stated: Stated) -> Sequence[Row]:
    columns = _columns(files, stated.options.get("time", "").rpartition(":")[0])
    problems: list[str] = []
    metric = stated.options.get("metric")
    if metric is None:
        metric = next((name for name in columns if name.startswith("val_")), None)
    elif metric not in columns:
        problems.append(
            Text(
                "option metric: {metric} is no column. It has: {columns}.",
                metric=metric,
                columns=", ".join(columns),
            )
        )
    times = _times(columns, stated, problems)
    values = _numbers(columns, metric, problems) if metric in columns else []
    evaluations = _evaluations(columns, values, stated, problems)
    if not times and not evaluations and not problems:
        problems.append(
            "it has neither epoch times nor a validation metric. Name the column with "
            "--option time=COLUMN:s, or the metric with --option metric=COLUMN."
        )
    losses = _numbers(columns, "loss", problems) if times else []
    if problems:
        raise SourceError(files.first, problems)
    epochs = [
        {"epoch": i, "epoch_s": t, "loss": loss if finite(loss) else None}
        for i, (t, loss) in enumerate(itertools.zip_longest(times, losses), 1)
    ]
    row: dict[str, Any] = {
        **later(times),
        "epochs": [_struct(e) for e in epochs] or None,
        "evaluations": evaluations,
    }
    if evaluations and metric:
        row["evaluation_metric"] = metric
        row["evaluation_higher_is_better"] = any(word in metric.lower() for word in _HIGHER)
        last = [value for value in values if value is not None][-1]
        row["final_metric"] = last if finite(last) else None
    return [row]


def _struct(epoch: Mapping[str, Any]) -> dict[str, Any]:
    names = ("epoch", "epoch_s", "validation_s", "samples", "loss", "metric")
    return {name: epoch.get(name) for name in names}


def _numbers(
    columns: Mapping[str, Sequence[object]], name: str | None, problems: list[str]
) -> list[float | None]:
    """Return the numbers of a column; cells that have none are problems."""
    cells = columns.get(name or "", ())
    return [cell(c, f"row {i}, {name}", problems) for i, c in enumerate(cells, 1)]


def _columns(files: SourceFiles, time: str) -> dict[str, list[object]]:
    if files.suffix.lower() == ".json":
        body = json_of(files)
        if not isinstance(body, dict) or not body:
            raise SourceError(
                files.first, ["it is no JSON object of lists, as History.history is."]
            )
        if len(body) > MOST_COLUMNS:
            many = Text("it has {count:,} entries; at most {most} are read. Remove some.",
                        count=len(body), most=MOST_COLUMNS)  # fmt: skip
            raise SourceError(files.first, [many])
        wrong = [name for name, values in body.items() if not isinstance(values, list)]
        if wrong or len({len(v) for v in body.values()}) != 1:
            text = "its entries are not lists of one length, an entry an epoch."
            raise SourceError(files.first, [text])
        return {str(n): list(values) for n, values in body.items()}
    rows = table_of(files, _delimiter(files))
    by_epoch = _one_line_an_epoch(files, rows, time)
    return {name: [row.get(name) for row in by_epoch] for name in rows[0]}


def _delimiter(files: SourceFiles) -> str:
    head = text_of(files).partition("\n")[0][:4_000]
    return max(",;\t", key=head.count)


def _one_line_an_epoch(
    files: SourceFiles, rows: Sequence[Mapping[str, str]], time: str
) -> list[dict[str, str]]:
    """Return one line an epoch: Lightning writes training and validation on lines of their own."""
    if "epoch" not in rows[0]:
        raise SourceError(
            files.first, ["it has no column epoch, as CSVLogger and Lightning write."]
        )
    merged: list[dict[str, str]] = []
    for epoch, lines in itertools.groupby(rows, key=lambda row: row["epoch"]):
        if number(epoch) is None:
            raise SourceError(
                files.first, [Text("epoch is {epoch!r}; it must be a number.", epoch=epoch)]
            )
        line: dict[str, str] = {}
        for each in lines:
            if line and (_STEP not in each or (line.get(time) and each.get(time))):
                raise SourceError(files.first, [_SEVERAL])
            line |= {name: text for name, text in each.items() if text}
        merged.append(line)
    numbers = [float(line["epoch"]) for line in merged]
    rises = all(b > a for a, b in itertools.pairwise(numbers))
    if not rises:
        raise SourceError(files.first, [_SEVERAL])
    if _STEP not in rows[0] and numbers not in [_counted(first, numbers) for first in (0, 1)]:
        text = "the epochs do not count up by 1 from 0 or 1. Give the whole log."
        raise SourceError(files.first, [text])
    return merged


def _counted(first: int, numbers: Sequence[float]) -> list[float]:
    return [float(first + i) for i in range(len(numbers))]


def _times(
    columns: Mapping[str, Sequence[object]], stated: Stated, problems: list[str]
) -> list[float]:
    """Return the times of the epochs [s] from the named column; its unit is stated."""
    named = stated.options.get("time")
    if named is None:
        return []
    column, _, unit = named.rpartition(":")
    if unit not in _SECONDS or column not in columns:
        problems.append(
            Text(
                "option time: {named} must be COLUMN:UNIT with a column of the file "
                "({columns}) and one of s, ms, min, h.",
                named=named,
                columns=", ".join(columns),
            )
        )
        return []
    before = len(problems)
    values = _numbers(columns, column, problems)
    if len(problems) > before:
        return []
    good = [value for value in values if finite(value) and value > 0.0]
    if len(good) < len(values):
        bad = next(i for i, v in enumerate(values, 1) if not (finite(v) and v > 0.0))
        problems.append(Text("row {bad}, {column}: has no time above 0.", bad=bad, column=column))
        return []
    return [value * _SECONDS[unit] for value in good]


def _evaluations(
    columns: Mapping[str, Sequence[object]],
    values: Sequence[float | None],
    stated: Stated,
    problems: list[str],
) -> list[dict[str, Any]] | None:
    """Return the metric by step; steps follow from samples and batch, where both are stated."""
    samples = int(stated.facts.get("samples_per_epoch") or 0)
    batch = int(stated.facts.get("global_batch_size") or 0)
    lightning = _numbers(columns, _STEP, problems)
    if not (lightning or (samples and batch)):
        return None
    evaluations = []
    for i, value in enumerate(values):
        step = (lightning[i] or 0.0) + 1.0 if lightning else (i + 1) * math.ceil(samples / batch)
        if finite(value) and math.isfinite(step):
            evaluations.append(
                {
                    "step": int(step),
                    "samples": int(step * batch) if batch else None,
                    "elapsed_s": None,
                    "value": value,
                    "loss": None,
                }
            )
    return evaluations or None


SOURCE: Final = Source(
    name="keras-history",
    title="Keras CSVLogger or History, Lightning metrics.csv",
    files="CSV with a column epoch, or JSON of History.history",
    reads="losses and a validation metric by epoch; epoch times where a column has them",
    derives="steps of an epoch: ceil(samples_per_epoch / global_batch_size); from its name, "
    "whether a metric rises",
    refuses="epoch times without a stated unit, several trainings in one file",
    named=r"(metrics|history|.*log).*\.(csv|json)",
    read=_read,
    needs=("model", "system_name", "device_kind", "global_batch_size", "samples_per_epoch"),
    options={
        "metric": "column of the metric (default: the first one that begins with val_)",
        "time": "COLUMN:UNIT of epoch times; unit s, ms, min or h",
    },
)
