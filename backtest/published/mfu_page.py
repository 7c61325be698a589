"""docs/efficiency.md: the fitted efficiency of described workloads, and its errors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from backtest.published.answers import scored
from backtest.published.mfu import (
    FAR,
    WAYS,
    Hidden,
    Study,
    Way,
    after_steps,
    pairs_of,
)
from planner.mfu import DOMAIN_OF, VERY_LONG, Fit
from planner.published import half_peak

INTRODUCTION: Final = """# Efficiency of described workloads

Made by `python -m planner mfu ../shared/library`. Efficiency is model operations per second and
device over the dense half-precision peak of the data sheet, at any precision of the run. Errors
are of the time, |predicted/measured - 1|; *coverage* is the share of true values inside the 90 %
interval, *width* the median of (high - low)/value. docs/decisions/0033 gives the reasons.

    ln e = coefficients x terms + effects of maker, generation, accelerator, number format, kind
           (and network) + shift of the family

A source (who wrote and tuned the software) has a separate effect in the fit. A prediction leaves
it out, and its sd is part of the interval. The shift is the mean effect of the published sources.

## Hidden rows

*Source out*: the fit has seen no row of the source. *Accelerator out*, *family out*: no row of the
accelerator or the family. *Row out*: a fourth of the rows is hidden, in turn. Errors of the shipped
constants on the rows of their fit are no evidence. Encoders have a separate fit: without that
family no row is left to fit.
"""
BETWEEN: Final = ("one generation", "one maker", "different makers")
MANY_NODES: Final = 8
SHOWN: Final = ("generation", "accelerator", "kind", "format", "maker")


def efficiency_page(study: Study) -> str:
    """Return the page."""
    parts = [INTRODUCTION, *_figures(study), "", "## Two accelerators", "", *_between(study)]
    parts += ["", "## A timed step", "", *_steps(study)]
    for domain, fit in study.fits.items():
        parts += ["", f"## Fit of {domain}", "", *_fit(fit)]
    return "\n".join(parts).rstrip() + "\n"


def _figures(study: Study) -> list[str]:
    lines = ["| family | rows | hidden | median | mean | coverage | width |", "|---" * 7 + "|"]
    return lines + [line for way, name in WAYS.items() for line in _of_way(study, way, name)]


def _of_way(study: Study, way: Way, name: str) -> list[str]:
    every = [prediction for predictions in study.hidden[way].values() for prediction in predictions]
    groups = {family: [o for o in every if o.row.family == family] for family in DOMAIN_OF}
    groups["dense, more than 8 nodes"] = [
        prediction for prediction in groups["dense"] if prediction.row.nodes > MANY_NODES
    ]
    groups[f"contexts above {VERY_LONG:,.0f} tokens"] = [
        prediction for prediction in every if (prediction.row.sequence or 0.0) > VERY_LONG
    ]
    return [
        _line(family, name, predictions) for family, predictions in groups.items() if predictions
    ]


def _line(family: str, name: str, predictions: Sequence[Hidden]) -> str:
    score = scored([prediction.answer for prediction in predictions])
    figures = (score.median, score.mean, score.held, score.width)
    cells = " | ".join("" if x is None else f"{x:.3g} %" for x in figures)
    return f"| {family} | {score.asked} | {name} | {cells} |"


def _between(study: Study) -> list[str]:
    lines = [
        "The sd of ln(ratio of two accelerators over its prediction), used to rank options:",
        "",
        f"| fit | {' | '.join(BETWEEN)} | pairs, source out | decided | correctly |",
        "|---" * 7 + "|",
    ]
    for domain, fit in study.fits.items():
        pairs, decided, right = decided_pairs(study.hidden["source"][domain], fit)
        sds = " | ".join(f"{sd:.2f}" for sd in fit.between)
        lines.append(f"| {domain} | {sds} | {pairs} | {decided} | {right} |")
    return lines


def _steps(study: Study) -> list[str]:
    lines = [
        "A step of the same workload was timed by the same source on other hardware; the fit has "
        "seen no row of the source. Each cell is before and after that step.",
        "",
        "| fit | step timed on | rows | median | coverage | width |",
        "|---" * 6 + "|",
    ]
    for domain, fit in study.fits.items():
        for name, rows in after_steps(study.hidden["source"][domain], fit).items():
            before, after = (scored([pair[i].answer for pair in rows]) for i in (0, 1))
            cells = (
                f"{x:.3g} % to {y:.3g} %"
                for x, y in (
                    (before.median, after.median), (before.held, after.held),
                    (before.width, after.width),
                )
            )  # fmt: skip
            lines.append(f"| {domain} | {name} | {len(rows)} | {' | '.join(cells)} |")
    return lines


def decided_pairs(predictions: Sequence[Hidden], fit: Fit) -> tuple[int, int, int]:
    """Return pairs of accelerators in one source, how many are decided, how many correctly."""
    pairs = decided = right = 0
    for a, b, kind in pairs_of(predictions):
        predicted, true = _log_speed(a) - _log_speed(b), _true(a) - _true(b)
        if true == 0.0:
            continue
        pairs += 1
        if abs(predicted) > FAR * fit.between[kind]:
            decided += 1
            right += (predicted > 0.0) is (true > 0.0)
    return pairs, decided, right


def _log_speed(prediction: Hidden) -> float:
    peak = half_peak(prediction.row.accelerator) or math.nan
    return prediction.value + math.log(peak / prediction.row.train_flops_per_sample)


def _true(prediction: Hidden) -> float:
    return math.log(prediction.row.samples_per_s)


def _fit(fit: Fit) -> list[str]:
    terms = [
        f"{name} {value:+.2f} ± {_sd(fit, name):.2f}"
        for (group, name), value in fit.values.items()
        if not group
    ]
    lines = [f"Coefficients: {_joined(terms)}.", ""]
    sds = [f"{name} {sd:.2f}" for name, sd in fit.sds.items()]
    lines += [f"Sds of effects: {_joined(sds)}; residual {fit.rest:.2f} (Student t, 4).", ""]
    shifts = [f"{name} {shift:+.2f}" for name, shift in fit.shifts.items()]
    lines += [f"Shifts: {_joined(shifts)}.", ""]
    for group in SHOWN:
        effects = [
            f"{label} {value:+.2f}" for (of, label), value in fit.values.items() if of == group
        ]
        lines += [f"Effects of {group}: {_joined(effects)}.", ""]
    return lines[:-1]


def _sd(fit: Fit, name: str) -> float:
    at = fit.columns.index(("", name))
    return float(np.sqrt(fit.covariance[at, at]))


def _joined(parts: Iterable[str]) -> str:
    return ", ".join(parts)
