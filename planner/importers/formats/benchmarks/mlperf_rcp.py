"""MLPerf reference convergence points: epochs or samples to the target at each batch, by seed."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from planner.core import Text
from planner.importers.formats.source import Row, Source, Stated, cell, finite, number, whole
from planner.importers.formats.source_files import MOST_ROWS, SourceError, SourceFiles, json_of

_UNITS: Final = ("epochs", "samples", "steps")


def _read(files: SourceFiles, stated: Stated) -> Sequence[Row]:
    body = json_of(files)
    if not isinstance(body, dict) or not all(isinstance(v, dict) for v in body.values()):
        raise SourceError(files.first, ["it is no JSON object of points, as rcps_*.json is."])
    unit = stated.options.get("unit", "")
    samples = whole(stated.facts.get("train_samples"))
    target = number(stated.options.get("target"))
    problems: list[str] = []
    if unit not in _UNITS:
        problems.append(
            Text("option unit: is {unit!r}; state {units}.", unit=unit, units=", ".join(_UNITS))
        )
    if unit == "epochs" and samples is None:
        problems.append("train_samples: is not in the file. State it: --fact train_samples=...")
    if target is None:
        problems.append("option target: is missing. State the value of the metric.")
    rows: list[Row] = []
    for name, point in body.items():
        made, wrong = _point(str(name), point, unit, samples, target)
        rows += made
        problems += wrong
    if problems:
        raise SourceError(files.first, problems)
    return rows


def _point(
    name: str, point: Mapping[str, Any], unit: str, train_samples: int | None, target: float | None
) -> tuple[list[Row], list[str]]:
    batch = whole(point.get("BS"))
    lists = [v for k, v in point.items() if str(k).lower().endswith("to converge")]
    values = lists[0] if len(lists) == 1 else None
    if batch is None or not isinstance(values, list):
        return [], [
            Text(
                "{name}: has no BS, or not one list that ends in `to converge`. Correct it.",
                name=name[:60],
            )
        ]
    if len(values) > MOST_ROWS:
        many = Text("{name}: has more than {most_rows:,} values. Split it.",
                    name=name[:60], most_rows=MOST_ROWS)  # fmt: skip
        return [], [many]
    settings = point.get("Hyperparams")
    settings = settings if isinstance(settings, dict) else {}
    wrong: list[str] = []
    rate = cell(settings.get("opt_base_learning_rate"), "opt_base_learning_rate", wrong)
    if wrong:
        return [], wrong
    platform = str(point.get("Platform") or "not stated")
    rows: list[Row] = []
    for at, value in enumerate(values):
        amount = number(value)
        if amount is None or amount <= 0.0:
            return [], [
                Text(
                    "{name}: value {at} is {value!r}; it must be above 0.",
                    name=name[:60],
                    at=at + 1,
                    value=value,
                )
            ]
        scale = {"samples": 1.0, "steps": float(batch)}.get(unit, float(train_samples or 0))
        samples = amount * scale
        step = max(round(samples / batch), 1)
        rows.append(
            {
                "sweep": name,
                "repeat": at,
                "model": str(point.get("Benchmark") or name),
                "optimizer": str(settings.get("optimizer") or "") or None,
                "learning_rate": rate if finite(rate) else None,
                "global_batch_size": batch,
                "system_name": platform,
                "device_kind": "tpu" if "tpu" in platform.lower() else None,
                "submitted_by": str(point.get("Creator") or "") or None,
                "target_value": target,
                "target_reached": True,
                "steps_to_target": step,
                "samples_to_target": max(round(samples), 1),
                "evaluations": [
                    {"step": step, "samples": max(round(samples), 1), "elapsed_s": None,
                     "value": target, "loss": None}
                ],
                "source": "MLPerf reference convergence point",
            }
        )  # fmt: skip
    return rows, []


SOURCE: Final = Source(
    name="mlperf-rcp",
    title="MLPerf reference convergence points",
    files="rcps_*.json",
    reads="batch, optimiser, learning rate, and the amount to the target of each seed",
    derives="steps and samples from the stated unit",
    refuses="the unit by the key of the list: upstream uses one key for several units",
    read=_read,
    named=r"rcps_.*\.json",
    needs=("device_kind", "evaluation_metric", "evaluation_higher_is_better"),
    options={"unit": "epochs, samples or steps", "target": "value of the metric that ends a run"},
    basis="published",
)
