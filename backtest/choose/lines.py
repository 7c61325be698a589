"""The priors of the straight line, and the corner's sharpness of steps to target, chosen again.

    E(B)^a = Emin^a + (Smin*B)^a

is the law of `planner.convergence.fit` for a = 1. Powers of E lie on a straight line over powers of
B, so the same fit works for every other a; Emin, Smin and Bcrit keep their meaning.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backtest.choose.choice import ConstantChoice, Setting, chosen, interval_score, mean_over
from backtest.data.cases import TASKS, Cases, CurveSets, MeasuredCurve, Read, cases_of
from backtest.questions.batch import CHECKS, may_answer, step_time_curves
from backtest.questions.convergence import convergence_curves, powers
from backtest.questions.convergence import may_answer as may_answer_convergence
from backtest.questions.figure import curve_weights
from backtest.questions.methods import lines_of
from planner.convergence import PRIOR
from planner.core import Floats, Text
from planner.fits import Lines, Prior, predict_lines
from planner.fits.lines import STEP_TIMES

SDS: Final = (0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.1, 0.12, 0.15, 0.2)
DOFS: Final = (1.0, 2.0, 4.0, 8.0)
SDS_PER_OCTAVE: Final = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3)
Names = tuple[str, str, str]
"""Names of sd, dof and sd per octave in the code."""
May = Callable[[Cases], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _LineQuestion:
    """Points that the product answers in one task of one data set, with their lines."""

    data_set: str
    lines: Lines
    batch: Floats
    truth: Floats
    weight: Floats


def prior_choices(read: Read) -> list[ConstantChoice]:
    """Return the chosen priors of step times and of samples to target."""
    batch = {n: c for n, c in step_time_curves(read).items() if n not in CHECKS}
    names = ("fits.lines:SD0", "fits.lines:NU0", "fits.lines:KAPPA")
    of_times = _choices("step times", _questions(batch, may_answer), STEP_TIMES, names)
    names = (
        "convergence.fit:PRIOR.sd",
        "convergence.fit:PRIOR.dof",
        "convergence.fit:PRIOR.sd_per_octave",
    )
    questions = _questions(convergence_curves(read), may_answer_convergence)
    return of_times + _choices("samples to target", questions, PRIOR, names)


def _choices(
    use: str, questions: list[_LineQuestion], ships: Prior, names: Names
) -> list[ConstantChoice]:
    grid = itertools.product(SDS, DOFS, SDS_PER_OCTAVE)
    priors = [Prior(sd=sd, dof=dof, sd_per_octave=far) for sd, dof, far in grid]
    scores = np.array([[_score(q, prior) for q in questions] for prior in priors])
    settings = [Setting(words=_words(p), values=_values(p, names)) for p in priors]
    return chosen(use, settings, scores, [q.data_set for q in questions], _words(ships))


def _questions(sets: CurveSets, may: May) -> list[_LineQuestion]:
    questions = []
    for (name, curves), splits in itertools.product(sets.items(), TASKS.values()):
        cases = cases_of(curves, splits)
        if cases.hidden_batch.size and (answered := may(cases)).any():
            questions.append(
                _LineQuestion(
                    data_set=name,
                    lines=lines_of(cases).of(cases.hidden_case[answered]),
                    batch=cases.hidden_batch[answered],
                    truth=cases.hidden_value[answered],
                    weight=curve_weights(cases.hidden_curve[answered]),
                )
            )
    return questions


def _score(question: _LineQuestion, prior: Prior) -> float:
    lines = replace(question.lines, prior=prior)
    _, low, high = predict_lines(lines, question.batch)
    return mean_over(interval_score(low, high, question.truth), question.weight)


def _words(prior: Prior) -> str:
    return Text("sd {sd:g}, dof {dof:g}, sd per octave {per_octave:g}",
                sd=prior.sd, dof=prior.dof, per_octave=prior.sd_per_octave)  # fmt: skip


def _values(prior: Prior, names: Names) -> dict[str, float]:
    return dict(zip(names, (prior.sd, prior.dof, prior.sd_per_octave), strict=True))


SHARPNESS: Final = (0.8, 1.0, 1.1, 1.25, 1.4, 1.5, 1.75, 2.0)
THREE_BATCHES: Final = "3 batches (ends, middle), the rest"


def form_choices(read: Read) -> list[ConstantChoice]:
    """Return the chosen sharpness of the corner, for three batches and over all tasks."""
    sets = convergence_curves(read)
    return [
        choice
        for use, tasks in (("three batches", (THREE_BATCHES,)), ("all questions", tuple(TASKS)))
        for choice in _corners(Text("corner of samples to target, {use}", use=use), sets, tasks)
    ]


def _corners(
    use: str, sets: dict[str, list[MeasuredCurve]], tasks: tuple[str, ...]
) -> list[ConstantChoice]:
    pairs = [
        (name, task)
        for name in sets
        for task in tasks
        if bool(cases_of(sets[name], TASKS[task]).hidden_batch.size)
    ]
    errors = [[_corner_error(sets[name], task, a) for name, task in pairs] for a in SHARPNESS]
    settings = [Setting(words=f"a = {a:g}") for a in SHARPNESS]
    return chosen(use, settings, np.array(errors), [name for name, _ in pairs], "a = 1")


def _corner_error(curves: list[MeasuredCurve], task: str, sharpness: float) -> float:
    cases = cases_of(curves, TASKS[task])
    answered = may_answer_convergence(cases)
    error = np.abs(powers(sharpness)(cases).value / cases.hidden_value - 1.0)[answered]
    return mean_over(error, curve_weights(cases.hidden_curve[answered]))
