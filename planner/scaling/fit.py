"""The step time on n devices, and the gain of further ones.

    T(b, n) = t + b/v0 + link                                               [s]
    link = 0                        one device
         = a1 + a2*g(n)             several devices of one node
         = c1 + c2*g(n)             several nodes
    g(n) = 1 + r + r^2 + ...        one summand per doubling of n, r = FADING

b is the batch per device, v0 the asymptotic throughput of one device [samples/s] and t its
overhead per step [s], as in `planner.throughput.fit`. Every term is at least 0. A link has a
constant cost (a1, c1) and a cost that grows with the doublings of n (a2, c2). Each doubling costs r
of the one before: r = 1 is a reduction tree, g = log2(n), and r = 1/2 a ring, g = 2(n - 1)/n. Runs
whose cost clearly grows in proportion to the devices have r = STEEP. There n counts the devices of
a node, which share its host, unless the runs clearly show that all count: g = n - 1. Each launch
mode beyond the fastest adds a constant. Weights are 1/T^2, because the scatter of times is
proportional to them. The fit is non-negative least squares.

Limits: a single device or launch mode without a run is refused. Several nodes that no run crossed
are assumed to cost what the link in a node does, and CROSSED_LOSS of a step more, with an sd of
CROSSED_SD; the other way round without that loss. Where the runs do not determine an answer, and
everywhere in series with one batch at each count, the law of published series answers
(`planner.scaling._terms`). All these have the basis "similar workload". Scatter above `MAX_SCATTER`
of `planner.throughput.fit` causes a warning, and no answer is "measured". Above `NO_FORM` that law
alone answers.

Evidence: docs/evidence.md#scaling-over-devices. Reasons: docs/decisions/0014-scaling.md.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.core import LEVEL, Estimate, Floats, Refusal, Text, plain, plural, several
from planner.scaling._terms import (
    LINKS,
    Growing,
    StepPlaces,
    Terms,
    fit_terms,
    largest_count,
    runs_in_order,
)
from planner.scaling.answers import LinkCost, ScalingCurve
from planner.throughput import FAR, MAX_SCATTER, NARROW, TOO_FAR

FADING: Final = 0.85
"""Cost of a doubling of the devices over the one before [share]."""
STEEP: Final = 2.0
"""The same where the cost grows in proportion to the devices: g(n) = n - 1."""
STEEP_EVIDENCE: Final = 10.0
"""Twice the logarithm of the likelihood ratio above which `STEEP` replaces the given share.

