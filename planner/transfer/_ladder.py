"""Transfer by the best available rung, and the runs that would narrow the estimate most.

Three kinds of runs narrow an interval: the workload itself on the card; a library workload on that
card (often published already); the workload on another card. The expected interval of each is
calibrated on the library with the same cards and benchmarks and one more. Its width is that of a
cell of typical difficulty.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from planner.core import LEVEL, Estimate, Refusal, Text, percent, several
from planner.transfer._library import part_for
from planner.transfer._records import (
    BASIS_OF,
    SPECS,
    Cell,
    Library,
    Neighbour,
    NextRun,
    Rung,
    Transferred,
    named,
    proposed,
)
from planner.transfer._rungs import (
    GROUPS,
    PREDICTS,
    Calibration,
    Evidence,
    RungEstimate,
    best_answer,
    calibrate,
    evidence_for,
    ladder,
    measured_half_width,
    rank_of,
    tied,
)


def runs_that_narrow(library: Library, answer: RungEstimate, level: float) -> tuple[NextRun, ...]:
    """Return runs after which a narrower interval is expected, the narrowest first.

    Args:
        library: the table.
        answer: the present one.
        level: coverage of its interval [share].
    """
    evidence, (row, column) = answer.evidence, answer.cell
    itself = measured_half_width(1, 0.0, level)
    runs = [_run(library, answer.cell, "measured", itself)]
    for benchmark in _rows_to_run(library, evidence, row):
        more = replace(evidence, benchmarks=np.append(evidence.benchmarks, benchmark))
        runs += _expected(library, more, (benchmark, column), level)
    for card in _cards_to_run(library, evidence, column):
        more = replace(evidence, cards=evidence.cards | (np.arange(evidence.cards.size) == card))
        runs += _expected(library, more, (row, card), level)
    runs.sort(key=lambda run: run.factor)
    return tuple(run for run in runs if run.factor < np.exp(answer.half_width))


def _expected(
    library: Library, evidence: Evidence, cell: tuple[int, int], level: float
) -> Iterator[NextRun]:
    """Yield the run of that cell, if the library can check the rung it would allow."""
    rung = ladder(evidence)[0]
    calibration = calibrate(library, PREDICTS[rung](library, evidence), level)
    if calibration.checked:
        yield _run(library, cell, rung, calibration.half_width(calibration.typical_difficulty))


def _run(library: Library, cell: tuple[int, int], rung: Rung, half_width: float) -> NextRun:
    return NextRun(run=library.cell(*cell), rung=rung, factor=float(np.exp(half_width)))


def _rows_to_run(library: Library, evidence: Evidence, row: int) -> list[int]:
    """Return library workloads of another name and the same precision not run on the card."""
    fresh = ~library.same_name[row] & library.same_precision[row]
    fresh[evidence.benchmarks] = False
    rows: list[int] = np.flatnonzero(fresh).tolist()
    return rows


def _cards_to_run(library: Library, evidence: Evidence, column: int) -> list[int]:
    """Return cards without the workload that share a benchmark with the target card."""
    there = library.measured[evidence.benchmarks].any(axis=0) & ~evidence.cards
    there[column] = False
    columns: list[int] = np.flatnonzero(there).tolist()
    return columns


NAMED: Final = 3
"""Names that are listed one by one."""
OUTSIDE: Final = 1.1
"""A data-sheet number beyond the library's range by more than this factor is reported."""


def of_measurement(card: str, runs: int, half_width: float) -> tuple[str, ...]:
    """Return the number of runs, and by how much another session may differ."""
    off = np.expm1(half_width)
    return (
        Text(
            "{runs} on {card}; another session or another card of this kind may differ by {off}.",
            runs=several(runs, "run"),
            card=card,
            off=percent(off),
        ),
    )


def of_rung(library: Library, answer: RungEstimate) -> str:
    """Return the method of the answer and its sources."""
    row, column = answer.cell
    names = [library.name_of(card) for card in library.cards]
    card, sheet = names[column], answer.rung == "data sheet of the card"
    used = answer.evidence.cards & (np.isfinite(library.sheets[row]).all(axis=-1) | (not sheet))
    if answer.rung == "benchmarks of the card":
        used = used & tied(library, answer.evidence)[row]
    own = listing([names[i] for i in np.flatnonzero(used)])
    there = listing([_name(library.workloads[i]) for i in answer.evidence.benchmarks])
    if sheet:
        return Text(
            "Not measured on {card}: scaled from {own} by the data sheets' "
            "{listing}, as throughput depends on them in the measurements.",
            card=card,
            own=own,
            listing=listing(SPECS, last=" and "),
        )
    if answer.rung == "benchmarks of the card":
        return Text(
            "Scaled by the workloads measured on {card} ({there}), by their relation on {own}.",
            card=card,
            there=there,
            own=own,
        )
    return Text(
        "Scaled from {own} by the ratio to {card} of similar workloads ({there}).",
        own=own,
        card=card,
        there=there,
    )


