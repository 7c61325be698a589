"""Networks of one data set compared: the steps of one optimiser to the same target."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.convergence import ConvergenceCurve, set_labels
from planner.core import Estimate, Record, Text
from planner.core.slugs import BADGE
from planner.runs import TrialSet
from planner.throughput import count, rounded_estimate, size, with_interval
from planner.time_to_target.goodput import OptimizerComparison, OptimizerCurve
from planner.time_to_target.sentences import TargetWords
from planner.time_to_target.tables import batch_rows, fit_rows

MOST_FAMILIES: Final = 10
"""Networks in one comparison: as many as there are colours."""
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
    """Return which network scales to the largest batch, and which needs the fewest steps."""
    fitted = of.fitted
    where = Text(
        "on {dataset} with {optimizer} to {target}",
        dataset=of.dataset,
        optimizer=of.optimizer,
        target=of.goal.target,
    )
    if len(fitted) < 2:
        only = Text("only {fitted} has", fitted=fitted[0][0].name) if fitted else "no network has"
        hint = "" if of.easiest == of.goal.target else f", as {of.easiest}"
        return [
            Text(
                "No comparison {where}: {only} a fitted law. Choose an easier target{hint}.",
                where=where,
                only=only,
                hint=hint,
            )
        ]
    critical = [(f.name, c.critical_batch_size) for f, c in fitted]
    least = [(f.name, c.min_steps) for f, c in fitted]
    return [
        _first(
            sorted(critical, key=lambda x: -_number(x[1])),
            Text("scales to the largest batch {where}: Bcrit is", where=where),
            Text("are tied for the largest critical batch size {where}.", where=where),
            size,
        ),
        _first(
            sorted(least, key=lambda x: _number(x[1])),
            "needs the fewest steps at large batches: Smin is",
            "are tied for the fewest steps at large batches.",
            count,
        ),
    ]


def family_rows(of: Families) -> list[Record]:
    """Return Bcrit, Smin and Emin of every network with their intervals, or the refusal."""
    return [{"network": f.name, **row} for f in of.families for row in fit_rows(_alone(f), of.goal)]


def family_batch_rows(of: Families) -> list[Record]:
    """Return every batch of every network at its best learning rate."""
    return [{"network": f.name, **row} for f in of.families for row in batch_rows(_alone(f))]


def _alone(family: Family) -> OptimizerComparison:
    return OptimizerComparison(target=np.nan, curves=(family.curve,))


def _first(
    ranked: Sequence[tuple[str, Estimate]], leads: str, tied: str, write: Callable[[float], str]
) -> str:
    """Return the first of a ranking, or that it is tied with all whose intervals meet its own."""
    (name, best), *others = ranked
    equal = [other for other, e in others if _meet(best, e)]
    if not equal:
        (second, next_best) = others[0]
        return Text(
            "{name} {leads} {own}, against {other} of {second}.",
            name=name,
            leads=leads,
            own=_written(best, write),
            other=_written(next_best, write),
            second=second,
        )
    if len(equal) == len(others):
        names = "All networks" if len(ranked) > 2 else f"{name} and {equal[0]}"
    else:
        *before, last = [name, *equal]
        comma = "; " if any(", " in each for each in before) else ", "
        names = f"{comma.join(before)} and {last}"
    return Text(
        "{names} {tied} Their intervals overlap: {name} leads with {written}.",
        names=names,
        tied=tied,
        name=name,
        written=_written(best, write),
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
