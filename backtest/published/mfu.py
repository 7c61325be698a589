"""Fit the efficiency of described workloads on published rows, and ask it about hidden rows.

`study_of` holds what ships. `hidden` fits again without each source, accelerator or family, or
without a part of the rows at random, and predicts what was left out: only those figures are
evidence. The calibration of a family's interval and the sds between accelerators are read off the
predictions of hidden sources.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final, Literal

import numpy as np

from backtest.published.answers import Answer
from planner.core import Floats
from planner.mfu import (
    ALONE,
    DOMAIN_OF,
    DOMAINS,
    WHO,
    Domain,
    Fit,
    Fitted,
    Question,
    fitted,
    gain_of,
    generation_label,
    predicted,
    sd_left,
    shared_by,
    shared_of,
    traits_of,
)
from planner.published import Configuration, half_peak

Way = Literal["source", "accelerator", "family", "random"]
WAYS: Final[Mapping[Way, str]] = {
    "source": "source out",
    "accelerator": "accelerator out",
    "family": "family out",
    "random": "row out",
}
"""What is left out while fitting, as tables name it."""
WHOLE: Final[tuple[Way, ...]] = ("source", "accelerator", "family")
"""Ways that leave out all rows of something a user may ask about."""
LEAST_ROWS: Final = 200
"""Fewer rows are no fit."""
PARTS: Final = 4
"""Parts of the rows that are left out in turn at random."""
SEED: Final = 1
FAR: Final = 1.6449
"""Standard deviations of a normal 90 % interval."""
SCALES: Final[Mapping[str, float]] = {"dense": 0.9, "detection": 1.3, "encoder-decoder": 1.6}
"""Calibration of a family's sd: 1 where the fit's own held about 90 % of hidden sources or more."""
SHIFT_POWERS: Final[Mapping[Domain, float]] = {"language": 1.0, "encoder": 1.0, "vision": 0.5}
"""How a source's rows weigh in the mean that a prediction stands on: all rows alike, or their
square root where one source has most rows of a family. Chosen with sources left out."""


DECIDING: Final[Mapping[Domain, float]] = {"language": 0.75, "encoder": 0.8, "vision": 0.9}
"""Share of the root mean square of errors of ratios that decides between two accelerators. Tails
are heavy: with so much of it about 95 % of the decided pairs of hidden sources are right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """A hidden row with its prediction: ln of the efficiency, true and predicted, and its sd."""

    row: Configuration
    truth: float
    value: float
    sd: float

    @property
    def answer(self) -> Answer:
        """The time of a unit of work, relative to the truth, as the back-test scores it."""
        ratio = math.exp(self.truth - self.value)
        far = math.exp(FAR * self.sd)
        return Answer(
            source=self.row.source,
            name=f"{self.row.model}, {self.row.devices} x {self.row.accelerator.name}",
            truth=1.0,
            value=ratio,
            low=ratio / far,
            high=ratio * far,
        )


