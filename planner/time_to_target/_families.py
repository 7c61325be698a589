"""Networks of one data set compared: the steps of one optimiser to the same target."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.convergence import ConvergenceCurve, set_labels
from planner.core import Estimate, Record, Text, listed_words, paragraph
from planner.core.slugs import BADGE
from planner.runs import TrialSet
from planner.throughput import count, rounded_estimate, size, with_interval
from planner.time_to_target.goodput import OptimizerComparison, OptimizerCurve
from planner.time_to_target.sentences import TargetWords
from planner.time_to_target.tables import batch_rows, fit_rows

MOST_FAMILIES: Final = 10
"""Networks in one comparison: as many as there are colours."""
_MOST_NAMED: Final = 3
"""Tied networks that are named one by one."""
_STALE: Final = re.compile(r" gradients \d+ updates? old$")
"""End of the name of a network trained with stale gradients: a way of training, no family."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Steps to the target of one network; `name` has its result set where two sets share it."""

    name: str
    curve: OptimizerCurve


@dataclass(frozen=True, slots=True, kw_only=True)
class Families:
    """Networks on one data set with one optimiser to one target [of the metric].

    `optimizers` are all that any of the networks has, `unshown` counts networks beyond
    `MOST_FAMILIES`. `easiest` is the easiest target that trials of a network aimed at. `instead_of`
    is the stricter target that was chosen, where too few networks reach it.
    """

    dataset: str
    goal: TargetWords
    optimizer: str
    optimizers: tuple[str, ...]
    families: tuple[Family, ...]
    easiest: str
    unshown: int = 0
    instead_of: str = ""

    @property
    def fitted(self) -> list[tuple[Family, ConvergenceCurve]]:
        """The networks whose steps follow a fitted law."""
        return [(f, f.curve.curve) for f in self.families
                if isinstance(f.curve.curve, ConvergenceCurve)]  # fmt: skip


def alike(of: TrialSet, sets: Iterable[TrialSet]) -> list[TrialSet]:
    """Return one set per network with the data, metric, precision and basis of `of`.

    Of a network it is `of` itself, else the set of the most trials. Networks trained with stale
    gradients are left out.
    """

    def of_set(other: TrialSet) -> tuple[object, ...]:
        return (
            other.dataset, other.metric, other.higher_is_better, other.precision, other.basis
        )  # fmt: skip

    by_network: dict[str, TrialSet] = {}
    for other in sets:
        if not of.dataset or of_set(other) != of_set(of):
            continue
        if other != of and _STALE.search(other.network):
            continue
        earlier = by_network.get(other.network)
        if earlier is None or other == of or (earlier != of and other.trials > earlier.trials):
            by_network[other.network] = other
    return list(by_network.values())


def easiest_target(sets: Iterable[TrialSet]) -> float | None:
    """Return the easiest target that most trials of a set aimed at; None if none is recorded."""
    targets = [(bool(of.higher_is_better), of.target) for of in sets if of.target is not None]
    return min(targets, key=lambda t: t[1] if t[0] else -t[1])[1] if targets else None


def families_of(
    goal: TargetWords,
    optimizer: str,
    optimizers: Sequence[str],
    compared: Sequence[tuple[TrialSet, OptimizerComparison]],
    *,
    easiest: str,
) -> Families | None:
    """Return the networks trained with `optimizer`; None without two sets or any fitted law.

    `compared` are sets of trials from `alike`, each with its curve of `optimizer`, if any.
    """
    sets = [of for of, _ in compared]
    networks = [f"{of.network}{BADGE if of.standing else ''}" for of in sets]
    names = networks if len(set(networks)) == len(networks) else set_labels(sets)
    families = [
        Family(name=name, curve=curve)
        for name, (_, comparison) in zip(names, compared, strict=True)
        for curve in comparison.curves
        if curve.optimizer == optimizer and curve.batch.size
    ]
    if len(compared) < 2:
        return None
    result = Families(
        dataset=compared[0][0].dataset or "",
        goal=goal,
        optimizer=optimizer,
        optimizers=tuple(optimizers),
        families=tuple(families[:MOST_FAMILIES]),
        easiest=easiest,
        unshown=max(0, len(families) - MOST_FAMILIES),
    )
    return result if result.fitted else None


