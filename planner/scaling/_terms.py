"""The terms of a step time on several devices, and their fit to runs.

    T(b, n) = launch + b/v0 + [one node, n > 1](a1 + a2*g(n)) + [several nodes](c1 + c2*g(n))

`planner.scaling.fit` describes the form, its limits and its evidence; this is its arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from planner.core import (
    LARGEST,
    SMALLEST,
    Estimate,
    Floats,
    Refusal,
    check_flat,
    listed,
    t_quantile,
)
from planner.core.points import numbers
from planner.fits import SD0, NonNegativeFit, fit_nonnegative

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

DOF: Final = 5.0
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
WITHIN: Final = f"Each must be finite and from {SMALLEST:g} to {LARGEST:g}."


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
class Places:
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

    def design(self, modes: int, fading: float) -> Floats:
        """Return the weight of every term in the step time, shape (..., modes + 5)."""
        rows = np.zeros((*self.batch.shape, modes + 1 + LINK_TERMS))
        np.put_along_axis(rows, self.mode[..., None], 1.0, axis=-1)
        rows[..., modes] = self.batch
        grown = growth(self.devices, fading)
        for link in (1, 2):
            here, column = self.link == link, modes + 2 * link - 1
            rows[..., column] = here
            rows[..., column + 1] = here * grown
        return rows

    def only(self, where: NDArray[np.generic]) -> Places:
        """Return the places selected by a mask or indices, shape (selected,)."""
        parts = (self.batch, self.devices, self.nodes, self.mode)
        batch, devices, nodes, mode = (np.asarray(p)[where] for p in parts)
        return Places(batch=batch, devices=devices, nodes=nodes, mode=mode)

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
    fading: float
    scatter: float
    level: float

    @property
    def modes(self) -> int:
        """Launch modes, at least 1; the number of the term 1/v0."""
        return self.value.size - 1 - LINK_TERMS

    @property
    def believed_scatter(self) -> float:
        """Relative standard deviation of one measurement: the residuals', at least `SD0`."""
        return float(np.fmax(self.scatter, SD0))

    def questions(self, at: Places) -> Floats:
        """Return weight of every term in the step time at these places, shape (..., modes + 5)."""
        return at.design(self.modes, self.fading)

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


def fit_terms(runs: Places, step_s: Floats, modes: int, fading: float, level: float) -> Terms:
    """Fit the terms to runs, all at least 0, weights 1/step_s^2."""
    ties = _ties(runs, modes, fading)
    design = runs.design(modes, fading) @ ties
    fit = fit_nonnegative(design / step_s[:, None], np.ones(step_s.size))
    left_over = step_s.size - int((fit.value > 0.0).sum())
    return Terms(
        value=ties @ fit.value,
        ties=ties,
        fit=fit,
        fading=fading,
        scatter=float(np.sqrt(fit.rss / left_over)) if left_over > 0 else np.nan,
        level=level,
    )


def _ties(runs: Places, modes: int, fading: float) -> Floats:
    """Return the terms of each fitted value; a link with one count has one value, or none."""
    ties = np.eye(modes + 1 + LINK_TERMS)
    for link in (2, 1):
        column = modes + 2 * link - 1
        counts = np.unique(runs.devices[runs.link == link])
        if counts.size == 1:
            ties[column, column] = 1.0 - GROWING
            ties[column + 1, column] = GROWING / growth(counts[0], fading)
        if counts.size <= 1:
            ties = np.delete(ties, [column, column + 1][counts.size :], axis=1)
    return ties


def runs_in_order(
    batch: ArrayLike,
    devices: ArrayLike,
    nodes: ArrayLike,
    step_s: ArrayLike,
    launch: Sequence[str] | None,
) -> tuple[Places, Floats, tuple[str, ...]]:
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
    _speak_once(problems + _bad_launch(names, named=launch is not None))
    modes, mode = np.unique(names, return_inverse=True)
    order = np.lexsort((times, mode, boxes, counts, sizes))
    runs = Places(batch=sizes, devices=counts, nodes=boxes, mode=mode.astype(np.int64))
    return runs.only(order), times[order], tuple(modes.tolist())


def check_places(batch: Floats, devices: Floats, nodes: Floats) -> None:
    """Raise a `ValueError` that names every impossible place."""
    _speak_once(_bad_places(batch, devices, nodes))


def _bad_places(batch: Floats, devices: Floats, nodes: Floats) -> list[str]:
    whole = (devices >= 1.0) & (devices == np.floor(devices)) & (devices <= MOST)
    spread = (nodes >= 1.0) & (nodes == np.floor(nodes)) & ((nodes <= devices) | ~whole)
    return [
        *_bad("per_device_batch_size", batch, (batch >= SMALLEST) & (batch <= LARGEST), WITHIN),
        *_bad("devices", devices, whole, f"Devices are counted 1, 2, 3 ... up to {MOST:g}."),
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
    return [f"{name}: {listed(values, good)}. {limit} Fix them or leave them out."]


def _bad_launch(names: Sequence[str], *, named: bool) -> list[str]:
    missing = [i for i, name in enumerate(names, start=1) if not name]
    if not (named and missing):
        return []
    return [f"launch: value {missing[0]} of {len(names)} is empty. Name every mode, or give None."]


def _speak_once(problems: list[str]) -> None:
    """Raise all problems in one error."""
    if problems:
        raise ValueError("\n".join(problems))
