"""The loss per doubling of devices and its uncertainty, chosen again by cluster."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from backtest.choose.choice import Choice, Setting, chosen, interval_score
from backtest.data.cases import Read
from backtest.questions.devices import BANDS, CLUSTERS, Runs, clusters, splits
from planner.core import LEVEL, Estimate, Floats, t_quantile
from planner.scaling import DOF, FADING, KAPPA, Places, ScalingCurve, fit_scaling, places_of

FADINGS: Final = (0.7, 0.75, 0.8, FADING, 0.9, 0.95, 1.0)
KAPPAS: Final = (0.02, 0.04, KAPPA, 0.12, 0.16, 0.2)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
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


def device_choices(read: Read) -> list[Choice]:
    """Return choices of FADING (mean error) and KAPPA (interval score at that fading)."""
    questions = [
        _Question(data_set=name, shown=shown, hidden=more)
        for (name, workloads), (most, first, last) in itertools.product(
            clusters(read).items(), BANDS
        )
        if name in CLUSTERS.values()
        for shown, more in splits(workloads, most, (first, last))
    ]
    return _fadings(questions) + _kappas(questions)


def _fadings(questions: Sequence[_Question]) -> list[Choice]:
    errors = [[_error(q, fading) for q in questions] for fading in FADINGS]
    settings = [Setting(words=f"{f:g}", values={"scaling.fit:FADING": f}) for f in FADINGS]
    names = [q.data_set for q in questions]
    return chosen("fading of doublings", settings, np.array(errors), names, f"{FADING:g}")


def _error(question: _Question, fading: float) -> float:
    prediction = question.predict(fading)
    if prediction is None:
        return np.nan
    return float(np.nanmean(np.abs(np.asarray(prediction[1].value) / question.hidden.step_s - 1.0)))


def _kappas(questions: Sequence[_Question]) -> list[Choice]:
    scores = np.array([_kappa_scores(q) for q in questions]).T
    settings = [Setting(words=f"{k:g}", values={"scaling.answers:KAPPA": k}) for k in KAPPAS]
    names = [q.data_set for q in questions]
    return chosen("uncertainty per doubling of devices", settings, scores, names, f"{KAPPA:g}")


def _kappa_scores(question: _Question) -> list[float]:
    """Return interval scores with the device part of the interval replaced."""
    prediction = question.predict(FADING)
    if prediction is None:
        return [np.nan] * len(KAPPAS)
    curve, estimate = prediction
    value, high = np.asarray(estimate.value), np.asarray(estimate.high)
    quantile = float(t_quantile(LEVEL, DOF))
    ships, octaves = (np.log(high / value) / quantile) ** 2, _octaves(curve, question.hidden)
    scores = []
    for kappa in KAPPAS:
        q = quantile * np.sqrt(ships + (kappa**2 - KAPPA**2) * octaves**2)
        score = interval_score(value * np.exp(-q), value * np.exp(q), question.hidden.step_s)
        scores.append(float(np.nanmean(score)))
    return scores


def _octaves(curve: ScalingCurve, far: Runs) -> Floats:
    """Return the doublings of devices beyond the largest measured count on their link."""
    at = places_of(curve, far.batch, far.devices, far.nodes, None)
    if not isinstance(at, Places):
        return np.full(far.devices.shape, np.nan)
    return np.maximum(np.log2(at.devices / curve.most_devices[at.link]), 0.0)