def family_sentences(of: Families) -> list[str]:
    """Return what is compared, which network scales furthest, which needs the fewest steps."""
    fitted = of.fitted
    if len(fitted) < 2:
        return [_too_few(of, [f.name for f, _ in fitted])]
    largest = [(f.name, c.critical_batch_size) for f, c in fitted]
    fewest = [(f.name, c.min_steps) for f, c in fitted]
    return [
        Text(
            "{count} networks are compared on {dataset} with {optimizer} to {target}.",
            count=len(fitted),
            dataset=of.dataset,
            optimizer=of.optimizer,
            target=of.goal.target,
        ),
        _largest_batch(_lead(sorted(largest, key=lambda x: -_number(x[1])), size)),
        _fewest_steps(_lead(sorted(fewest, key=lambda x: _number(x[1])), count)),
    ]


def _too_few(of: Families, fitted: Sequence[str]) -> str:
    """Return why there is no comparison."""
    where = Text(
        "{dataset} with {optimizer} to {target}",
        dataset=of.dataset,
        optimizer=of.optimizer,
        target=of.goal.target,
    )
    why = (
        Text("Only {name} has a fitted law on {where}.", name=fitted[0], where=where)
        if fitted
        else Text("No network has a fitted law on {where}.", where=where)
    )
    if of.easiest == of.goal.target:
        return paragraph(why, "Choose an easier target.")
    return paragraph(why, Text("Choose an easier target, such as {easiest}.", easiest=of.easiest))


def family_rows(of: Families) -> list[Record]:
    """Return Bcrit, Smin and Emin of every network with their intervals, or the refusal."""
    return [{"network": f.name, **row} for f in of.families for row in fit_rows(_alone(f), of.goal)]


def family_batch_rows(of: Families) -> list[Record]:
    """Return every batch of every network at its best learning rate."""
    return [{"network": f.name, **row} for f in of.families for row in batch_rows(_alone(f))]


def _alone(family: Family) -> OptimizerComparison:
    return OptimizerComparison(target=np.nan, curves=(family.curve,))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lead:
    """The first of a ranking and the next one, each with its value as text.

    `tied` names all whose intervals meet that of the first, "" where there is none.
    """

    name: str
    own: str
    second: str
    other: str
    tied: str


def _lead(ranked: Sequence[tuple[str, Estimate]], write: Callable[[float], str]) -> _Lead:
    (name, best), (second, next_best), *_ = ranked
    return _Lead(
        name=name,
        own=_written(best, write),
        second=second,
        other=_written(next_best, write),
        tied=_tied([n for n, e in ranked if _meet(best, e)], len(ranked)),
    )


def _tied(names: Sequence[str], of: int) -> str:
    """Return the tied networks, by their number where the names are many; "" of one alone."""
    if len(names) < 2:
        return ""
    commas = len(names) > 2 and any(", " in name for name in names)
    if len(names) <= _MOST_NAMED and not commas:
        return listed_words(names)
    if len(names) == of:
        return Text("All {count} networks", count=of)
    return Text("{name} and {count} other networks", name=names[0], count=len(names) - 1)


def _largest_batch(lead: _Lead) -> str:
    if lead.tied:
        return Text(
            "{tied} are too close to call for the largest batch. Their intervals of Bcrit overlap, "
            "and {name} leads with {own}.",
            tied=lead.tied,
            name=lead.name,
            own=lead.own,
        )
    return Text(
        "{name} scales to the largest batch. Its Bcrit is {own}, against {other} of {second}.",
        name=lead.name,
        own=lead.own,
        other=lead.other,
        second=lead.second,
    )


def _fewest_steps(lead: _Lead) -> str:
    if lead.tied:
        return Text(
            "{tied} are too close to call for the fewest steps. Their intervals of Smin overlap, "
            "and {name} leads with {own}.",
            tied=lead.tied,
            name=lead.name,
            own=lead.own,
        )
    return Text(
        "{name} needs the fewest steps at large batches. Its Smin is {own}, against {other} of "
        "{second}.",
        name=lead.name,
        own=lead.own,
        other=lead.other,
        second=lead.second,
    )


def _written(estimate: Estimate, write: Callable[[float], str]) -> str:
    estimate = rounded_estimate(estimate)
    value = float(estimate.value)
    text = write(value) if np.isfinite(value) else "without limit"
    return with_interval(text, estimate, lambda v: write(float(v)))


def _number(estimate: Estimate) -> float:
    return float(estimate.value)


def _meet(a: Estimate, b: Estimate) -> bool:
    return float(a.low) <= float(b.high) and float(b.low) <= float(a.high)
