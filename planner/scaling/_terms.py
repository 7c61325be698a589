"""The terms of a step time on several devices, their fit to runs, and the law of published series.

    T(b, n) = launch + b/v0 + [one node, n > 1](a1 + a2*g(n)) + [several nodes](c1 + c2*g(n))

`planner.scaling.fit` describes the form and its limits; this is its arithmetic.

Most published series time one batch per device count, so batch, link and launch cannot be
separated. There a law of published series starts from the largest measured count m at its batch per
device b0, with step time T0 [s]:

    ln(v(n, b)/n) = ln(v(m, b0)/m) - loss*D - fewer*T0^-power*(2^(power*H) - 1)/(power*ln 2)
    D = log2(n/m), H = log2(b0/b);  v in samples/s over all devices
    sd = max(SD0, spread*min(max(T0, SHORT_S), LONG_S)^(-1/4)*sqrt(|D| + |H|))     of the logarithm

A doubling of the devices costs each of them the share `loss`. A halving of the batch per device
costs more at shorter steps; a larger batch gains by the same curve. CROSSED_SD is added in
quadrature for several nodes if no run was on several. Limit: published links are fast (NVLink,
InfiniBand, TPU slices), and nodes with slower links lose more.

Evidence: docs/evidence.md#scaling-of-published-series. Reasons: docs/decisions/0035-scaling-law.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.core import (
    LARGEST,
    SMALLEST,
    Estimate,
    Floats,
    Refusal,
    Text,
    check_flat,
    listed,
    speak_once,
    t_quantile,
)
from planner.core.points import numbers
from planner.fits import SD0, NonNegativeFit, fit_nonnegative

DOF: Final = 5.0
"""Degrees of freedom of the Student t of every interval."""
LINKS: Final = ("one device", "several devices of one node", "several nodes")
"""The link classes, in the order of their numbers 0, 1, 2."""
WHERE: Final = ("alone", "in one node", "over several nodes")
"""The same, after a device count."""
LINK_TERMS: Final = 4
"""a1, a2, c1 and c2 are last, after the launch modes and 1/v0."""
GROWING: Final = 0.5
"""Share of a link's cost that is assumed to grow where one device count was measured."""
MOST: Final = 1e9
"""Largest device count."""
COLUMNS: Final = {
    "per_device_batch_size": "the samples per step on one device, one number per run",
    "devices": "how many devices worked together, one whole number per run",
    "nodes": "over how many nodes they were spread, one whole number per run",
    "step_s": "the seconds of one step, one number per run",
}
"""Meaning of the columns of runs."""
WITHIN: Final = Text(
    "Each must be finite and from {smallest:g} to {largest:g}.", smallest=SMALLEST, largest=LARGEST
)


def growth(devices: ArrayLike, fading: float) -> Floats:
    """Return g(n) = 1 + r + r^2 + ... over the doublings of n: (1 - r^log2(n))/(1 - r).

    r is `fading`; g is 0 for one device, 1 for two. r = 1 is log2(n), the rounds of a reduction
    tree; r = 1/2 is 2(n - 1)/n, the traffic of a ring.
    """
    doublings = np.log2(np.asarray(devices, dtype=np.float64))
    if fading == 1.0:
        return doublings
    return np.asarray((1.0 - fading**doublings) / (1.0 - fading))


