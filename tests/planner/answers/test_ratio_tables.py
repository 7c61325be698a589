"""How long? and its ratio report divide the same totals by the same formula."""

from __future__ import annotations

import functools
from functools import partial
from itertools import combinations, islice

from planner.answers import ratio_rows
from planner.answers._tables import times_of
from planner.core import Estimate, ahead
from planner.epochs import Option, RunTimes, SpeedUp, offered, systems_of, with_epochs, with_sizes
from planner.epochs._ratios import speed_up
from planner.epochs.how_long import how_long
from planner.store import queries
from tests import shipped
from tests.each import each
from tests.faults.outcomes import FULL

EPOCHS = (1, 20, 2000)
STEP = 1 if FULL else 7
"""Of all pairs of runs, every so many."""
Ends = tuple[float, float, float]
"""Value, low and high."""


@functools.cache
def _groups() -> list[list[Option]]:
    """Runs of every shipped workload and pattern, with their single epochs."""
    store = shipped.store()
    seconds = partial(queries.epochs_of, store)
    return [
        with_epochs(offered(queries.runs_of(store, w, p), seconds), seconds)
        for w in shipped.every(queries.workloads(store))
        for p in queries.patterns(store, w)
    ]


@each("epochs", EPOCHS)
def test_both_agree_to_the_last_digit_over_all_shipped_pairs(epochs: int) -> None:
    pairs = 0
    share = _groups() if FULL else _groups()[EPOCHS.index(epochs) :: len(EPOCHS)]
    for options in share:
        first = how_long(options, epochs, options[0].label)
        times = {o.label: times_of(o, epochs) for o in with_sizes(options, first.epoch_size)}
        totals = {a.option.label: a.total for a in first.answers}
        for answer in first.answers:  # as the page shows it against its baseline
            own = _ratio(times[answer.option.label], times[options[0].label], epochs)
            if answer.option.label != options[0].label:
                assert own == _ends(answer.speed_ratio)
        for one, other in islice(combinations(totals, 2), 0, None, STEP):  # and any two
            result = _ratio(times[one], times[other], epochs)
            assert result == _ends(speed_up(totals[other], totals[one]))
            pairs += result is not None
    assert pairs >= (100 if FULL else 20)


def _ratio(one: RunTimes | None, other: RunTimes | None, epochs: int) -> Ends | None:
    """What the ratio report says of two runs; None where one of them has no answer."""
    if one is None or other is None:
        return None
    found = systems_of([one], [other], epochs).best_against_best.over_epochs
    return _ends(found.factor) if isinstance(found, SpeedUp) else None


def _ends(ratio: Estimate | None) -> Ends | None:
    return None if ratio is None else (float(ratio.value), float(ratio.low), float(ratio.high))


def test_the_printed_report_says_what_the_sentence_says() -> None:
    options = next(g for g in _groups() if {"GPU", "TPU v2-8"} <= {o.run.system for o in g})
    gpu = next(o for o in options if o.label == "GPU · batch 64")
    best = how_long(options, 2000, gpu.label).answers[0]
    assert best.speed_ratio is not None
    rows = ratio_rows(options, "TPU v2-8", "GPU", 2000)
    largest = next(r for r in rows if str(r["Comparison"]).startswith("largest speed-up"))
    assert largest["Over 2,000 epochs"] == ahead(float(best.speed_ratio.value)) == "24.3x faster"
