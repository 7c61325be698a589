"""Keras: CSVLogger's file, `History.history` as JSON, and Lightning's metrics.csv."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from planner.core import Text
from planner.importers.formats.given import Given, SourceError, json_of, table_of, text_of
from planner.importers.formats.source import Row, Source, Stated, later, number

_HIGHER: Final = ("acc", "auc", "f1", "precision", "recall", "map", "iou")
_SECONDS: Final = {"s": 1.0, "ms": 1e-3, "min": 60.0, "h": 3600.0}


def _read(given: Given, stated: Stated) -> Sequence[Row]:
    columns = _columns(given)
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
    evaluations = _evaluations(columns, metric, stated) if metric in columns else None
    if not times and not evaluations and not problems:
        problems.append(
            "it has neither epoch times nor a validation metric. Name the column with "
            "--option time=COLUMN:s, or the metric with --option metric=COLUMN."
        )
    if problems:
        raise SourceError(given.first, problems)
    losses = columns.get("loss", ())
    epochs = [
        {"epoch": i, "epoch_s": t, "loss": losses[i - 1] if i <= len(losses) else None}
        for i, t in enumerate(times, 1)
    ]
    row: dict[str, Any] = {
        **later(times),
        "epochs": [_struct(e) for e in epochs] or None,
        "evaluations": evaluations,
    }
    if evaluations and metric:
        row["evaluation_metric"] = metric
        row["evaluation_higher_is_better"] = any(word in metric.lower() for word in _HIGHER)
        row["final_metric"] = evaluations[-1]["value"]
    return [row]


def _struct(epoch: Mapping[str, Any]) -> dict[str, Any]:
    names = ("epoch", "epoch_s", "validation_s", "samples", "loss", "metric")
    return {name: epoch.get(name) for name in names}


def _columns(given: Given) -> dict[str, list[float | None]]:
    """Return the columns of numbers by name, an entry an epoch."""
    if given.suffix.lower() == ".json":
        body = json_of(given)
        if not isinstance(body, dict) or not body:
            raise SourceError(
                given.first, ["it is no JSON object of lists, as History.history is."]
            )
        wrong = [name for name, values in body.items() if not isinstance(values, list)]
        if wrong or len({len(v) for v in body.values()}) != 1:
            text = "its entries are not lists of one length, an entry an epoch."
            raise SourceError(given.first, [text])
        return {str(n): [number(v) for v in values] for n, values in body.items()}
    rows = table_of(given, _delimiter(given))
    by_epoch = _one_line_an_epoch(given, rows)
    return {name: [number(row.get(name)) for row in by_epoch] for name in rows[0]}


def _delimiter(given: Given) -> str:
    head = text_of(given).partition("\n")[0][:4_000]
    return max(",;\t", key=head.count)


def _one_line_an_epoch(given: Given, rows: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Return one line an epoch: Lightning writes training and validation on lines of their own."""
    if "epoch" not in rows[0]:
        raise SourceError(
            given.first, ["it has no column epoch, as CSVLogger and Lightning write."]
        )
    merged: list[dict[str, str]] = []
    for epoch, lines in itertools.groupby(rows, key=lambda row: row["epoch"]):
        if number(epoch) is None:
            raise SourceError(
                given.first, [Text("epoch is {epoch!r}; it must be a number.", epoch=epoch)]
            )
        line: dict[str, str] = {}
        for each in lines:
            line |= {name: cell for name, cell in each.items() if cell}
        merged.append(line)
    numbers = [float(line["epoch"]) for line in merged]
    if any(b <= a for a, b in itertools.pairwise(numbers)):
        text = "the epochs do not rise. It holds several trainings: split it into one file each."
        raise SourceError(given.first, [text])
    return merged


def _times(
    columns: Mapping[str, Sequence[float | None]], stated: Stated, problems: list[str]
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
    values = columns[column]
    bad = [i for i, value in enumerate(values, 1) if value is None or value <= 0.0]
    if bad:
        problems.append(
            Text("{column}: line {bad} has no time above 0.", column=column, bad=bad[0])
        )
        return []
    return [float(value or 0.0) * _SECONDS[unit] for value in values]


def _evaluations(
    columns: Mapping[str, Sequence[float | None]], metric: str | None, stated: Stated
) -> list[dict[str, Any]] | None:
    """Return the metric by step; steps follow from samples and batch, where both are stated."""
    samples = int(stated.facts.get("samples_per_epoch") or 0)
    batch = int(stated.facts.get("global_batch_size") or 0)
    lightning = columns.get("step")
    if metric is None or not (lightning or (samples and batch)):
        return None
    found = []
    for i, value in enumerate(columns[metric]):
        step = (lightning[i] or 0.0) + 1.0 if lightning else (i + 1) * math.ceil(samples / batch)
        if value is not None:
            found.append(
                {
                    "step": int(step),
                    "samples": int(step * batch) if batch else None,
                    "elapsed_s": None,
                    "value": value,
                    "loss": None,
                }
            )
    return found or None


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