Kass and Raftery (1995) call it very strong evidence.
"""
STEEP_SPARE: Final = 12
"""Fewest runs beyond the terms that show it."""
_EXACT: Final = 1e-12
STEEP_LINK: Final = (
    "The cost of the link grows in proportion to the devices.",
    "The cost of the link grows in proportion to the devices of a node.",
)
"""Stated where that is; the second where g counts the devices of a node."""
ASSUMED: Final = "One device count was measured: half of the cost is assumed to grow with it."
NO_FORM: Final = 0.3
"""Relative scatter above which the form is rejected: the worst of 15 public workloads has 29 %."""
FALLEN: Final = 0.05
"""Share by which a step gets shorter with more devices at one batch per device to have fallen."""
ROUGH: Final = 0.2
"""Share of neighbouring counts with fallen steps above which nothing is extrapolated."""
ROUGH_PAIRS: Final = 12
"""Fewest pairs of neighbouring counts that show it."""
UNCHECKED: Final = "There are no more runs than terms: nothing checks this fit."


def fit_scaling(
    per_device_batch_size: ArrayLike,
    devices: ArrayLike,
    nodes: ArrayLike,
    step_s: ArrayLike,
    launch: Sequence[str] | None = None,
    *,
    level: float = LEVEL,
    fading: float = FADING,
) -> ScalingCurve | Refusal:
    """Return the fit of step times over batch per device, devices and nodes.

    Minimises sum(((T(b, n) - step_s)/step_s)^2) with every term at least 0. Where a link was
    measured with one device count, half of its cost is assumed to grow. Where the runs do not
    determine an answer, as in published series with one batch per device count, the law of
    `planner.scaling._terms` continues from the largest measured count. A link of several devices
    without runs is assumed to cost what the measured one does.

    Args:
        per_device_batch_size: samples per step on one device, 1e-100 to 1e100, shape (runs,).
        devices: device counts, whole numbers from 1, shape (runs,).
        nodes: node counts, from 1 to `devices`, shape (runs,).
        step_s: seconds of one step, 1e-100 to 1e100, shape (runs,).
        launch: how the processes were started, one name per run; None where all were the same.
        level: coverage of every interval [share].
        fading: r, the cost of a doubling over the one before, above 0 up to 1.

    Returns:
        The curve, or a `Refusal` where only one device count was measured. Where the runs scatter
        by more than `NO_FORM` about the form, its terms are refused and the published law alone
        answers; with several launch modes there is no curve.

    Raises:
        ValueError: shapes differ, there are no runs, or a value is not a number or impossible; it
            names them all.
    """
    if not 0.0 < fading <= 1.0:
        raise ValueError(
            Text("fading is {fading:g}. Give a share above 0 and at most 1.", fading=fading)
        )
    runs, times, modes = runs_in_order(per_device_batch_size, devices, nodes, step_s, launch)
    if np.unique(runs.devices).size == 1:
        return _refuse_one_count(int(runs.devices[0]))
    terms = _terms_of(runs, times, len(modes), fading, level)
    fitted_s = terms.questions(runs) @ terms.value
    residuals = fitted_s / times - 1.0
    scattered: Refusal | None = None
    if terms.scatter > NO_FORM:
        scattered = _refuse_scatter(terms.scatter, runs.only(np.argsort(np.abs(residuals))[-1:]))
        if len(modes) > 1:
            return scattered
    fewest, most = _ranges(runs.devices, runs.link)
    start, end, limit = _limits(np.unique(runs.batch))
    fastest = _fastest(terms)
    extra = [terms.combination({i: 1.0, fastest: -1.0} if i != fastest else {})
             for i in range(len(modes))]  # fmt: skip
    return ScalingCurve(
        overhead_s=scattered or terms.combination({fastest: 1.0}),
        asymptotic_throughput=_inverse(scattered or terms.combination({terms.modes: 1.0})),
        one_node=_link_cost(terms, 1, fewest[1], most[1]),
        several_nodes=_link_cost(terms, 2, fewest[2], most[2]),
        launch_extra_s=() if launch is None else tuple(zip(modes, extra, strict=True)),
        runs=runs,
        modes=modes,
        step_s=times,
        residuals=residuals,
        warnings=_warnings(terms),
        answers_from_batch=start,
        answers_up_to_batch=end,
        limit=limit,
        fewest_devices=fewest,
        most_devices=most,
        batches=_ranges(runs.batch, runs.link),
        terms=terms,
        level=level,
        published=largest_count(runs, times, fitted_s, None if scattered is None else terms.scatter)
        if len(modes) == 1
        else None,
        rough=is_rough(runs, times),
    )


def _terms_of(runs: StepPlaces, step_s: Floats, modes: int, fading: float, level: float) -> Terms:
    """Return the terms with the growth of `fading`, or with `STEEP` where the runs clearly show it.

    Steep growth counts the devices of a node, which share its host, unless the runs clearly show
    that it counts all. All forms have the same terms, so twice the logarithm of the likelihood
    ratio of two over n runs is n*ln(rss of one/rss of the other). A mean square residual below
    `_EXACT` counts as that.
    """
    fades = fit_terms(runs, step_s, modes, Growing(fading=fading), level)
    if step_s.size - fades.fit.value.size < STEEP_SPARE:
        return fades
    steep, shared = (
        fit_terms(runs, step_s, modes, Growing(fading=STEEP, in_node=in_node), level)
        for in_node in (False, True)
    )
    if not _clearly(steep, fades, step_s.size):
        return fades
    return steep if _clearly(steep, shared, step_s.size) else shared


def _clearly(form: Terms, other: Terms, runs: int) -> bool:
    """Return whether the evidence for one form over another is above `STEEP_EVIDENCE`."""
    misfits = [max(terms.fit.rss / runs, _EXACT) for terms in (other, form)]
    return bool(runs * np.log(misfits[0] / misfits[1]) > STEEP_EVIDENCE)


def is_rough(runs: StepPlaces, step_s: Floats) -> bool:
    """Return whether steps at one batch per device often get shorter with more devices.

    Neighbouring counts on one link under one launch mode are compared, where at least
    `ROUGH_PAIRS` of them were measured. Every form assumes that a step does not get shorter.
    """
    falls, pairs = 0, 0
    keys = np.stack([runs.batch, runs.link, runs.mode], axis=-1)
    for key in np.unique(keys, axis=0):
        here = (keys == key).all(axis=1)
        counts = np.unique(runs.devices[here])
        steps = [float(np.median(step_s[here & (runs.devices == n)])) for n in counts]
        pairs += len(steps) - 1
        falls += sum(b < (1.0 - FALLEN) * a for a, b in itertools.pairwise(steps))
    return pairs >= ROUGH_PAIRS and falls > ROUGH * pairs


def _fastest(terms: Terms) -> int:
    """Return the launch mode with the least overhead, preferring determined ones."""
    own = np.eye(terms.modes, terms.value.size)
    determined = np.flatnonzero(terms.determined(own))
    modes = determined if determined.size else np.arange(terms.modes)
    return int(modes[terms.value[modes].argmin()])


def _inverse(slope: Estimate | Refusal) -> Estimate | Refusal:
    """Return v0 [samples/s] of a slope [s per sample]."""
    if isinstance(slope, Refusal):
        return slope
    with np.errstate(divide="ignore"):  # steps that do not grow: a throughput without limit
        value, low, high = (
            float(np.divide(1.0, part)) for part in (slope.value, slope.high, slope.low)
        )
    reasons = ("No batch effect seen: its limit is unknown.",) if np.isinf(value) else ()
    return replace(slope, value=value, low=low, high=high, reasons=reasons)


def _link_cost(terms: Terms, link: int, fewest: float, most: float) -> LinkCost | None:
    if np.isnan(most):
        return None
    constant, grown = (terms.combination({terms.modes + 2 * link - 1 + i: 1.0}) for i in (0, 1))
    if fewest == most:
        constant, grown = _assumed(constant), _assumed(grown)
    return LinkCost(
        constant_s=constant, growth_s=grown, fewest_devices=int(fewest), most_devices=int(most)
    )


def _assumed(part: Estimate | Refusal) -> Estimate | Refusal:
    if isinstance(part, Refusal):
        return part
    return replace(part, reasons=(*part.reasons, ASSUMED))


def _ranges(sizes: Floats, link: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return the least and the largest size on every link class, shape (3,); NaN without runs."""
    least, most = np.full(len(LINKS), np.nan), np.full(len(LINKS), np.nan)
    np.fmin.at(least, link, sizes)
    np.fmax.at(most, link, sizes)
    return least, most