def question_of(one: Configuration) -> Question:
    """Return a published row as a question, without its speed."""
    return Question(
        family=one.family,
        accelerator=one.accelerator,
        flops_per_sample=one.train_flops_per_sample,
        precision=one.precision,
        devices=one.devices,
        nodes=one.nodes,
        params=one.params,
        active_params=one.active_params,
        sequence=one.sequence,
        batch=one.global_batch,
        network=one.network,
        recomputes=bool(one.recomputes),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What ships, and what fits that had not seen a row predict for it, by way and domain."""

    fits: Mapping[Domain, Fit]
    hidden: Mapping[Way, Mapping[Domain, Sequence[Hidden]]]


def study_of(rows: Sequence[Configuration]) -> Study:
    """Return the fits on all rows, and the predictions of rows that were hidden from a fit."""
    of = {domain: _of(rows, domain) for domain in DOMAINS}
    found = left_out(rows, tuple(WAYS))
    fits = {
        domain: replace(fit_on(kept), between=between(found["source"][domain], domain))
        for domain, kept in of.items()
        if kept
    }
    return Study(fits=fits, hidden=found)


def left_out(
    rows: Sequence[Configuration], ways: Sequence[Way] = WHOLE
) -> dict[Way, dict[Domain, list[Hidden]]]:
    """Return the predictions of hidden rows by way and domain. Each fit takes seconds."""
    of = {domain: _of(rows, domain) for domain in DOMAINS}
    return {way: {domain: hidden(kept, way) for domain, kept in of.items()} for way in ways}


def fit_on(rows: Sequence[Configuration]) -> Fit:
    """Return the fit on rows of one domain."""
    traits = [traits_of(question_of(one)) for one in rows]
    truth = _truth(rows)
    raw = fitted(traits, [_who(one) for one in rows], truth)
    bare = _without_sources(raw)
    left = truth - np.array([predicted(bare, one)[0] for one in traits])
    families = {one.family for one in rows}
    shifts = {
        family: _shift(
            [(one.source, x) for x, one in zip(left, rows, strict=True) if one.family == family],
            SHIFT_POWERS[DOMAIN_OF[family]],
        )
        for family in sorted(families)
    }
    return replace(bare, shifts=shifts, scales={f: SCALES.get(f, 1.0) for f in sorted(families)})


def hidden(rows: Sequence[Configuration], way: Way) -> list[Hidden]:
    """Return each row of one domain, predicted by a fit that has not seen what `way` leaves out.

    A row without which nothing is left, as the only family of its domain, has no prediction.
    """
    key = _folds(rows, way)
    found: list[Hidden] = []
    for name in sorted(set(key)):
        rest = [one for one, k in zip(rows, key, strict=True) if k != name]
        asked = [one for one, k in zip(rows, key, strict=True) if k == name]
        if rest:
            found += asked_of(fit_on(rest), asked)
    return found


def asked_of(fit: Fit, rows: Sequence[Configuration]) -> list[Hidden]:
    """Return the predictions of rows by a fit."""
    found = []
    for one, truth in zip(rows, _truth(rows), strict=True):
        value, parts = predicted(fit, traits_of(question_of(one)))
        sd = fit.scales.get(one.family, 1.0) * math.sqrt(sum(x**2 for x in parts.values()))
        value += fit.shifts.get(one.family, 0.0)
        found.append(Hidden(row=one, truth=float(truth), value=value, sd=sd))
    return found


def between(found: Sequence[Hidden], domain: Domain) -> tuple[float, float, float]:
    """Return sds of ln(ratio/predicted ratio): one generation, one maker, different makers.

    Each source and pair of accelerators counts once, whatever its number of workloads.
    """
    errors: list[dict[tuple[str, ...], list[float]]] = [defaultdict(list) for _ in range(3)]
    for a, b, kind in pairs_of(found):
        error = (a.truth - a.value) - (b.truth - b.value)
        cards = (a.row.source, a.row.accelerator.id, b.row.accelerator.id)
        errors[kind][cards].append(error**2)
    usual = {"language": (0.2, 0.25, 0.3), "encoder": (0.3, 0.4, 0.6), "vision": (0.3, 0.45, 0.65)}
    sds = []
    for kind, by_pair in enumerate(errors):
        squares = [float(np.mean(e)) for e in by_pair.values()]
        prior = usual[domain][kind]
        sds.append(math.sqrt((sum(squares) + 4.0 * prior**2) / (len(squares) + 4.0)))
    own, generation, maker = (DECIDING[domain] * sd for sd in sds)
    return own, max(generation, own), max(maker, generation, own)


def pairs_of(found: Sequence[Hidden]) -> Iterator[tuple[Hidden, Hidden, int]]:
    """Return pairs of accelerators with one source, workload and count, the fastest row of each.

    The number is 0 of one generation, 1 of one maker, 2 of different makers.
    """
    alike: dict[tuple[object, ...], dict[str, Hidden]] = defaultdict(dict)
    for one in found:
        row = one.row
        size = round(math.log(row.active_params or row.train_flops_per_sample), 1)
        key = row.source, row.family, row.network, size, row.sequence, row.image_px, row.devices
        known = alike[key].get(row.accelerator.id)
        if known is None or row.samples_per_s > known.row.samples_per_s:
            alike[key][row.accelerator.id] = one
    for group in alike.values():
        for a, b in combinations(sorted(group.values(), key=lambda h: h.row.accelerator.id), 2):
            first, second = a.row.accelerator, b.row.accelerator
            same = generation_label(first) == generation_label(second)
            yield a, b, 0 if same else 1 if first.maker == second.maker else 2


def after_steps(found: Sequence[Hidden], fit: Fit) -> dict[str, list[tuple[Hidden, Hidden]]]:
    """Return rows before and after a step of the same workload and source was timed elsewhere.

    By where it was: on the accelerator at another device count, or on accelerators of `pairs_of`.
    """
    groups = ("same accelerator, other count", "one generation", "one maker")
    steps: dict[str, list[tuple[Hidden, Hidden]]] = {name: [] for name in groups}
    for a, b, kind in pairs_of(found):
        if kind + 1 == len(groups):  # of different makers: a step narrows nothing
            continue
        name = groups[kind + 1]
        steps[name] += [(a, _after_step(a, b, fit)), (b, _after_step(b, a, fit))]
    for a, b in _counts_of(found):
        steps[groups[0]] += [(a, _after_step(a, b, fit)), (b, _after_step(b, a, fit))]
    return {name: of for name, of in steps.items() if of}


def _after_step(one: Hidden, timed: Hidden, fit: Fit) -> Hidden:
    """A hidden row's prediction once another one is known."""
    alike = shared_by(one.row.accelerator, timed.row.accelerator)
    own, there = shared_of(fit, one.sd), shared_of(fit, timed.sd)
    doublings = abs(math.log2(one.row.devices / timed.row.devices))
    gain, common = gain_of(own, there, alike, doublings)
    value = one.value + gain * (timed.truth - timed.value)
    return replace(one, value=value, sd=sd_left(one.sd, gain, common))


def _counts_of(found: Sequence[Hidden]) -> Iterator[tuple[Hidden, Hidden]]:
    """Return pairs of device counts with one source, workload, accelerator and batch a device."""
    alike: dict[tuple[object, ...], dict[int, Hidden]] = defaultdict(dict)
    for one in found:
        row = one.row
        if row.global_batch is None:
            continue
        each = round(math.log2(row.global_batch / row.devices))
        size = round(math.log(row.active_params or row.train_flops_per_sample), 1)
        key = (row.source, row.software, row.family, row.network, size, row.sequence, row.image_px,
               row.precision, row.accelerator.id, each)  # fmt: skip
        alike[key].setdefault(row.devices, one)
    for group in alike.values():
        yield from combinations(group.values(), 2)


def _of(rows: Sequence[Configuration], domain: Domain) -> list[Configuration]:
    return [one for one in rows if DOMAIN_OF.get(one.family) == domain]


def _truth(rows: Sequence[Configuration]) -> Floats:
    peaks = [half_peak(one.accelerator) or math.nan for one in rows]
    return np.log([o.achieved_flops_per_s / p for o, p in zip(rows, peaks, strict=True)])


def _who(one: Configuration) -> dict[str, str]:
    known = {"source": one.software, "source accelerator": f"{one.software}|{one.accelerator.id}"}
    domain = DOMAIN_OF[one.family]
    if domain == "language":
        size = round(2.0 * math.log(one.active_params or 1.0))
        return {**known, "source model": f"{one.software}|{size}"}
    if domain == "encoder":
        return {**known, "source model": f"{one.software}|{one.network}"}
    return known


def _shift(left: Sequence[tuple[str, float]], power: float) -> float:
    """Mean of what sources add to a family, each weighing its rows to a power, one towards 0."""
    of: dict[str, list[float]] = defaultdict(list)
    for source, one in left:
        of[source].append(one)
    weights = np.array([len(every) ** power for every in of.values()])
    means = np.array([np.mean(every) for every in of.values()])
    return float(weights @ means / (weights.sum() + 1.0))


def _folds(rows: Sequence[Configuration], way: Way) -> list[str]:
    if way == "source":
        return [one.source for one in rows]
    if way == "accelerator":
        return [one.accelerator.id for one in rows]
    if way == "family":
        return [one.family for one in rows]
    parts = np.random.default_rng(SEED).integers(0, PARTS, len(rows))
    return [str(part) for part in parts]


def _without_sources(raw: Fitted) -> Fit:
    """The fit without the effects of sources; covariances of all but networks."""
    kept = [i for i, (group, _) in enumerate(raw.columns) if group not in WHO]
    joint = [i for i in kept if raw.columns[i][0] not in ALONE]
    variances = np.diag(raw.covariance)
    return Fit(
        values={raw.columns[i]: float(raw.values[i]) for i in kept},
        columns=tuple(raw.columns[i] for i in joint),
        covariance=raw.covariance[np.ix_(joint, joint)],
        own_variances={raw.columns[i]: float(variances[i]) for i in kept if i not in set(joint)},
        sds=raw.sds,
        rest=raw.rest,
        shifts={},
        scales={},
        between=(0.2, 0.25, 0.3),
    )
