"""Measurements of Shallue et al.: a study is one batch size, a trial one training of it."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from planner.core import Text
from planner.importers.formats.source import Row, Source, Stated, cell, finite, number, rises, whole
from planner.importers.formats.source_files import SourceError, SourceFiles, json_of, table_of

URL: Final = "https://github.com/google-research/google-research/tree/master/batch_science"
_STUDY: Final = "study.json"
_ENDED: Final = {
    "COMPLETE": ("ok", None),
    "INCOMPLETE": ("killed", "the trial was not completed; its files do not say why"),
    "INFEASIBLE": ("nan", "training diverged"),
}
_LOWER: Final = ("error", "loss", "entropy")


def _read(files: SourceFiles, stated: Stated) -> Sequence[Row]:
    metric = stated.options.get("metric", "")
    rows: list[Row] = []
    problems = [] if metric else ["option metric: is missing. Name a column of measurements.csv."]
    for name in sorted(n for n in files.data if PurePosixPath(n).name == "metadata.json"):
        try:
            rows.append(_trial(files, name, metric))
        except SourceError as error:
            problems += [f"{name}: {text}" for text in error.problems]
    if not rows and not problems:
        problems.append("it has no trial: a folder with metadata.json and measurements.csv.")
    if problems:
        raise SourceError(files.name, problems)
    return rows


def _trial(files: SourceFiles, name: str, metric: str) -> Row:
    place = PurePosixPath(name).parent
    study = _object(files, str(place.parent / _STUDY))
    about = _object(files, name)
    batch = whole(study.get("batch_size"))
    status = _ENDED.get(str(about.get("status")))
    if batch is None or status is None:
        raise SourceError(
            name, [Text("batch_size or status {status!r} is unknown.", status=about.get("status"))]
        )
    table = table_of(files, name=str(place / "measurements.csv"))
    if metric not in table[0] or "step" not in table[0]:
        raise SourceError(
            name,
            [
                Text(
                    "measurements.csv has no {metric!r}; it has {table}.",
                    metric=metric,
                    table=", ".join(table[0]),
                )
            ],
        )
    problems: list[str] = []
    evaluations, value = [], None
    for at, line in enumerate(table, 1):
        value = cell(line[metric], f"row {at}, {metric}", problems)
        step = whole(line["step"])
        if step is None and number(line["step"]) != 0.0:
            problems.append(
                Text("row {at}, step: is {step!r}; it must be a whole number.",
                     at=at, step=line["step"])
            )  # fmt: skip
        if step is not None and finite(value):
            evaluations.append(
                {"step": step, "samples": step * batch, "elapsed_s": None, "value": value,
                 "loss": None}
            )  # fmt: skip
    if problems:
        raise SourceError(name, problems)
    if not rises(evaluations):
        raise SourceError(name, ["the steps of measurements.csv do not rise. Restore the file."])
    settings = about.get("parameters")
    rate = settings.get("learning_rate") if isinstance(settings, dict) else None
    rate = cell(rate, "learning_rate", problems)
    if problems:
        raise SourceError(name, problems)
    return {
        "model": str(study.get("model") or "") or None,
        "dataset": str(study.get("dataset") or "") or None,
        "optimizer": str(study.get("optimizer") or "") or None,
        "learning_rate": rate if finite(rate) else None,
        "global_batch_size": batch,
        "sweep": f"trial {about.get('trial_id', place.name)}",
        "status": status[0],
        "status_reason": status[1],
        "evaluation_metric": metric,
        "evaluation_higher_is_better": not any(w in metric.lower() for w in _LOWER),
        "final_metric": value if finite(value) else None,
        "evaluations": evaluations or None,
        "source": "Shallue et al. 2019, measurements",
        "source_url": URL,
        "source_path": name,
    }


def _object(files: SourceFiles, name: str) -> Mapping[str, Any]:
    body = json_of(files, name)
    if not isinstance(body, dict):
        raise SourceError(name, ["it is no JSON object."])
    return body


SOURCE: Final = Source(
    name="shallue",
    title="Measurements of Shallue et al. (batch_science)",
    files="folder of a workload: STUDY/study.json, STUDY/TRIAL/metadata.json, measurements.csv",
    reads="batch, optimiser, learning rate, status, one metric by step",
    derives="from its name, whether the metric rises; samples = step x batch; without step 0",
    refuses="a metric that is not named, unknown states of a trial; the data name no hardware",
    read=_read,
    needs=("model", "system_name", "device_kind"),
    options={"metric": "column of measurements.csv"},
    basis="published",
    url=URL,
    citation="Shallue et al.: Measuring the Effects of Data Parallelism on Neural Network "
    "Training, JMLR 20 (112), 2019, http://jmlr.org/papers/v20/18-789.html",
    endings=(".json", ".csv"),
)
