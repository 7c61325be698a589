"""The fitted efficiency of a described workload: value, interval, parts, and a timed step.

*Efficiency* is model operations per second and device over the dense half-precision peak, whatever
the precision of the run, so that float8 may exceed 1. `constants.json` has the fit of
`python -m planner mfu DIR` to published tables.

    ln e = terms . coefficients + effects of maker, generation, accelerator, ... + shift of a family
    variance = constants + what is not in the tables (accelerator, generation, network)
               + source (who wrote and tuned the software) + rest

times the square of a family's calibration. `parts` splits the variance into parts in common with
all answers about one workload, with those of one maker and of one generation, and the
accelerator's own. Shared parts cancel between options.

One timed step moves the estimate by the shared part of its residual (`Efficiency.shared`: software,
maker and, if equal, generation and accelerator) and removes that part from the variance:

    gain = shared / (variance there + noise)
    ln e = ln e before + gain * ln(timed / expected there)
    sd   = WIDER * sqrt(variance before - gain * shared), at most the sd before

Limit: a step on another maker's accelerators is not used.

Evidence: docs/efficiency.md and docs/evidence.md#a-timed-step.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from scipy.special import ndtri

from planner.catalog import Accelerator
from planner.core import Floats, Text
from planner.mfu._questions import (
    Domain,
    MfuQuestion,
    Traits,
    benchmark_gain,
    generation_label,
    generation_name,
    generation_of,
    traits_of,
)
from planner.published import half_peak, own_peak

CONSTANTS: Final = Path(__file__).with_name("constants.json")
MOST_OF_OWN_PEAK: Final = 0.85
"""Of the peak of its own precision no described job is estimated to use more [share]."""
TAIL_VARIANCE: Final = 2.0
"""Variance of a Student t with 4 degrees of freedom over its squared scale; of 2 it has none, and
coverage of hidden sources shows that this is enough."""
WHO: Final = ("source", "source accelerator", "source model")
"""Groups that belong to who measured."""
ALONE: Final = frozenset({"group", "network"})
"""Groups with so many labels that their covariances with others are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """One fit: coefficients by (group, label), "" the group of terms; sds of groups; covariances.

    `columns` are those of the covariance (columns, columns); `own_variances` are of labels that
    have no covariances. `shifts` [ln] and `scales` are by family. `between` are the sds of
    ln(ratio) of two accelerators of one generation, of one maker, and of different makers.
    """

    values: Mapping[tuple[str, str], float]
    columns: tuple[tuple[str, str], ...]
    covariance: Floats
    own_variances: Mapping[tuple[str, str], float]
    sds: Mapping[str, float]
    rest: float
    shifts: Mapping[str, float]
    scales: Mapping[str, float]
    between: tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Efficiency:
    """Share of the half-precision peak [1] with the sd of its logarithm.

    `parts` are its components: constants, accelerator, generation, network, source, rest. `shared`
    splits the same total by what answers have in common: workload, maker, generation, accelerator.
    `peak` is the peak of its own precision over the half-precision one, the largest possible share.
    """

    value: float
    sd: float
    parts: Mapping[str, float]
    shared: Mapping[str, float]
    peak: float = math.inf

    def quantile(self, probability: float) -> float:
        """Return the efficiency that is not exceeded with this probability, at most the peak."""
        return min(self.value * math.exp(float(ndtri(probability)) * self.sd), self.peak)


def efficiency_of(question: MfuQuestion) -> Efficiency | None:
    """Return the efficiency of a described workload on hardware, by the fits that ship.

    None where no fit has its family, or the accelerator has no peak.
    """
    domain, most = question.domain, most_of(question)
    if domain is None or most is None:
        return None
    fit = shipped()[domain]
    log_value, parts = predicted(fit, traits_of(question))
    log_value += fit.shifts.get(question.family, 0.0)
    scale = fit.scales.get(question.family, 1.0)
    parts = {name: scale * sd for name, sd in parts.items()}
    sd = math.sqrt(sum(part**2 for part in parts.values()))
    return Efficiency(
        value=min(math.exp(log_value), most),
        sd=sd,
        parts=MappingProxyType(parts),
        shared=MappingProxyType(shared_of(fit, sd)),
        peak=most / MOST_OF_OWN_PEAK,
    )


def expected(question: MfuQuestion) -> float | None:
    """Return the value of `efficiency_of` alone, without its uncertainty; None as there."""
    domain, most = question.domain, most_of(question)
    if domain is None or most is None:
        return None
    fit = shipped()[domain]
    value = log_value(fit, traits_of(question)) + fit.shifts.get(question.family, 0.0)
    return min(math.exp(value), most)