def of_neighbours(neighbours: Sequence[Neighbour]) -> tuple[str, ...]:
    """Return the nearest library workloads with their ratios."""
    names = ", ".join(
        Text(
            "{named} {ratio:.2f} times (weight {share})",
            named=named(n.workload, n.precision),
            ratio=n.ratio,
            share=percent(n.share),
        )
        for n in neighbours
    )
    return (
        (Text("Most similar, with their speed-up on this card: {names}.", names=names),)
        if names
        else ()
    )


def of_sheet_outside(library: Library, answer: RungEstimate) -> tuple[str, ...]:
    """Return the data-sheet numbers outside the range of the library's other cards."""
    if answer.rung != "data sheet of the card":
        return ()
    row, column = answer.cell
    sheets = np.delete(library.sheets[row], column, axis=0)
    sheets = sheets[np.delete(library.measured.any(axis=0), column)]
    own = library.sheets[answer.cell]
    with_largest = zip(SPECS, np.exp(own - np.nanmax(sheets, axis=0)), strict=True)
    with_smallest = zip(SPECS, np.exp(own - np.nanmin(sheets, axis=0)), strict=True)
    far = [
        Text("{name} is {item:.1f} times the largest", name=name, item=x)
        for name, x in with_largest
        if x > OUTSIDE
    ]
    far += [
        Text("{name} is {item} of the smallest", name=name, item=percent(x))
        for name, x in with_smallest
        if x < 1 / OUTSIDE
    ]
    return (
        (Text("Outside the range of the measured cards: its {far}.", far=", its ".join(far)),)
        if far
        else ()
    )


def of_interval(answer: RungEstimate, level: float) -> str:
    """Return the source of the interval, with its number of cases."""
    learnt = answer.calibration
    n, groups = learnt.residuals, _groups(learnt)
    if not learnt.checked:
        cases = f"only {several(n, 'measured case')} ({groups})" if n else "no measured cases"
        return Text(
            "The error of this method cannot be measured. There are {cases}, and an "
            "interval at {level} needs {least}, of at least {groups} workloads and "
            "{groups} cards. A wide interval is assumed instead.",
            cases=cases,
            level=percent(level),
            least=_least(level),
            groups=GROUPS,
        )
    tried = Text(
        "Tested on {number} ({groups}), each left out in turn,",
        number=several(n, "measured case"),
        groups=groups,
    )
    held = rank_of(level, n)
    if answer.surer_than_measured:
        return Text(
            "{tried} this method was off by less than two sessions differ in "
            "{held}: the interval is the variation between sessions.",
            tried=tried,
            held=held,
        )
    return Text(
        "{tried} this method was off by no more than the interval in {held}.",
        tried=tried,
        held=held,
    )


def _groups(learnt: Calibration) -> str:
    return f"{several(learnt.workloads, 'workload')}, {several(learnt.cards, 'card')}"


def of_next_runs(library: Library, runs: Sequence[NextRun]) -> tuple[str, ...]:
    """Return the proposed runs as sentences."""
    heads = ("Next measurement", "If that cannot be run")
    return tuple(
        Text(
            "{head}: {expected_interval}.",
            head=head,
            expected_interval=_expected_interval(library, run),
        )
        for head, run in zip(heads, proposed(runs), strict=False)
    )


def refusal(cell: Cell, evidence: Evidence, rung: Rung | None) -> Refusal:
    """Return why no rung, or not this one, has an answer."""
    name, card = _name((cell.workload, cell.precision)), cell.card
    lacks = []
    if rung == "measured":
        lacks.append(Text("{name} was not measured on {card}.", name=name, card=card))
    elif not evidence.cards.any():
        lacks.append(Text("{name} was measured on no other card.", name=name))
    if rung not in ("measured", "data sheet of the card"):
        lacks.append(
            Text(
                "No workload was measured both on {card} and on a card with {name}.",
                card=card,
                name=name,
            )
        )
    if rung in (None, "data sheet of the card"):
        lacks.append(
            Text(
                "{card}, or every card where {name} was measured, lacks a data sheet "
                "with {precision} FLOP/s, bandwidth and memory.",
                card=card,
                name=name,
                precision=cell.precision,
            )
        )
    return Refusal(
        reason=" ".join(lacks),
        measure_next=Text(
            "Measure {cell}; or on {card} any workload that was measured elsewhere; or "
            "add the data sheets.",
            cell=cell,
            card=card,
        ),
    )


def listing(names: Sequence[str], last: str = ", ") -> str:
    """Return the names joined, `last` before the last one, or the first and how many more."""
    if len(names) <= NAMED:
        return last.join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
    return Text("{names} and {last} more", names=", ".join(names[:NAMED]), last=len(names) - NAMED)


def _expected_interval(library: Library, run: NextRun) -> str:
    cell = replace(run.run, card=library.name_of(run.run.card))
    down, up = percent(1.0 - 1.0 / run.factor), percent(run.factor - 1.0)
    return Text("{cell} (then -{down} to +{up} or so)", cell=cell, down=down, up=up)


