"""Constants of the law of published series, chosen again without each source.

The tables of data/tables/published have the questions of `backtest.published.measured`: the larger
half of a series' device counts from the smaller half. The link between nodes that no run crossed
is chosen on sweeps with several batches at each count: runs on several nodes from those on one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from backtest.choose.choice import ConstantChoice, Setting, chosen, interval_score
from backtest.data.cases import Read
from backtest.published.measured import halves, series_of
from backtest.questions.devices import CLUSTERS, TABLES, Runs, clusters
from planner.core import LEVEL, Estimate, Floats, t_quantile
from planner.published import read_rows
from planner.scaling import CROSSED_LOSS, CROSSED_SD, DOF, PUBLISHED, ScalingCurve, fit_scaling

LIBRARY: Final = Path(__file__).resolve().parents[2] / "data" / "tables" / "published"
TRIED: Final[Mapping[str, tuple[float, ...]]] = {
    "loss": (0.0, 0.01, PUBLISHED.loss, 0.02, 0.03),
    "fewer": (0.06, 0.08, PUBLISHED.fewer, 0.12, 0.15),
    "power": (0.1, 0.2, PUBLISHED.power, 0.4, 0.5),
    "trend": (0.0, 0.25, PUBLISHED.trend, 0.75, 1.0),
    "spread": (0.03, 0.04, PUBLISHED.spread, 0.05, 0.06, 0.08),
}
"""Values of each constant of the law; the others are as shipped."""
USES: Final[Mapping[str, str]] = {
    "loss": "published scaling law, loss",
    "fewer": "published scaling law, fewer samples",
    "power": "published scaling law, power of the step",
    "trend": "published scaling law, own trend",
    "spread": "published scaling law, sd",
}
LOSSES: Final = (0.0, 0.03, CROSSED_LOSS, 0.08, 0.1, 0.15)
SDS: Final = (0.1, CROSSED_SD, 0.2, 0.25, 0.3, 0.4)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Series:
    """The curve of the shown runs of one source, and the hidden runs."""

    source: str
    curve: ScalingCurve
    hidden: Runs

    def predict(self, curve: ScalingCurve) -> tuple[Floats, Floats, Floats] | None:
        """Return value and ends of the hidden steps [s]; None where one is refused."""
        hidden = self.hidden
        estimate = curve.step_time(hidden.batch, hidden.devices, hidden.nodes)
        if not isinstance(estimate, Estimate) or not np.isfinite(estimate.arrays).all():
            return None
        value, low, high = estimate.arrays
        return value, low, high


def law_choices(read: Read) -> list[ConstantChoice]:
    """Return the choices of the law, and those of the link between nodes that no run crossed."""
    rows, _ = read_rows(LIBRARY)
    questions = [
        _Series(source=series.source, curve=curve, hidden=hidden)
        for series in series_of(rows)
        for shown, hidden in [halves(series.runs)]
        if (curve := _curve(shown)) is not None and curve.published is not None
    ]
    choices = [choice for name in TRIED for choice in _of_law(questions, name)]
    return choices + _of_link(_sweeps(read))


def _curve(shown: Runs) -> ScalingCurve | None:
    try:
        curve = fit_scaling(shown.batch, shown.devices, shown.nodes, shown.step_s)
    except ValueError:  # a table may hold any number
        return None
    return curve if isinstance(curve, ScalingCurve) else None


def _of_law(questions: Sequence[_Series], name: str) -> list[ConstantChoice]:
    """Return the choices of one constant: by interval score for the sd, else by mean error."""
    scores, sources = [], []
    for question in questions:
        answers = [question.predict(_with(question.curve, name, value)) for value in TRIED[name]]
        answered = [answer for answer in answers if answer is not None]
        if len(answered) == len(answers):
            scores.append(
                [_score(a, question.hidden.step_s, sd=name == "spread") for a in answered]
            )
            sources.append(question.source)
    settings = [
        Setting(words=f"{value:g}", values={f"scaling._terms:PUBLISHED.{name}": value})
        for value in TRIED[name]
    ]
    ships = f"{getattr(PUBLISHED, name):g}"
    return chosen(USES[name], settings, np.array(scores).T, sources, ships) if scores else []


def _with(curve: ScalingCurve, name: str, value: float) -> ScalingCurve:
    """Return the curve with one constant of its law replaced."""
    law = curve.published
    if law is None:
        return curve
    return replace(curve, published=replace(law, law=replace(law.law, **{name: value})))


def _score(answer: tuple[Floats, Floats, Floats], truth: Floats, *, sd: bool) -> float:
    value, low, high = answer
    return float(np.mean(interval_score(low, high, truth) if sd else np.abs(value / truth - 1.0)))


def _sweeps(read: Read) -> list[_Series]:
    """Return the sweeps with several batches at a count, by runs on one node and on several."""
    sets = {name: of for name, of in clusters(read).items() if name in CLUSTERS.values()}
    sets |= {name: curves_in(read) for name, curves_in in TABLES.items()}
    sweeps = []
    for name, workloads in sets.items():
        for runs in workloads:
            inside = runs.nodes == 1.0
            if inside.all() or np.unique(runs.devices[inside]).size < 2:
                continue
            curve = _curve(runs.only(inside))
            law = None if curve is None else curve.published
            if curve is not None and law is not None and not law.everywhere:
                near = runs.batch <= curve.answers_up_to_batch
                hidden = runs.only(~inside & near & (runs.batch >= curve.answers_from_batch))
                sweeps.append(_Series(source=name, curve=curve, hidden=hidden))
    return [sweep for sweep in sweeps if sweep.hidden.step_s.size]


def _of_link(sweeps: Sequence[_Series]) -> list[ConstantChoice]:
    """Return the choices of loss (mean error) and sd (interval score) of such a link."""
    answered = [(s, a) for s in sweeps if (a := s.predict(s.curve)) is not None]
    if not answered:
        return []
    quantile = float(t_quantile(LEVEL, DOF))
    errors, scores = [], []
    for sweep, (value, _, high) in answered:
        truth = sweep.hidden.step_s
        more = [value * np.exp(loss - CROSSED_LOSS) for loss in LOSSES]
        errors.append([float(np.mean(np.abs(v / truth - 1.0))) for v in more])
        ships = (np.log(high / value) / quantile) ** 2
        far = [np.exp(quantile * np.sqrt(ships + sd**2 - CROSSED_SD**2)) for sd in SDS]
        scores.append([float(np.mean(interval_score(value / f, value * f, truth))) for f in far])
    names = [sweep.source for sweep, _ in answered]
    at = "scaling._terms:CROSSED_"
    losses = [Setting(words=f"{x:g}", values={f"{at}LOSS": x}) for x in LOSSES]
    sds = [Setting(words=f"{x:g}", values={f"{at}SD": x}) for x in SDS]
    by_error, by_score = np.array(errors).T, np.array(scores).T
    return [
        *chosen("link that no run crossed, loss", losses, by_error, names, f"{CROSSED_LOSS:g}"),
        *chosen("link that no run crossed, sd", sds, by_score, names, f"{CROSSED_SD:g}"),
    ]
