"""What options share decides nothing between them; what differs does."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.compare.candidates import candidates_of
from planner.compare.drawn_times import SCALING, parts_of, work_draws
from planner.compare.entries import Entry
from planner.compare.influences import tornado
from planner.compare.reckon import Comparison, Question, Row, Wanted, better, by_id, compare
from planner.compare.records import Goal, Job
from planner.compare.sheets import library_of
from planner.compare.times import Known, timed
from planner.compare.undecided import undecided
from planner.estimate import Estimate
from tests.planner.compare.made import CATALOG, RUN, SHOP, job, other, row

KNOWN = Known(library=library_of(CATALOG, [row(RUN)]))
COUNTS = (1, 2, 4, 8)
DESCRIBED = Job(
    workload="Net", precision="float32", samples_per_epoch=1e6, train_flops_per_sample=1e10
)


def _counts(
    of: Job, known: Known, card: str = "plain", counts: tuple[int, ...] = COUNTS, price: float = 1.0
) -> Comparison:
    """So many of one card, each accelerator at the same price."""
    entries = [Entry(way="rent", accelerator=card, count=n, price=price * n) for n in counts]
    options = [c for c in candidates_of(of, SHOP, entries) if c.id.startswith("mine-")]
    goal = Goal(words="360 epochs", epochs=360)
    return compare(Question(job=of, goal=goal, known=known, wanted=Wanted(order="time")), options)


def _by_count(told: Comparison) -> dict[int, Row]:
    return {r.candidate.hardware.count: r for r in told.rows}


@settings(max_examples=20, deadline=None)
@given(
    st.floats(8.0, 14.0), st.sampled_from(["plain", "twice", "huge"]),
    st.sampled_from([1, 2, 4]), st.sampled_from([Known(), KNOWN]),
)  # fmt: skip
def test_twice_as_many_of_a_card_on_one_node_are_faster(
    heavy: float, card: str, n: int, known: Known
) -> None:
    described = Job(
        workload="Net", precision="float32", samples_per_epoch=1e6,
        train_flops_per_sample=10.0**heavy,
    )  # fmt: skip
    of = described if known.library is None else job()
    rows = _by_count(_counts(of, known, card, (n, 2 * n)))
    assert better(rows[2 * n], rows[n], "time") >= 0.99


def test_the_most_of_a_card_are_surely_the_fastest_and_have_a_rank_each() -> None:
    told = _counts(DESCRIBED, Known())
    rows = _by_count(told)
    assert (rows[8].fastest or 0.0) > 0.99
    assert [r.candidate.hardware.count for r in told.answered] == [8, 4, 2, 1]
    assert not any(r.tied for r in told.rows)


def test_the_median_is_the_time_and_its_interval_that_of_both_doubts() -> None:
    for count, found in _by_count(_counts(DESCRIBED, Known())).items():
        total = found.timed.total
        assert isinstance(total, Estimate)
        assert found.drawn is not None
        low, middle, high = np.quantile(found.drawn.work_s, [0.05, 0.5, 0.95])
        assert middle == pytest.approx(float(total.value), rel=0.05), count
        assert math.log(high / low) == pytest.approx(
            math.log(float(total.high) / float(total.low)), rel=0.1
        )


def test_several_share_the_draw_of_one_and_differ_by_scaling_alone() -> None:
    rows = _by_count(_counts(DESCRIBED, Known()))
    one, four = (rows[n].drawn for n in (1, 4))
    assert one is not None
    assert four is not None
    assert set(four.parts) == {"Time on 1 x Plain", SCALING}
    name = "Time on 1 x Plain"
    assert np.allclose(one.parts[name], four.parts[name], rtol=1e-9)


def test_where_one_was_measured_several_rest_on_that_system() -> None:
    options = candidates_of(job(), SHOP, [Entry(way="rent", accelerator="plain", count=4, price=1)])
    there = {c.id: c for c in options}
    four, own = there["mine-rent-plain-4-1"], there["own-plain"]
    goal = Goal(words="9 epochs", epochs=9)
    parts = []
    for one in (four, own):
        found = timed(job(), goal, one, KNOWN)
        assert isinstance(found.total, Estimate)
        parts.append(parts_of(job(), one, found, found.total))
    assert set(parts[0]) == {"Time on Plain", SCALING}
    assert set(parts[1]) == {"Time on Plain"}


def test_a_time_without_doubt_is_drawn_as_it_is() -> None:
    exact = Estimate(value=5.0, low=5.0, high=5.0)
    assert work_draws(exact, {}) == 5.0


def test_two_cards_told_from_the_same_measured_one_share_its_error() -> None:
    options = [c for c in candidates_of(job(), SHOP) if c.offer and c.offer.terms == "on demand"]
    told = compare(Question(job=job(), goal=Goal(words="9 epochs", epochs=9), known=KNOWN), options)
    rows = by_id(told.rows)
    twice, huge = (rows[f"rent-cloud-eu-1x-{n}-on-demand"].drawn for n in ("twice", "huge"))
    assert twice is not None
    assert huge is not None
    told_alike = np.corrcoef(np.log(twice.work_s), np.log(huge.work_s))[0, 1]
    assert told_alike == pytest.approx(0.5, abs=0.1)  # one source: half of the variance is its


def test_between_two_numbers_of_a_card_the_scaling_run_would_tell() -> None:
    told = _counts(DESCRIBED, Known(), price=1.0)
    by_cost = compare(
        Question(job=DESCRIBED, goal=told.question.goal, known=Known()),
        [r.candidate for r in told.rows if r.candidate.hardware.count in (2, 4)],
    )
    why, measure = undecided(by_cost)
    if why:
        assert measure.startswith("Measure Net on 4 x Plain")
    found = tornado(by_cost)
    assert found is not None
    assert [i.name for i in found.influences].count("Time on 1 x Plain") <= 1
    assert SCALING in {i.name for i in found.influences}


def test_the_scaling_run_is_named_where_one_card_was_measured() -> None:
    rows = _by_count(_counts(job(), KNOWN))
    assert rows[1].timed.measure_next == ""
    assert rows[4].timed.measure_next == "Measure Net · Data on 4 x Plain."


def test_the_time_of_the_same_hardware_is_not_what_decides_between_two_prices() -> None:
    entries = [Entry(way="rent", accelerator="plain", count=4, price=p) for p in (4.0, 4.0001)]
    options = [c for c in candidates_of(DESCRIBED, SHOP, entries) if c.id.startswith("mine-")]
    told = compare(Question(job=DESCRIBED, goal=Goal(words="1 epoch", epochs=1)), options)
    assert not any(r.tied for r in told.answered)


def test_two_measured_systems_keep_doubts_of_their_own() -> None:
    twice = other("Twice")
    of = job(RUN, twice)
    options = [c for c in candidates_of(of, SHOP) if c.way == "own"]
    told = compare(Question(job=of, goal=Goal(words="9 epochs", epochs=9)), options)
    names = {name for r in told.rows if r.drawn for name in r.drawn.parts}
    assert names == {"Time on Plain", "Time on Twice"}