@dataclass(frozen=True, slots=True, kw_only=True)
class Growing:
    """How the cost of a link grows: r, and whether g counts the devices of a node only."""

    fading: float
    in_node: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlaces:
    """Places of measured or predicted steps: arrays of one shape.

    `batch` is per device [samples], `mode` the number of the launch mode from 0.
    """

    batch: Floats
    devices: Floats
    nodes: Floats
    mode: NDArray[np.int64]

    @property
    def link(self) -> NDArray[np.int64]:
        """Numbers of the link classes, see `LINKS`."""
        return np.where(self.nodes > 1.0, 2, np.where(self.devices > 1.0, 1, 0))

    def grown(self, growing: Growing) -> Floats:
        """Return g at these places."""
        counts = np.ceil(self.devices / self.nodes) if growing.in_node else self.devices
        return growth(counts, growing.fading)

    def design(
        self, modes: int, growing: Growing, links: NDArray[np.int64] | None = None
    ) -> Floats:
        """Return the weight of every term in the step time, shape (..., modes + 5).

        `links` are the link classes whose cost counts in place of `link`.
        """
        rows = np.zeros((*self.batch.shape, modes + 1 + LINK_TERMS))
        np.put_along_axis(rows, self.mode[..., None], 1.0, axis=-1)
        rows[..., modes] = self.batch
        grown, of_place = self.grown(growing), self.link if links is None else links
        for link in (1, 2):
            here, column = of_place == link, modes + 2 * link - 1
            rows[..., column] = here
            rows[..., column + 1] = here * grown
        return rows

    def only(self, where: NDArray[np.generic]) -> StepPlaces:
        """Return the places selected by a mask or indices, shape (selected,)."""
        parts = (self.batch, self.devices, self.nodes, self.mode)
        batch, devices, nodes, mode = (np.asarray(p)[where] for p in parts)
        return StepPlaces(batch=batch, devices=devices, nodes=nodes, mode=mode)

    def keys(self) -> set[tuple[float, float, float, int]]:
        """Return the distinct places."""
        parts = (self.batch, self.devices, self.nodes, self.mode)
        return set(zip(*(p.ravel().tolist() for p in parts), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The fitted terms [s, 1/v0 in s per sample], and their uncertainty.

    `value` has shape (modes + 5,): constants of the launch modes, 1/v0, a1, a2, c1, c2. It is
    `ties` (modes + 5, free) times the `free` values that were fitted: a term without runs is 0,
    and where a link has one device count its two terms are one. `scatter` is the relative
    standard deviation of the residuals, NaN where there is no run more than terms.
    """

    value: Floats
    ties: Floats
    fit: NonNegativeFit
    growing: Growing
    scatter: float
    level: float
    links: frozenset[int] = frozenset({0, 1, 2})

    @property
    def modes(self) -> int:
        """Launch modes, at least 1; the number of the term 1/v0."""
        return self.value.size - 1 - LINK_TERMS

    @property
    def believed_scatter(self) -> float:
        """Relative standard deviation of one measurement: the residuals', at least `SD0`."""
        return float(np.fmax(self.scatter, SD0))

    def link_of(self, at: StepPlaces) -> NDArray[np.int64]:
        """Return the link classes whose cost counts at these places.

        A link of several devices without runs counts as the measured one, and one between nodes
        costs CROSSED_LOSS of the step beside it.
        """
        stand_in = [0, *(link if link in self.links else 3 - link for link in (1, 2))]
        return np.asarray(np.array(stand_in)[at.link])

    def questions(self, at: StepPlaces) -> Floats:
        """Return weight of every term in the step time at these places, shape (..., modes + 5)."""
        link = self.link_of(at)
        crosses = (link == 1) & (at.link == 2)
        design = at.design(self.modes, self.growing, link)
        return np.where(crosses[..., None], math.exp(CROSSED_LOSS), 1.0) * design

    def deviation(self, questions: Floats) -> Floats:
        """Return the standard deviation of combinations of terms; (..., modes + 5) gives (...)."""
        variance = self.fit.unit_variance(questions @ self.ties)
        return np.asarray(self.believed_scatter * np.sqrt(variance))

    def determined(self, questions: Floats) -> NDArray[np.bool_]:
        """Return whether the runs determine combinations of terms; (..., modes + 5) gives (...)."""
        return self.fit.determined(questions @ self.ties)

    def combination(self, weights: dict[int, float]) -> Estimate | Refusal:
        """Return a weighted sum of terms with its confidence interval (Wald, cut at 0)."""
        question = np.zeros(self.value.size)
        for number, weight in weights.items():
            question[number] += weight
        if not self.determined(question):
            return Refusal(
                reason="These runs cannot separate this term from others: they changed together.",
                measure_next="Measure a single device and a second batch size, each in a launch "
                "mode that was also measured elsewhere.",
            )
        value = float(question @ self.value)
        half = float(t_quantile(self.level, DOF) * self.deviation(question))
        return Estimate(
            value=value,
            low=max(value - half, 0.0),
            high=value + half,
            level=self.level,
            basis="interpolated",
            reasons=() if value or not half else ("None was seen: held at 0.",),
        )


def fit_terms(
    runs: StepPlaces, step_s: Floats, modes: int, growing: Growing, level: float
) -> Terms:
    """Fit the terms to runs, all at least 0, weights 1/step_s^2."""
    ties = _ties(runs, modes, growing)
    design = runs.design(modes, growing) @ ties
    fit = fit_nonnegative(design / step_s[:, None], np.ones(step_s.size))
    left_over = step_s.size - int((fit.value > 0.0).sum())
    return Terms(
        value=ties @ fit.value,
        ties=ties,
        fit=fit,
        growing=growing,
        scatter=float(np.sqrt(fit.rss / left_over)) if left_over > 0 else np.nan,
        level=level,
        links=frozenset(runs.link.tolist()),
    )


def _ties(runs: StepPlaces, modes: int, growing: Growing) -> Floats:
    """Return the terms of each fitted value; a link with one growth has one value, or none."""
    ties = np.eye(modes + 1 + LINK_TERMS)
    for link in (2, 1):
        column = modes + 2 * link - 1
        grown = np.unique(runs.grown(growing)[runs.link == link])
        if grown.size == 1 and grown[0] > 0.0:
            ties[column, column] = 1.0 - GROWING
            ties[column + 1, column] = GROWING / grown[0]
        if grown.size <= 1:
            ties = np.delete(ties, [column, column + 1][grown.size :], axis=1)
    return ties


def runs_in_order(
    batch: ArrayLike,
    devices: ArrayLike,
    nodes: ArrayLike,
    step_s: ArrayLike,
    launch: Sequence[str] | None,
) -> tuple[StepPlaces, Floats, tuple[str, ...]]:
    """Return runs in rising order, their step times [s] and the names of their launch modes.

    Raises:
        ValueError: shapes differ, there are no runs, a column has a value that is not a number,
            or values are impossible; it names them all.
    """
    columns_in = zip(COLUMNS.items(), (batch, devices, nodes, step_s), strict=True)
    sizes, counts, boxes, times = (numbers(name, v, what) for (name, what), v in columns_in)
    named = {"launch": np.array(launch)} if launch is not None else {}
    columns = {"per_device_batch_size": sizes, "devices": counts, "nodes": boxes, "step_s": times}
    check_flat({**columns, **named})
    names = [""] * times.size if launch is None else list(launch)
    problems = _bad_places(sizes, counts, boxes) + _bad_times(sizes, times)
    speak_once(problems + _bad_launch(names, named=launch is not None))
    modes, mode = np.unique(names, return_inverse=True)
    order = np.lexsort((times, mode, boxes, counts, sizes))
    runs = StepPlaces(batch=sizes, devices=counts, nodes=boxes, mode=mode.astype(np.int64))
    return runs.only(order), times[order], tuple(modes.tolist())


def check_places(batch: Floats, devices: Floats, nodes: Floats) -> None:
    """Raise a `ValueError` that names every impossible place."""
    speak_once(_bad_places(batch, devices, nodes))


def _bad_places(batch: Floats, devices: Floats, nodes: Floats) -> list[str]:
    whole = (devices >= 1.0) & (devices == np.floor(devices)) & (devices <= MOST)
    spread = (nodes >= 1.0) & (nodes == np.floor(nodes)) & ((nodes <= devices) | ~whole)
    return [
        *_bad("per_device_batch_size", batch, (batch >= SMALLEST) & (batch <= LARGEST), WITHIN),
        *_bad(
            "devices",
            devices,
            whole,
            Text("Devices are counted 1, 2, 3 ... up to {most:g}.", most=MOST),
        ),
        *_bad("nodes", nodes, spread, "Nodes are counted 1, 2, 3 ... up to the devices."),
    ]


def _bad_times(batch: Floats, step_s: Floats) -> list[str]:
    fine = (step_s >= SMALLEST) & (step_s <= LARGEST)
    if not fine.all():
        return _bad("step_s", step_s, fine, WITHIN)
    each = np.divide(batch, step_s, where=np.isfinite(batch), out=np.ones(batch.shape))
    bad_batch = (batch < SMALLEST) | (batch > LARGEST) | ~np.isfinite(batch)  # named already
    fine = bad_batch | ((each >= SMALLEST) & (each <= LARGEST))
    return _bad("per_device_batch_size/step_s", each, fine, WITHIN)


def _bad(name: str, values: Floats, good: NDArray[np.bool_], limit: str) -> list[str]:
    if good.all():
        return []
    return [
        Text(
            "{name}: {listed}. {limit} Fix them or leave them out.",
            name=name,
            listed=listed(values, good),
            limit=limit,
        )
    ]


def _bad_launch(names: Sequence[str], *, named: bool) -> list[str]:
    missing = [i for i, name in enumerate(names, start=1) if not name]
    if not (named and missing):
        return []
    return [
        Text(
            "launch: value {missing} of {names} is empty. Name every mode, or give None.",
            missing=missing[0],
            names=len(names),
        )
    ]


SHORT_S: Final = 0.05
"""Step time below which the sd of published series grows no further [s]."""
LONG_S: Final = 1.0
"""Step time above which it shrinks no further [s]."""
CROSSED_LOSS: Final = 0.05
"""Of a step whose nodes no run crossed, beyond the cost of the link in a node [logarithm]."""
CROSSED_SD: Final = 0.15
"""Of a link between nodes that no run crossed [relative sd]."""
_LEAST_S: Final = 0.002
_MOST_S: Final = 1000.0
"""Limits of the step time: published series have no shorter or longer ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingLaw:
    """The five constants of the law.

    `loss` is lost per doubling of the devices, `fewer` per halving of the batch per device at a
    step of 1 s [logarithm]; `power` is the growth of that as steps shorten [exponent], `spread` the
    relative sd after one doubling or halving at steps of 1 s or more. `trend` is the share that
    runs at one batch per device add where their own form loses more [share].
    """

    loss: float = 0.015
    fewer: float = 0.10
    power: float = 0.3
    spread: float = 0.045
    trend: float = 0.5

    def log_factor(self, step_s: Floats, doublings: Floats, halvings: Floats) -> Floats:
        """Return ln of a device's speed over its speed in the starting run.

        Args:
            step_s: step time of that run [s].
            doublings: of the devices from there; below 0 for fewer devices.
            halvings: of the batch per device from there; below 0 for a larger batch.
        """
        each = self.fewer * np.clip(step_s, _LEAST_S, _MOST_S) ** -self.power
        halved = np.expm1(self.power * math.log(2.0) * halvings) / (self.power * math.log(2.0))
        return np.asarray(-self.loss * doublings - each * halved)

    def sd(self, step_s: Floats, doublings: Floats, halvings: Floats) -> Floats:
        """Return the relative standard deviation of that factor, at least `SD0`."""
        shorter = np.clip(step_s, SHORT_S, LONG_S) ** -0.25
        far = np.sqrt(np.abs(doublings) + np.abs(halvings))
        return np.asarray(np.maximum(SD0, self.spread * shorter * far))


PUBLISHED: Final = ScalingLaw()
"""The law of published series."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LargestCount:
    """The runs at the largest device count, and the law that starts from them.

    `batch` are their batches per device [samples] in rising order and `step_s` the seconds of a
    step, shape (batches,), on `nodes`. The law answers where the terms are undetermined.

    With `one_batch_each` (no device count was timed at two batches) it also covers unmeasured links
    and other batches than those of the runs. It answers `everywhere` where these runs had several
    batches, or one placement at each count. `counts` are the measured device counts in rising
    order, `usual` the batch per device of each, and `residual` its ln(measured step/step of the
    law), shape (counts,). The residual is interpolated over ln(devices) and halves with every
    doubling or halving of the batch, so that the curve passes through the runs without a step.

    `only` is set if the form does not fit, and the law answers everywhere too. `scatter` is the
    relative sd of a run, `crossed` whether a run was on several nodes.
    """

    devices: float
    nodes: float
    batch: Floats
    step_s: Floats
    counts: Floats
    usual: Floats
    residual: Floats
    one_batch_each: bool
    one_place_each: bool
    crossed: bool
    scatter: float = 0.0
    only: bool = False
    law: ScalingLaw = PUBLISHED

    @property
    def weak(self) -> bool:
        """Whether all runs had one batch per device."""
        return self.one_batch_each and bool(np.isclose(self.usual, self.usual[0]).all())

    @property
    def everywhere(self) -> bool:
        """Whether the law answers everywhere."""
        return self.only or (self.one_batch_each and (self.one_place_each or not self.weak))

    def step_time(
        self, at: StepPlaces, trend: ArrayLike = -np.inf, trend_sd: ArrayLike = np.nan
    ) -> tuple[Floats, Floats]:
        """Return the seconds of a step at these places, and their relative standard deviation.

        Args:
            at: places.
            trend: ln of the growth of a step from the largest count by the runs' own form; a share
                of what it exceeds the law's by is added, and is an sd too.
            trend_sd: relative sd of that form; the larger one of it and the law's counts.
        """
        doublings = np.log2(at.devices / self.devices)
        near, part = _between(np.log(at.batch), np.log(self.batch))
        ends = (near, np.minimum(near + 1, self.batch.size - 1))
        logs, sds = zip(*(self._from(i, at.batch, doublings) for i in ends), strict=True)
        steeper = self.law.trend * np.maximum(np.asarray(trend) - self.law.loss * doublings, 0.0)
        log_s = (1.0 - part) * logs[0] + part * logs[1] + steeper
        sd = np.minimum(*sds)
        if self.one_batch_each and self.everywhere:
            inside = at.devices <= self.devices
            counts = np.log2(self.counts)
            away = np.abs(np.log2(at.devices)[..., None] - counts).min(axis=-1)
            usual = np.interp(np.log2(at.devices), counts, np.log2(self.usual))
            halvings = usual - np.log2(at.batch)
            seen = np.interp(np.log2(at.devices), counts, self.residual)
            log_s = log_s + seen * np.exp2(-np.abs(halvings))
            there = np.full(at.batch.shape, self.step_s[0])
            sd = np.where(inside, self.law.sd(there, away, halvings), sd)
        sd = np.fmax(sd, trend_sd)
        unknown = CROSSED_SD * ((at.nodes > 1.0) & (not self.crossed))
        return np.exp(log_s), np.sqrt(sd**2 + self.scatter**2 + unknown**2 + steeper**2)

    def _from(
        self, run: NDArray[np.intp], batch: Floats, doublings: Floats
    ) -> tuple[Floats, Floats]:
        """Return ln of the step [s] and its relative sd by the law from runs of these numbers."""
        there: Floats = self.step_s[run]
        halvings = np.log2(self.batch[run] / batch)
        factor = self.law.log_factor(there, doublings, halvings)
        return np.log(there) - halvings * math.log(2.0) - factor, self.law.sd(
            there, doublings, halvings
        )


def _between(value: Floats, rising: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Return the last of the `rising` values below each, by its number, and the share beyond it."""
    place = np.interp(value, rising, np.arange(rising.size, dtype=np.float64))
    near = np.floor(place).astype(np.intp)
    return near, place - near


def largest_count(
    runs: StepPlaces, step_s: Floats, fitted_s: Floats, scatter: float | None = None
) -> LargestCount:
    """Return the runs at the largest device count with the law that starts from them.

    Args:
        runs: all runs.
        step_s: their steps [s].
        fitted_s: the same by the form, from which the law starts where the form answers as well.
        scatter: relative sd of a run about a form that does not fit; None where it fits.
    """
    each, only = one_batch_each(runs), scatter is not None
    start = step_s if each or only else fitted_s
    most: NDArray[np.bool_] = runs.devices == runs.devices.max()
    batch, where = np.unique(runs.batch[most], return_inverse=True)
    logs = np.bincount(where, np.log(start[most])) / np.bincount(where)
    counts, first, of = np.unique(runs.devices, return_index=True, return_inverse=True)
    means = np.bincount(of, np.log(step_s)) / np.bincount(of)
    spare = step_s.size - counts.size
    repeats = (
        math.sqrt(float(np.square(np.log(step_s) - means[of]).sum()) / spare) if spare else 0.0
    )
    law = LargestCount(
        devices=float(counts[-1]),
        nodes=float(runs.nodes[most].min()),
        batch=batch,
        step_s=np.exp(logs),
        counts=counts,
        usual=runs.batch[first],
        residual=np.zeros(counts.size),
        one_batch_each=each,
        one_place_each=len(runs.keys()) == counts.size,
        crossed=bool((runs.nodes > 1.0).any()),
        scatter=repeats if each else scatter or 0.0,
        only=only,
    )
    at, _ = law.step_time(runs.only(first))
    return replace(law, residual=means - np.log(at)) if each else law


def one_batch_each(runs: StepPlaces) -> bool:
    """Return whether no device count was timed at two batches per device."""
    pairs = set(zip(runs.devices.tolist(), runs.batch.tolist(), strict=True))
    return len(pairs) == np.unique(runs.devices).size
