"""Which constants would we choose, had we not seen one of the data sets?

What is minimised is the interval score of Gneiting & Raftery 2007 on the logarithm: the width of
the nominal interval plus 2/(1 - level) times how far the truth lies outside. It rewards narrow
intervals that hold and cannot be fooled by wide ones. Every curve counts the same within a task
and a data set, every task and data set the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from planner.backtest.batch import CHECK, may_answer, step_time_curves
from planner.backtest.cases import TASKS, Cases, cases_of
from planner.backtest.convergence import convergence_curves
from planner.backtest.convergence import may_answer as may_answer_convergence
from planner.backtest.methods import corrected_line, lines_of, scatter, straight_line
from planner.backtest.rows import curve_weights
from planner.backtest.source import CurveSets, Read
from planner.convergence import PRIOR
from planner.corrected import LEAST
from planner.estimate import LEVEL, Floats
from planner.lines import STEP_TIMES, Lines, Prior, predict_lines

SDS: Final = (0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.1, 0.12, 0.15, 0.2)
DOFS: Final = (1.0, 2.0, 4.0, 8.0)
SDS_PER_OCTAVE: Final = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3)
NOTHING: Final = "none of them"
THRESHOLDS: Final[Mapping[str, float]] = {
    "never": np.inf,
    "above 5 % scatter": 0.05,
    "above 3 % scatter": 0.03,
    "always": 0.0,
}
"""When a line of four or more points is corrected."""
RULE_TASKS: Final = ("one batch left out between others", "twice the largest")
Mask = NDArray[np.bool_]
May = Callable[[Cases], Mask]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What the other data sets choose where one is left out."""

    use: str
    left_out: str
    chosen: str
    ships: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """Points the product answers in one task of one data set, with the line of each."""

    data_set: str
    lines: Lines
    batch: Floats
    truth: Floats
    weight: Floats


def choices(read: Read) -> list[Choice]:
    """For step times, samples to target and the rule of the corrected line."""
    batch = {n: c for n, c in step_time_curves(read).items() if n != CHECK}
    told = _prior_choices("step times", batch, may_answer, STEP_TIMES)
    told += _prior_choices(
        "samples to target", convergence_curves(read), may_answer_convergence, PRIOR
    )
    return told + _rule_choices(batch)


def interval_score(low: Floats, high: Floats, truth: Floats, level: float = LEVEL) -> Floats:
    """Width plus the punished misses, on the logarithm; the smaller the better."""
    log_low, log_high, log_truth = np.log(low), np.log(high), np.log(truth)
    missed = np.maximum(log_low - log_truth, 0.0) + np.maximum(log_truth - log_high, 0.0)
    return np.asarray(log_high - log_low + 2.0 / (1.0 - level) * missed)


def _prior_choices(use: str, sets: CurveSets, may: May, ships: Prior) -> list[Choice]:
    questions = _questions(sets, may)
    priors = [
        Prior(sd=sd, dof=dof, sd_per_octave=far)
        for sd, dof, far in itertools.product(SDS, DOFS, SDS_PER_OCTAVE)
    ]
    scores = np.array([[_score(q, prior) for q in questions] for prior in priors])
    names = [q.data_set for q in questions]
    best = _left_out(scores, names)
    return [
        Choice(use=use, left_out=name, chosen=_words(priors[i]), ships=_words(ships))
        for name, i in best.items()
    ]


def _questions(sets: CurveSets, may: May) -> list[_Question]:
    found = []
    for (name, curves), splits in itertools.product(sets.items(), TASKS.values()):
        cases = cases_of(curves, splits)
        if cases.asked_batch.size and (told := may(cases)).any():
            found.append(
                _Question(
                    data_set=name,
                    lines=lines_of(cases).of(cases.asked_case[told]),
                    batch=cases.asked_batch[told],
                    truth=cases.asked_value[told],
                    weight=curve_weights(cases.asked_curve[told]),
                )
            )
    return found


def _score(question: _Question, prior: Prior) -> float:
    lines = replace(question.lines, prior=prior)
    _, low, high = predict_lines(lines, question.batch)
    score = interval_score(low, high, question.truth)
    return float(score @ question.weight / question.weight.sum())


def _left_out(scores: Floats, names: Sequence[str]) -> dict[str, int]:
    """The candidate with the least mean score over the other data sets; scores (candidates, q).

    Nothing is chosen from no data set, and nothing left out of a single one.
    """
    sets = list(dict.fromkeys(names))
    if not sets:
        return {}
    where = np.array([sets.index(name) for name in names])
    means = np.stack([scores[:, where == i].mean(axis=1) for i in range(len(sets))])
    best = {NOTHING: int(means.mean(axis=0).argmin())}
    for i, name in enumerate(sets if len(sets) > 1 else ()):
        best[name] = int(np.delete(means, i, axis=0).mean(axis=0).argmin())
    return best


def _words(prior: Prior) -> str:
    return f"sd {prior.sd:g}, dof {prior.dof:g}, sd per octave {prior.sd_per_octave:g}"


def _rule_choices(sets: CurveSets) -> list[Choice]:
    errors, names = [], []
    for (name, curves), task in itertools.product(sets.items(), RULE_TASKS):
        cases = cases_of(curves, TASKS[task])
        if cases.asked_batch.size and (told := may_answer(cases)).any():
            errors.append(_rule_errors(cases, told))
            names.append(name)
    rules = list(THRESHOLDS)
    best = _left_out(np.array(errors).T, names)
    use = f"when a line of {LEAST} or more points is corrected"
    return [
        Choice(use=use, left_out=name, chosen=rules[i], ships="never (compared only)")
        for name, i in best.items()
    ]


def _rule_errors(cases: Cases, told: Mask) -> list[float]:
    """Mean error of every rule over the points answered."""
    plain, bent = straight_line()(cases).value, corrected_line(cases).value
    spread = scatter(lines_of(cases).of(cases.asked_case))
    weight = curve_weights(cases.asked_curve[told])
    found = []
    for threshold in THRESHOLDS.values():
        value = np.where(spread > threshold, bent, plain)[told]
        error = np.abs(value / cases.asked_value[told] - 1.0)
        found.append(float(error @ weight / weight.sum()))
    return found