def most_of(question: MfuQuestion) -> float | None:
    """Return the largest efficiency that is estimated [1]; None where a peak is not published."""
    half = half_peak(question.accelerator)
    own = own_peak(question.accelerator, question.precision)
    return None if half is None or own is None else MOST_OF_OWN_PEAK * own / half


def has_rows(question: MfuQuestion) -> bool:
    """Return whether accelerators of its generation are among the published runs."""
    domain = question.domain
    if domain is None:
        return False
    return ("generation", generation_label(question.accelerator)) in shipped()[domain].values


def benchmark_factor(question: MfuQuestion) -> float | None:
    """Return how many times as fast submissions to MLPerf run; None if its fit has no such term."""
    if question.domain != "encoder" and not benchmark_gain(question.family):
        return None
    plain, tuned = (expected(replace(question, benchmark=tuned)) for tuned in (False, True))
    return None if plain is None or tuned is None else tuned / plain


def quantiles(
    question: MfuQuestion, probabilities: Sequence[float] = (0.1, 0.5, 0.9)
) -> tuple[float, ...] | None:
    """Return quantiles of the efficiency [share of the half-precision peak]; None as above."""
    efficiency = efficiency_of(question)
    return None if efficiency is None else tuple(efficiency.quantile(p) for p in probabilities)


def log_value(fit: Fit, traits: Traits) -> float:
    """Return ln e without the shift of the family."""
    terms = math.fsum(term * fit.values.get(("", n), 0.0) for n, term in traits.terms.items())
    effects = math.fsum(fit.values.get(label, 0.0) for label in traits.labels.items())
    return traits.offset + terms + effects


def predicted(fit: Fit, traits: Traits) -> tuple[float, dict[str, float]]:
    """Return ln e without the shift of the family, and the sds of its parts, uncalibrated."""
    at = {column: i for i, column in enumerate(fit.columns)}
    used = np.zeros(len(fit.columns))
    alone, missing = 0.0, {"accelerator": 0.0, "generation": 0.0, "network": 0.0}
    for name, term in traits.terms.items():
        if ("", name) in at:
            used[at["", name]] = term
    for group, label in traits.labels.items():
        if (group, label) in fit.values:
            alone += fit.own_variances.get((group, label), 0.0)
            if (group, label) in at:
                used[at[group, label]] = 1.0
        else:
            missing[_PART_OF[group]] += fit.sds.get(group, 0.0) ** 2
    variances = {
        "constants": float(used @ fit.covariance @ used) + alone,
        **missing,
        "source": sum(fit.sds.get(group, 0.0) ** 2 for group in WHO),
        "rest": TAIL_VARIANCE * fit.rest**2,
        "more": traits.more_sd**2,
    }
    return log_value(fit, traits), {name: math.sqrt(max(v, 0.0)) for name, v in variances.items()}


_PART_OF: Final = {
    "maker": "generation",
    "generation": "generation",
    "accelerator": "accelerator",
    "format": "generation",
    "kind": "generation",
    "group": "network",
    "network": "network",
}


def shared_of(fit: Fit, sd: float) -> dict[str, float]:
    """Return an sd of ln by what it has in common: first with few options, then with all."""
    own, generation, maker = (x**2 / 2.0 for x in fit.between)
    steps = (own, max(generation - own, 0.0), max(maker - max(generation, own), 0.0))
    share = min(1.0, sd**2 / sum(steps)) if sum(steps) > 0.0 else 0.0
    parts = [math.sqrt(step * share) for step in steps]
    rest = math.sqrt(max(sd**2 - sum(p**2 for p in parts), 0.0))
    return {"accelerator": parts[0], "generation": parts[1], "maker": parts[2], "workload": rest}


def sharing_names(accelerator: Accelerator) -> Mapping[str, str]:
    """Return the words for the keys of `Efficiency.shared`."""
    return {
        "generation": Text(
            "Efficiency on {generation_name} accelerators",
            generation_name=generation_name(accelerator),
        ),
        "maker": Text("Efficiency on accelerators by {maker}", maker=accelerator.maker),
        "workload": "Efficiency of the workload's software",
    }


@cache
def shipped() -> Mapping[Domain, Fit]:
    """Return the fits that ship, by domain."""
    written = json.loads(CONSTANTS.read_text(encoding="utf-8"))
    return MappingProxyType({name: fit_of(fit) for name, fit in written["fits"].items()})


def fit_of(written: Mapping[str, Any]) -> Fit:
    """Return a fit from the output of `written_fit`."""
    columns = tuple((group, label) for group, label in written["columns"])
    size = len(columns)
    covariance = np.zeros((size, size))
    covariance[np.tril_indices(size)] = written["covariance"]
    covariance += np.tril(covariance, -1).T
    values = {(g, name): v for g, of in written["values"].items() for name, v in of.items()}
    alone = {(g, name): v for g, of in written["own_variances"].items() for name, v in of.items()}
    own, generation, maker = written["between"]
    return Fit(
        values=values,
        columns=columns,
        covariance=covariance,
        own_variances=alone,
        sds=written["sds"],
        rest=written["rest"],
        shifts=written["shifts"],
        scales=written["scales"],
        between=(own, generation, maker),
    )


