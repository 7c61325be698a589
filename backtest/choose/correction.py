"""Correction of a line by its points: when, how far and by how much, chosen again.

When and how far are chosen by the mean error, as they move the estimate; the sizes of the process
by the interval score.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backtest.choose.choice import ConstantChoice, Setting, chosen, interval_score, mean_over
from backtest.data.cases import TASKS, Cases, CurveSets, Ints, Read, cases_of
from backtest.questions.batch import CHECKS, may_answer, step_time_curves
from backtest.questions.figure import curve_weights
from backtest.questions.methods import scatter
from planner.core import Floats, Text
from planner.fits import (
    BEND,
    GONE,
    LEAST,
    WIDER,
    Process,
    fit_corrected,
    fit_lines,
    predict_corrected,
    predict_lines,
)
from planner.fits.corrected import STEP_TIMES, corrected

INSIDE: Final = "one batch left out between others"
TWICE: Final = "twice the largest"
FAR: Final = "four times the largest"
NEVER: Final = "never"
OWN: Final = "where its own points, left out in turn, are missed by less"
ALWAYS: Final = "always"
SCATTERED: Final[Mapping[str, float]] = {"above 5 % scatter": 0.05, "above 3 % scatter": 0.03}
RULES: Final = (NEVER, *SCATTERED, OWN, ALWAYS)
"""Rules for correcting a line through four or more batch sizes."""
REACHES: Final[Mapping[float, str]] = {
    GONE: "in full up to twice the largest, nothing from four times on",
    np.inf: "in full everywhere",
}
AMPLITUDES: Final = (0.1, 0.15, 0.2)
LENGTHS: Final = tuple(float(np.log(n)) for n in (4, 16, 64))
NUGGETS: Final = (0.02, 0.03, 0.04)
DOFS: Final = (2.0, 4.0)
BENDS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
WIDTHS: Final = (0.0, 0.25, 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class _CorrectionQuestion:
    """One task of one data set."""

    data_set: str
    cases: Cases

    def error(self, value: Floats) -> float:
        """Return the mean error over the points that the product answers."""
        answered, weight = self._answered()
        return mean_over(np.abs(value / self.cases.hidden_value - 1.0)[answered], weight)

    def score(self, low: Floats, high: Floats) -> float:
        """Return the mean interval score over the same points."""
        answered, weight = self._answered()
        return mean_over(interval_score(low, high, self.cases.hidden_value)[answered], weight)

    def _answered(self) -> tuple[Ints, Floats]:
        answered = np.flatnonzero(may_answer(self.cases))
        return answered, curve_weights(self.cases.hidden_curve[answered])


def correction_choices(read: Read) -> list[ConstantChoice]:
    """Return rule, reach and sizes of the correction, without each data set."""
    sets = {n: c for n, c in step_time_curves(read).items() if n not in CHECKS}
    near, all_of = _questions(sets, (INSIDE, TWICE)), _questions(sets, (INSIDE, TWICE, FAR))
    return _rules(near) + _reaches(all_of) + _sizes(near) + _above(_questions(sets, (TWICE, FAR)))


def _questions(sets: CurveSets, tasks: Sequence[str]) -> list[_CorrectionQuestion]:
    cut = ((name, cases_of(curves, TASKS[t])) for name, curves in sets.items() for t in tasks)
    return [
        _CorrectionQuestion(data_set=name, cases=cases)
        for name, cases in cut
        if cases.hidden_batch.size and may_answer(cases).any()
    ]


def _rules(questions: Sequence[_CorrectionQuestion]) -> list[ConstantChoice]:
    errors = np.array([_rule_errors(q) for q in questions]).T
    settings = [Setting(words=rule) for rule in RULES]
    use = Text("when a line of {least} or more batch sizes is corrected", least=LEAST)
    return chosen(use, settings, errors, [q.data_set for q in questions], ALWAYS)


def _rule_errors(question: _CorrectionQuestion) -> list[float]:
    cases = question.cases
    fit = fit_corrected(cases.shown_case, cases.shown_batch, cases.shown_value)
    lines = fit.lines.of(cases.hidden_case)
    plain = predict_lines(lines, cases.hidden_batch)[0]
    bent = predict_corrected(fit, cases.hidden_case, cases.hidden_batch)[0]
    spread = scatter(lines)
    use = {NEVER: np.zeros(plain.shape, dtype=bool), ALWAYS: np.ones(plain.shape, dtype=bool)}
    use |= {words: np.asarray(spread > most) for words, most in SCATTERED.items()}
    use[OWN] = _better_left_out(cases)[cases.hidden_case]
    return [question.error(np.where(use[rule], bent, plain)) for rule in RULES]


def _better_left_out(cases: Cases) -> NDArray[np.bool_]:
    """Return the cases whose left-out points the corrected line misses by no more.

    Four points leave three, whose line is not corrected: both miss by the same.
    """
    case, batch, value = cases.shown_case, cases.shown_batch, cases.shown_value
    left, shown = _others(case)
    lines = fit_lines(left, batch[shown], value[shown])
    fit = corrected(lines, left, batch[shown], value[shown])
    predictions = (
        predict_lines(lines, batch)[0],
        predict_corrected(fit, np.arange(case.size), batch)[0],
    )
    plain, bent = (np.bincount(case, np.log(t / value) ** 2) for t in predictions)
    return np.asarray(bent <= plain)


def _others(case: Ints) -> tuple[Ints, Ints]:
    """Return all pairs of different points of each case, as indices; cases are in order."""
    count = np.bincount(case)
    start = (np.cumsum(count) - count)[case]
    point = np.repeat(np.arange(case.size), count[case])
    nth = np.arange(point.size) - np.repeat(np.cumsum(count[case]) - count[case], count[case])
    other = start[point] + nth
    return point[point != other], other[point != other]


def _reaches(questions: Sequence[_CorrectionQuestion]) -> list[ConstantChoice]:
    fits = [
        fit_corrected(q.cases.shown_case, q.cases.shown_batch, q.cases.shown_value)
        for q in questions
    ]
    errors = [
        [
            q.error(predict_corrected(f, q.cases.hidden_case, q.cases.hidden_batch, gone=gone)[0])
            for q, f in zip(questions, fits, strict=True)
        ]
        for gone in REACHES
    ]
    settings = [Setting(words=words) for words in REACHES.values()]
    names = [q.data_set for q in questions]
    return chosen("how far a correction reaches", settings, np.array(errors), names, REACHES[GONE])


def _sizes(questions: Sequence[_CorrectionQuestion]) -> list[ConstantChoice]:
    grid = itertools.product(AMPLITUDES, LENGTHS, NUGGETS, DOFS)
    processes = [Process(amplitude=a, length=c, nugget=n, dof=d) for a, c, n, d in grid]
    scores = np.array([[_size_score(q, process) for q in questions] for process in processes])
    settings = [Setting(words=_words(p), values=_values(p)) for p in processes]
    names = [q.data_set for q in questions]
    return chosen("sizes of the correction", settings, scores, names, _words(STEP_TIMES))


def _above(questions: Sequence[_CorrectionQuestion]) -> list[ConstantChoice]:
    """Return choices of bend (mean error) and width (interval score) above the range."""
    names = [q.data_set for q in questions]
    errors = np.array([[_bend_error(q, bend) for q in questions] for bend in BENDS])
    settings = [Setting(words=f"{b:g}", values={"fits.corrected:BEND": b}) for b in BENDS]
    bends = chosen("bend above the range", settings, errors, names, f"{BEND:g}")
    scores = np.array([[_size_score(q, Process(wider=w)) for q in questions] for w in WIDTHS])
    settings = [Setting(words=f"{w:g}", values={"fits.corrected:WIDER": w}) for w in WIDTHS]
    return bends + chosen("wider above the range", settings, scores, names, f"{WIDER:g}")


def _bend_error(question: _CorrectionQuestion, bend: float) -> float:
    cases, process = question.cases, Process(bend=bend)
    fit = fit_corrected(cases.shown_case, cases.shown_batch, cases.shown_value, process)
    return question.error(predict_corrected(fit, cases.hidden_case, cases.hidden_batch)[0])


def _size_score(question: _CorrectionQuestion, process: Process) -> float:
    cases = question.cases
    fit = fit_corrected(cases.shown_case, cases.shown_batch, cases.shown_value, process)
    _, low, high = predict_corrected(fit, cases.hidden_case, cases.hidden_batch)
    return question.score(low, high)


def _words(process: Process) -> str:
    return Text(
        "amplitude {amplitude:g}, length {octaves:g} octaves, nugget {nugget:g}, dof {dof:g}",
        amplitude=process.amplitude, octaves=process.length / np.log(2.0), nugget=process.nugget,
        dof=process.dof,
    )  # fmt: skip


def _values(process: Process) -> dict[str, float]:
    return {
        "fits.corrected:AMPLITUDE": process.amplitude,
        "fits.corrected:LENGTH": process.length,
        "fits.corrected:NUGGET": process.nugget,
        "fits.corrected:NU0": process.dof,
    }