def _name(workload: tuple[str, str]) -> str:
    return named(*workload)


def _least(level: float) -> int:
    """Return how many errors an interval needs: the smallest n with rank_of(n) <= n."""
    return math.ceil(round(level / (1.0 - level), 9))


NEAREST: Final = 3
"""Library workloads shown beside an answer that is based on them."""


def transfer(
    library: Library, cell: Cell, *, level: float = LEVEL, rung: Rung | None = None
) -> Transferred | Refusal:
    """Return the samples/s of a workload on a card it was not measured on.

    A measured cell is its own answer. Otherwise the first rung with the data it needs and an
    interval that the library can check is used; else the first one, with a wide interval.

    Args:
        library: measured throughputs and data sheets, own ones included.
        cell: the target cell, with names as in the library.
        level: coverage of the interval [share].
        rung: the only one to use, for comparisons; None for the best.

    Returns:
        The answer, or a `Refusal` where the workload was never measured or the card is unknown.

    Raises:
        ValueError: level is not strictly between 0 and 1, or there is no such rung.
    """
    if rung is not None and rung not in BASIS_OF:
        raise ValueError(
            Text(
                "{rung!r} is not a rung. Use one of {basis_of}, or None for the best.",
                rung=rung,
                basis_of=", ".join(BASIS_OF),
            )
        )
    place = _place(library, cell)
    if isinstance(place, Refusal):
        return place
    if library.measured[place] and rung in (None, "measured"):
        return _measured(library, cell, place, level)
    library, place = part_for(library, *place)
    answer = best_answer(library, place, level, rung)
    if answer is None:
        return refusal(cell, evidence_for(library, *place), rung)
    return _transferred(library, cell, answer, level)


def _place(library: Library, cell: Cell) -> tuple[int, int] | Refusal:
    """Return row and column of the table, or why there is none."""
    workload = (cell.workload, cell.precision)
    name = named(*workload)
    if workload not in library.workloads:
        best = library.cards[int(library.measured.sum(axis=0).argmax())]
        return Refusal(
            reason=Text(
                "{name} was measured on no card, so its speed cannot be estimated.", name=name
            ),
            measure_next=Text(
                "Measure {name} on any measured card, best on {best}.", name=name, best=best
            ),
        )
    if cell.card not in library.cards:
        return Refusal(
            reason=Text("{card} has no measurements and no data sheet.", card=cell.card),
            measure_next=Text(
                "Measure {cell}, or add the data sheet of {card}.", cell=cell, card=cell.card
            ),
        )
    return library.workloads.index(workload), library.cards.index(cell.card)


def _measured(library: Library, cell: Cell, place: tuple[int, int], level: float) -> Transferred:
    runs = int(library.runs[place])
    half = measured_half_width(runs, float(library.squares[place]), level)
    sentences = of_measurement(library.name_of(cell.card), runs, half)
    estimate = _estimate(
        float(library.log_samples_per_s[place]), half, level, "measured", sentences
    )
    return Transferred(cell=cell, estimate=estimate, rung="measured")


def _transferred(library: Library, cell: Cell, answer: RungEstimate, level: float) -> Transferred:
    runs = runs_that_narrow(library, answer, level)
    nearest = _nearest(library, answer)
    sentences = (
        of_rung(library, answer),
        *of_neighbours(nearest),
        *of_sheet_outside(library, answer),
        of_interval(answer, level),
        *of_next_runs(library, runs),
    )
    return Transferred(
        cell=cell,
        estimate=_estimate(
            answer.log_samples_per_s, answer.half_width, level, answer.rung, sentences
        ),
        rung=answer.rung,
        residuals=answer.calibration.residuals if answer.calibration.checked else 0,
        neighbours=nearest,
        next_runs=runs,
    )


def _nearest(library: Library, answer: RungEstimate) -> tuple[Neighbour, ...]:
    """Return the library workloads with the largest weights; empty for other rungs."""
    if answer.prediction.shares is None:
        return ()
    row, column = answer.cell
    shares = answer.prediction.shares[row, :, column]
    order = np.argsort(-shares, kind="stable")[:NEAREST]
    return tuple(
        _neighbour(library, answer, int(answer.evidence.benchmarks[i]), float(shares[i]))
        for i in order
        if shares[i] > 0.0
    )


def _neighbour(library: Library, answer: RungEstimate, voter: int, share: float) -> Neighbour:
    log = library.log_samples_per_s[voter]
    others = answer.evidence.cards & library.measured[voter]
    name, precision = library.workloads[voter]
    ratio = float(np.exp(log[answer.cell[1]] - log[others].mean()))
    return Neighbour(workload=name, precision=precision, ratio=ratio, share=share)


def _estimate(
    log: float, half_width: float, level: float, rung: Rung, reasons: tuple[str, ...]
) -> Estimate:
    low, value, high = (float(np.exp(log + side * half_width)) for side in (-1.0, 0.0, 1.0))
    return Estimate(
        value=value, low=low, high=high, level=level, basis=BASIS_OF[rung], reasons=reasons
    )