def written_fit(fit: Fit) -> dict[str, Any]:
    """Return a fit as plain values, rounded to its precision."""
    values: dict[str, dict[str, float]] = {}
    for (group, label), value in fit.values.items():
        values.setdefault(group, {})[label] = round(value, 4)
    alone: dict[str, dict[str, float]] = {}
    for (group, label), variance in fit.own_variances.items():
        alone.setdefault(group, {})[label] = round(variance, 4)
    lower = fit.covariance[np.tril_indices(len(fit.columns))]
    return {
        "values": values,
        "columns": [list(column) for column in fit.columns],
        "covariance": [float(f"{x:.3g}") for x in lower],
        "own_variances": alone,
        "sds": {name: round(sd, 4) for name, sd in fit.sds.items()},
        "rest": round(fit.rest, 4),
        "shifts": {name: round(x, 4) for name, x in fit.shifts.items()},
        "scales": {name: round(x, 3) for name, x in fit.scales.items()},
        "between": [round(x, 3) for x in fit.between],
    }


REPEAT_SD: Final = 0.06
"""Of ln(speed) between two runs of one configuration."""
COUNT_SD: Final = 0.085
"""Of ln(speed per accelerator), for the root of each doubling of their number."""
WIDER: Final = 1.25
"""Factor on the sd that remains after a timed step."""
EVERYTHING: Final = frozenset({"workload", "maker", "generation", "accelerator"})
"""Keys of the uncertainty in common of two runs on one accelerator."""


def after_step(question: MfuQuestion, timed: MfuQuestion, share: float) -> Efficiency | None:
    """Return the efficiency of a question, given that of a timed step.

    Args:
        question: the workload on hardware.
        timed: the same workload where its step was timed.
        share: of the half-precision peak that the step reached there [1], above 0.

    Returns:
        None where `efficiency_of` has none for either.
    """
    prior, there = efficiency_of(question), efficiency_of(timed)
    if prior is None or there is None:
        return None
    alike = shared_by(question.accelerator, timed.accelerator)
    gain, common = gain_of(
        prior.shared, there.shared, alike, abs(math.log2(question.devices / timed.devices))
    )
    value = prior.value * (share / there.value) ** gain
    sd = sd_left(prior.sd, gain, common)
    most = most_of(question)
    return replace(
        prior,
        value=value if most is None else min(value, most),
        sd=sd,
        parts=_scaled(prior.parts, sd / prior.sd),
        shared=_scaled(prior.shared, sd / prior.sd),
    )


def sd_after(efficiency: Efficiency, alike: Collection[str]) -> float:
    """Return the sd of ln(efficiency) after a timed step with this common uncertainty."""
    gain, common = gain_of(efficiency.shared, efficiency.shared, alike, 0.0)
    return sd_left(efficiency.sd, gain, common)


def sd_left(sd: float, gain: float, common: float, wider: float = WIDER) -> float:
    """Return the sd of ln after a step, from that before and the two numbers of `gain_of`."""
    return min(sd, wider * math.sqrt(sd**2 - gain * common))


def gain_of(
    shared: Mapping[str, float],
    there: Mapping[str, float],
    alike: Collection[str],
    doublings: float,
) -> tuple[float, float]:
    """Return the gain of a timed step, and the variance of ln that it shares with the answer.

    Args:
        shared: sds of the answer by whom they are shared with, as `Efficiency.shared`.
        there: the same where the step was timed.
        alike: the keys of both that they have in common.
        doublings: of the device count between the two, without a sign [log2].
    """
    common = math.fsum(shared[x] * there[x] for x in alike)
    noise = REPEAT_SD**2 + COUNT_SD**2 * doublings
    return common / (math.fsum(sd**2 for sd in there.values()) + noise), common


def shared_by(own: Accelerator, there: Accelerator) -> frozenset[str]:
    """Return the common uncertainty of two runs of one workload, by `Efficiency.shared`."""
    if own.id == there.id:
        return EVERYTHING
    if own.maker != there.maker:
        return frozenset()
    generation = generation_of(own)
    if generation and generation == generation_of(there):
        return frozenset({"workload", "maker", "generation"})
    return frozenset({"workload", "maker"})


def _scaled(parts: Mapping[str, float], by: float) -> Mapping[str, float]:
    return MappingProxyType({name: sd * by for name, sd in parts.items()})
