"""Hugging Face Trainer: trainer_state.json of a checkpoint or a finished training."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from planner.core import Text
from planner.importers.formats.source import Row, Source, Stated, cell, finite, number, whole
from planner.importers.formats.source_files import SourceError, SourceFiles, json_of

_HIGHER: Final = ("acc", "f1", "auc", "bleu", "rouge", "precision", "recall")


def _read(files: SourceFiles, stated: Stated) -> Sequence[Row]:
    body = json_of(files)
    history = body.get("log_history") if isinstance(body, dict) else None
    if not isinstance(history, list) or not all(isinstance(e, dict) for e in history):
        raise SourceError(files.first, ["it has no list log_history. Give trainer_state.json."])
    steps = whole(body.get("global_step"))
    epochs = number(body.get("epoch"))
    ends = [e for e in history if "train_runtime" in e]
    end = ends[-1] if ends else None
    total_s = number(end["train_runtime"]) if end else None
    problems: list[str] = []
    if not steps:
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
    elif not (total_s and total_s > 0.0):
        problems.append(
            Text("train_runtime is {runtime!r}; it must be above 0.", runtime=end["train_runtime"])
        )
    elif len(ends) > 1:
        problems.append("it has several train_runtime: the training was resumed. Give one whole.")
    metric = stated.options.get("metric") or _first_metric(history)
    evaluations = _evaluations(history, metric, problems)
    if problems or not steps or not total_s:
        raise SourceError(files.first, problems)
    batch = stated.facts.get("global_batch_size")
    row: dict[str, Any] = {
        "framework": "PyTorch",
        "engine": "Hugging Face Trainer",
        "total_s": total_s,
        "steps_per_epoch": round(steps / epochs) if epochs and epochs >= 1 else None,
        "samples_per_epoch": round(steps / epochs * batch) if epochs and epochs >= 1 and batch
        else None,
        "throughput": steps * batch / total_s if batch else None,
        "step_s": total_s / steps,
        "evaluations": [e for e in evaluations if finite(e["value"])] or None,
        "note": "Step and samples/s are of the whole training, with evaluations and checkpoints.",
    }  # fmt: skip
    if evaluations and metric:
        row["evaluation_metric"] = metric
        row["evaluation_higher_is_better"] = any(word in metric.lower() for word in _HIGHER)
        last = evaluations[-1]["value"]
        row["final_metric"] = last if finite(last) else None
    return [row]


def _first_metric(history: Sequence[Mapping[str, Any]]) -> str | None:
    beside = ("eval_runtime", "eval_samples_per_second", "eval_steps_per_second")
    names = [n for e in history for n in e if n.startswith("eval_") and n not in beside]
    return next((n for n in names if n != "eval_loss"), next(iter(names), None))


def _evaluations(
    history: Sequence[Mapping[str, Any]], metric: str | None, problems: list[str]
) -> list[dict[str, Any]]:
    """Return the metric by step, NaN where it is; entries without a number are problems."""
    evaluations = []
    for at, entry in enumerate(history, 1):
        if not metric or metric not in entry or number(entry.get("step")) == 0.0:
            continue  # before the first step there is no training
        value = cell(entry[metric], f"item {at}, {metric}", problems)
        step = whole(entry.get("step"))
        if step is None:
            problems.append(
                Text("item {at}, step: is {step!r}; it must be a whole number above 0.",
                     at=at, step=str(entry.get("step"))[:40])
            )  # fmt: skip
        elif value is not None:
            loss = number(entry.get("eval_loss"))
            evaluations.append(
                {"step": step, "samples": None, "elapsed_s": None, "value": value, "loss": loss}
            )
    return evaluations


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
