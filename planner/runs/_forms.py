"""Forms of a network for inference (int8, pruned, distilled ...): speed-up and accuracy loss.

Speed is the largest measured throughput of a form, against that of the network as it was trained
on the same system, software and engine; accuracy is given in points lost against it.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from planner.core import Record


@dataclass(frozen=True, slots=True)
class FormRun:
    """One inference run: its form, where it ran, samples/s, accuracy [0..1] and parameters."""

    variant: str | None
    precision: str | None
    system: str
    software: str
    engine: str | None
    batch: int | None
    samples_per_s: float
    metric: float | None
    params: int | None
    metric_name: str | None

    @property
    def place(self) -> tuple[str, str, str]:
        """The fields that must be equal to compare two forms."""
        return self.system, self.software, self.engine or ""

    @property
    def form(self) -> str:
        """Its name in words."""
        if self.variant:
            return self.variant
        plain = self.precision in {None, "float32"}
        return "as trained, float32" if plain else str(self.precision)

    @property
    def changed(self) -> bool:
        """Whether it differs from the network as trained."""
        return bool(self.variant) or self.precision not in {None, "float32"}


def form_rows(runs: Iterable[FormRun]) -> list[Record]:
    """Return one row a form and place, the unchanged network first.

    Empty where no form was changed.
    """
    ordered = sorted(runs, key=lambda r: (*r.place, r.changed, r.form))
    rows: list[Record] = []
    for _, group in itertools.groupby(ordered, key=lambda r: r.place):
        here = list(group)
        if any(run.changed for run in here):
            rows += _of_place(here)
    return rows


def _of_place(here: Sequence[FormRun]) -> list[Record]:
    forms = {r.form: [x for x in here if x.form == r.form] for r in here}
    base = next((runs for runs in forms.values() if not runs[0].changed), None)
    return [_row(form, runs, base) for form, runs in forms.items()]


def _row(form: str, runs: Sequence[FormRun], base: Sequence[FormRun] | None) -> Record:
    fastest = max(runs, key=lambda r: r.samples_per_s)
    accuracy, unchanged = _accuracy(runs), _accuracy(base or ())
    lost = None if accuracy is None or unchanged is None else 100 * (unchanged - accuracy)
    return {
        "Form": form,
        "Samples/s": round(fastest.samples_per_s),
        "At batch": fastest.batch,
        "Speed-up": _speed_up(runs, base),
        "Accuracy": None if accuracy is None else f"{accuracy:.1%}",
        "Points lost": None if lost is None else round(lost, 1) + 0.0,
        "Parameters": fastest.params,
        "System": fastest.system,
        "Software": f"{fastest.software}, engine {fastest.engine}",
    }


def _accuracy(runs: Sequence[FormRun]) -> float | None:
    metrics = [r.metric for r in runs if r.metric is not None and r.metric_name == "accuracy"]
    return statistics.fmean(metrics) if metrics else None


def _speed_up(runs: Sequence[FormRun], base: Sequence[FormRun] | None) -> str | None:
    """Return the speed-up at the largest batch that both were measured at."""
    if not base:
        return None
    ours = {r.batch: r.samples_per_s for r in runs if r.batch}
    theirs = {r.batch: r.samples_per_s for r in base if r.batch}
    common = max(ours.keys() & theirs.keys(), default=None)
    return None if common is None else f"{ours[common] / theirs[common]:.2f}x at {common:,}"
