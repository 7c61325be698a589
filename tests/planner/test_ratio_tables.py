"""How long? and its ratio report divide the same totals by the same formula."""

from __future__ import annotations

from functools import partial

import pytest

from planner.estimate import Refusal
from planner.how_long import Option, how_long
from planner.ratio_tables import ratio_rows, times_of
from planner.ratios import SpeedUp, systems_of
from planner.speed_words import ahead
from planner.store import queries
from planner.usual import offered, with_epochs
from tests import shipped

EPOCHS = (1, 20, 2000)


def _groups() -> list[list[Option]]:
    """Runs of every shipped workload and pattern, with their single epochs."""
    store = shipped.store()
    seconds = partial(queries.epochs_of, store)
    return [
        with_epochs(offered(queries.runs_of(store, w, p), seconds), seconds)
        for w in queries.workloads(store)
        for p in queries.patterns(store, w)
    ]


@pytest.mark.parametrize("epochs", EPOCHS)
def test_both_agree_to_the_last_digit_over_all_shipped_pairs(epochs: int) -> None:
    pairs = 0
    for options in _groups():
        times = {o.label: times_of(o, epochs) for o in options}
        for base in options:
            result = how_long(options, epochs, base.label)
            for answer in result.answers:
                one, other = times[answer.option.label], times[base.label]
                if one is None or other is None or answer.option is base:
                    continue
                found = systems_of([one], [other], epochs).best_against_best.over_epochs
                if answer.speed_ratio is None:
                    assert isinstance(found, Refusal)
                    continue
                assert isinstance(found, SpeedUp)
                factor = found.factor
                assert (factor.value, factor.low, factor.high) == (
                    answer.speed_ratio.value,
                    answer.speed_ratio.low,
                    answer.speed_ratio.high,
                )
                pairs += 1
    assert pairs > 100


def test_the_printed_report_says_what_the_sentence_says() -> None:
    options = next(g for g in _groups() if {"GPU", "TPU v2-8"} <= {o.run.system for o in g})
    gpu = next(o for o in options if o.label == "GPU · batch 64")
    best = how_long(options, 2000, gpu.label).answers[0]
    assert best.speed_ratio is not None
    rows = ratio_rows(options, "TPU v2-8", "GPU", 2000)
    largest = next(r for r in rows if str(r["Comparison"]).startswith("largest speed-up"))
    assert largest["Over 2,000 epochs"] == ahead(float(best.speed_ratio.value)) == "24.3x faster"