def _limits(batches: Floats) -> tuple[float, float, str]:
    """Return the range of batches per device with answers, and why not beyond."""
    smallest, largest = float(batches[0]), float(batches[-1])
    if batches.size == 1:
        why = "only one batch per device was measured, and one size shows no curve."
        return smallest, largest, why
    if batches.size == 2 and largest < NARROW * smallest:
        why = Text(
            "two batch sizes less than a factor {narrow:g} apart reach only to twice away.",
            narrow=NARROW,
        )
        return smallest / FAR, largest * FAR, why
    why = Text(
        "errors beyond {too_far:g} times the largest measured batch are unknown.", too_far=TOO_FAR
    )
    return 0.0, largest * TOO_FAR, why


def _warnings(terms: Terms) -> tuple[str, ...]:
    if np.isnan(terms.scatter):
        return (UNCHECKED,)
    steep = (STEEP_LINK[terms.growing.in_node],) if terms.growing.fading == STEEP else ()
    if terms.scatter <= MAX_SCATTER:
        return steep
    return (
        *steep,
        Text(
            "The runs scatter {scatter:.0f} % around this form: another factor changes "
            "between them.",
            scatter=100 * terms.scatter,
        ),
    )


def _refuse_scatter(scatter: float, worst: StepPlaces) -> Refusal:
    batch, devices, nodes = (float(v[0]) for v in (worst.batch, worst.devices, worst.nodes))
    place = several(int(devices), "device")
    if nodes > 1:
        place = Text("{devices} over {nodes:g} nodes", devices=place, nodes=nodes)
    return Refusal(
        reason=Text(
            "The runs scatter {scatter:.0f} % around this form; 15 public workloads "
            "scatter 4 to 29 %, so throughput, overhead and link cost would be "
            "meaningless.",
            scatter=100 * scatter,
        ),
        measure_next=Text(
            "Measure batch {batch} per device on {place} again in a fresh "
            "process; it fits worst. If it repeats, fit the differing runs separately.",
            batch=plain(batch),
            place=place,
        ),
    )


def _refuse_one_count(count: int) -> Refusal:
    return Refusal(
        reason=plural(
            count,
            "Every run had {count} device, which shows no scaling.",
            "Every run had {count} devices, which shows no scaling.",
        ),
        measure_next=Text(
            "Measure the same batch per device on {count} devices and a single one.",
            count=2 * count,
        )
        if count > 1
        else "Measure the same batch per device on 2 devices.",
    )
