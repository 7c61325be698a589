"""The loss per doubling of devices and its uncertainty, chosen again by cluster."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from backtest.choose.choice import ConstantChoice, Setting, chosen, interval_score
from backtest.data.cases import Read
from backtest.questions.devices import (
    BANDS,
    CLUSTERS,
    TABLE_BANDS,
    TABLES,
    Runs,
    clusters,
    splits,
)
from planner.core import LEVEL, Estimate, Floats, t_quantile
from planner.scaling import (
    DOF,
    FADING,
    GROWTH_SD,
    KAPPA,
    ScalingCurve,
    StepPlaces,
    assumed_share,
    fit_scaling,
    places_of,
)

FADINGS: Final = (0.7, 0.75, 0.8, FADING, 0.9, 0.95, 1.0)
KAPPAS: Final = (0.02, 0.04, KAPPA, 0.12, 0.16, 0.2)
GROWTH_SDS: Final = (0.3, 0.5, GROWTH_SD, 0.85)
ROOT: Final = "the root of the octaves"
GROWTHS: Final = {"the octaves": 1.0, ROOT: 0.5, "one at any distance": 0.0}
"""Powers of the octaves by which the sd of an assumed growth could widen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _DeviceQuestion:
    """A workload of one cluster: shown and hidden runs."""

    data_set: str
    shown: Runs
    hidden: Runs

    def predict(self, fading: float) -> tuple[ScalingCurve, Estimate] | None:
        """Return the curve and its estimates; None if it refuses."""
        shown, far = self.shown, self.hidden
        curve = fit_scaling(shown.batch, shown.devices, shown.nodes, shown.step_s, fading=fading)
        if not isinstance(curve, ScalingCurve):
            return None
        estimate = curve.step_time(far.batch, far.devices, far.nodes)
        return (curve, estimate) if isinstance(estimate, Estimate) else None


def device_choices(read: Read) -> list[ConstantChoice]:
    """Return choices of FADING (mean error), and of KAPPA and GROWTH_SD (interval score)."""
    questions = [
        _DeviceQuestion(data_set=name, shown=shown, hidden=more)
        for (name, workloads), (most, first, last) in itertools.product(
            clusters(read).items(), BANDS
        )
        if name in CLUSTERS.values()
        for shown, more in splits(workloads, most, (first, last))
    ]
    tables = [
        _DeviceQuestion(data_set=name, shown=shown, hidden=more)
        for (name, curves_in), (most, first, last) in itertools.product(TABLES.items(), TABLE_BANDS)
        for shown, more in splits(curves_in(read), most, (first, last))
    ]
    return _fadings(questions) + _kappas(questions) + _growths(tables)


def _fadings(questions: Sequence[_DeviceQuestion]) -> list[ConstantChoice]:
    errors = [[_error(q, fading) for q in questions] for fading in FADINGS]
    settings = [Setting(words=f"{f:g}", values={"scaling.fit:FADING": f}) for f in FADINGS]
    names = [q.data_set for q in questions]
    return chosen("fading of doublings", settings, np.array(errors), names, f"{FADING:g}")


def _error(question: _DeviceQuestion, fading: float) -> float:
    prediction = question.predict(fading)
    if prediction is None:
        return np.nan
    return float(np.nanmean(np.abs(np.asarray(prediction[1].value) / question.hidden.step_s - 1.0)))


def _kappas(questions: Sequence[_DeviceQuestion]) -> list[ConstantChoice]:
    scores = np.array([_kappa_scores(q) for q in questions]).T
    settings = [Setting(words=f"{k:g}", values={"scaling.answers:KAPPA": k}) for k in KAPPAS]
    names = [q.data_set for q in questions]
    return chosen("uncertainty per doubling of devices", settings, scores, names, f"{KAPPA:g}")


def _kappa_scores(question: _DeviceQuestion) -> list[float]:
    """Return interval scores with the device part of the interval replaced."""
    prediction = question.predict(FADING)
    if prediction is None:
        return [np.nan] * len(KAPPAS)
    octaves = _octaves(prediction[0], question.hidden)
    changes = [(kappa**2 - KAPPA**2) * octaves**2 for kappa in KAPPAS]
    return _scores(prediction[1], changes, question.hidden.step_s)


def _growths(questions: Sequence[_DeviceQuestion]) -> list[ConstantChoice]:
    """Return choices of the sd of an assumed growth, and of how it widens with the octaves.

    Only questions about a link that was timed with one device count are scored.
    """
    settings = [
        Setting(words=f"{sd:g} times {words}", values={"scaling.answers:GROWTH_SD": sd})
        for words in GROWTHS
        for sd in GROWTH_SDS
    ]
    scored = [(q.data_set, _growth_scores(q)) for q in questions]
    scored = [(name, scores) for name, scores in scored if np.isfinite(scores).all()]
    return chosen(
        "growth of a link timed with one device count",
        settings,
        np.array([scores for _, scores in scored]).T,
        [name for name, _ in scored],
        f"{GROWTH_SD:g} times {ROOT}",
    )


def _growth_scores(question: _DeviceQuestion) -> list[float]:
    """Return interval scores with the part of an assumed growth replaced; NaN without one."""
    nothing = [np.nan] * (len(GROWTHS) * len(GROWTH_SDS))
    prediction = question.predict(FADING)
    far = question.hidden
    at = None if prediction is None else places_of(
        prediction[0], far.batch, far.devices, far.nodes, None
    )  # fmt: skip
    if prediction is None or not isinstance(at, StepPlaces):
        return nothing
    curve, estimate = prediction
    share, octaves = assumed_share(curve, at), np.nan_to_num(_octaves(curve, far))
    if not (share * octaves > 0.0).any():
        return nothing
    ships = (GROWTH_SD * share) ** 2 * octaves
    changes = [
        np.where(octaves > 0.0, (sd * share * octaves**power) ** 2, 0.0) - ships
        for power in GROWTHS.values()
        for sd in GROWTH_SDS
    ]
    return _scores(estimate, changes, far.step_s)


def _scores(estimate: Estimate, changes: Sequence[Floats], truth: Floats) -> list[float]:
    """Return the interval score for each change of the relative variance."""
    value, high = np.asarray(estimate.value), np.asarray(estimate.high)
    quantile = float(t_quantile(LEVEL, DOF))
    ships = (np.log(high / value) / quantile) ** 2
    spans = [quantile * np.sqrt(ships + change) for change in changes]
    return [
        float(np.nanmean(interval_score(value * np.exp(-q), value * np.exp(q), truth)))
        for q in spans
    ]


def _octaves(curve: ScalingCurve, far: Runs) -> Floats:
    """Return the doublings of devices beyond the largest measured count on their link."""
    at = places_of(curve, far.batch, far.devices, far.nodes, None)
    if not isinstance(at, StepPlaces):
        return np.full(far.devices.shape, np.nan)
    return np.maximum(np.log2(at.devices / curve.most_devices[at.link]), 0.0)
