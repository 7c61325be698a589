"""Hugging Face Trainer: trainer_state.json of a checkpoint or a finished training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from planner.core import Text
from planner.importers.formats.given import Given, SourceError, json_of
from planner.importers.formats.source import Row, Source, Stated, number

_HIGHER: Final = ("acc", "f1", "auc", "bleu", "rouge", "precision", "recall")


def _read(given: Given, stated: Stated) -> Sequence[Row]:
    body = json_of(given)
    history = body.get("log_history") if isinstance(body, dict) else None
    if not isinstance(history, list) or not all(isinstance(e, dict) for e in history):
        raise SourceError(given.first, ["it has no list log_history. Give trainer_state.json."])
    steps = number(body.get("global_step"))
    epochs = number(body.get("epoch"))
    end = next((e for e in reversed(history) if "train_runtime" in e), None)
    problems: list[str] = []
    if not steps or steps < 1:
        problems.append(
            Text(
                "global_step is {global_step!r}; it must be above 0.",
                global_step=body.get("global_step"),
            )
        )
    if end is None:
        problems.append(
            "it has no train_runtime: this is a checkpoint. Give the file of the end of training."
        )
    if problems or end is None or not steps:
        raise SourceError(given.first, problems)
    metric = stated.options.get("metric") or _first_metric(history)
    evaluations = _evaluations(history, metric)
    total_s = number(end["train_runtime"])
    batch = stated.facts.get("global_batch_size")
    row: dict[str, Any] = {
        "framework": "PyTorch",
        "engine": "Hugging Face Trainer",
        "total_s": total_s,
        "steps_per_epoch": round(steps / epochs) if epochs and epochs >= 1 else None,
        "samples_per_epoch": round(steps / epochs * batch) if epochs and epochs >= 1 and batch
        else None,
        "throughput": steps * batch / total_s if batch and total_s else None,
        "step_s": total_s / steps if total_s else None,
        "evaluations": evaluations or None,
        "note": "Step and samples/s are of the whole training, with evaluations and checkpoints.",
    }  # fmt: skip
    if evaluations and metric:
        row["evaluation_metric"] = metric
        row["evaluation_higher_is_better"] = any(word in metric.lower() for word in _HIGHER)
        row["final_metric"] = evaluations[-1]["value"]
    return [row]


def _first_metric(history: Sequence[Mapping[str, Any]]) -> str | None:
    beside = ("eval_runtime", "eval_samples_per_second", "eval_steps_per_second")
    names = [n for e in history for n in e if n.startswith("eval_") and n not in beside]
    return next((n for n in names if n != "eval_loss"), next(iter(names), None))


def _evaluations(history: Sequence[Mapping[str, Any]], metric: str | None) -> list[dict[str, Any]]:
    return [
        {
            "step": int(step),
            "samples": None,
            "elapsed_s": None,
            "value": value,
            "loss": number(entry.get("eval_loss")),
        }
        for entry in history
        if metric
        and (value := number(entry.get(metric))) is not None
        and (step := number(entry.get("step"))) is not None
    ]


SOURCE: Final = Source(
    name="hugging-face",
    title="Hugging Face Trainer state",
    files="trainer_state.json of a finished training",
    reads="total time, steps, epochs, evaluations by step",
    derives="samples/s = steps x global batch / total time; samples of an epoch from its steps",
    refuses="a checkpoint's state: it has no total time; the batch of one device as the global one",
    named=r"trainer_state.*\.json",
    read=_read,
    needs=("model", "system_name", "device_kind", "global_batch_size"),
    options={"metric": "name in log_history (default: the first eval_ metric)"},
)
