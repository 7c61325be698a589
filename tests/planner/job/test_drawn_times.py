"""What options share decides nothing between them; what differs does."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.compare import Entry, candidates_of, compare, tornado
from planner.compare.comparison import CompareQuestion, Comparison, Limits, Row, by_id
from planner.compare.evaluation import better
from planner.compare.undecided import undecided
from planner.core import Estimate
from planner.job import Goal, Job, OwnTarget, TimeSources, library_of, parts_of, timed, work_draws
from planner.job._records import Scaling
from planner.job._times import SAMPLES, SCALING, own_scaling
from planner.job.efficiency import NODE_SHARED, parts_of_scaling
from tests.planner.compare.made import CATALOG, RUN, SHOP, job, other, row

KNOWN = TimeSources(library=library_of(CATALOG, [row(RUN)]))
COUNTS = (1, 2, 4, 8)
OWN_SCALING = own_scaling("Plain", across_nodes=False)
DESCRIBED = Job(
    workload="Net", precision="float32", samples_per_epoch=1e6, train_flops_per_sample=1e10
)


def _counts(
    of: Job,
    known: TimeSources,
    card: str = "plain",
    counts: tuple[int, ...] = COUNTS,
    price: float = 1.0,
) -> Comparison:
    """So many of one card, each accelerator at the same price."""
    entries = [Entry(way="rent", accelerator=card, count=n, price=price * n) for n in counts]
    options = [c for c in candidates_of(of, SHOP, entries) if c.id.startswith("mine-")]
    goal = Goal(words="360 epochs", epochs=360)
    return compare(
        CompareQuestion(job=of, goal=goal, measurements=known, limits=Limits(order="time")), options
    )


def _by_count(result: Comparison) -> dict[int, Row]:
    return {r.candidate.hardware.count: r for r in result.rows}


@settings(max_examples=20, deadline=None)
@given(
    st.floats(8.0, 14.0), st.sampled_from(["plain", "twice", "huge"]),
    st.sampled_from([1, 2, 4]), st.sampled_from([TimeSources(), KNOWN]),
)  # fmt: skip
def test_twice_as_many_of_a_card_on_one_node_are_faster(
    heavy: float, card: str, n: int, known: TimeSources
) -> None:
    described = Job(
        workload="Net", precision="float32", samples_per_epoch=1e6,
        train_flops_per_sample=10.0**heavy,
    )  # fmt: skip
    of = described if known.library is None else job()
    rows = _by_count(_counts(of, known, card, (n, 2 * n)))
    assert better(rows[2 * n], rows[n], Limits(order="time")) >= 0.99


def test_the_most_of_a_card_are_certainly_the_fastest_and_have_a_rank_each() -> None:
    result = _counts(DESCRIBED, TimeSources())
    rows = _by_count(result)
    assert (rows[8].fastest or 0.0) > 0.99
    assert [r.candidate.hardware.count for r in result.answered] == [8, 4, 2, 1]
    assert not any(r.tied for r in result.rows)


def test_the_median_is_the_time_and_its_interval_that_of_both_uncertainties() -> None:
    for count, found in _by_count(_counts(DESCRIBED, TimeSources())).items():
        total = found.timed.total
        assert isinstance(total, Estimate)
        assert found.drawn is not None
        low, middle, high = np.quantile(found.drawn.work_s, [0.05, 0.5, 0.95])
        assert middle == pytest.approx(float(total.value), rel=0.05), count
        assert math.log(high / low) == pytest.approx(
            math.log(float(total.high) / float(total.low)), rel=0.1
        )


def test_several_share_the_draw_of_one_and_differ_by_scaling_alone() -> None:
    rows = _by_count(_counts(DESCRIBED, TimeSources()))
    one, four = (rows[n].drawn for n in (1, 4))
    assert one is not None
    assert four is not None
    assert set(one.parts) == {"Time on 1 x Plain"}
    assert set(four.parts) == {"Time on 1 x Plain", SCALING, OWN_SCALING}
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
    assert set(parts[0]) == {"Time on Plain", SCALING, OWN_SCALING}
    assert set(parts[1]) == {"Time on Plain"}


def test_a_time_without_uncertainty_is_drawn_as_it_is() -> None:
    exact = Estimate(value=5.0, low=5.0, high=5.0)
    assert work_draws(exact, {}) == 5.0


def test_two_cards_estimated_from_the_same_measured_one_share_its_error() -> None:
    options = [c for c in candidates_of(job(), SHOP) if c.offer and c.offer.terms == "on demand"]
    goal = Goal(words="2000 epochs", epochs=2000)  # so many that the start is nothing
    result = compare(CompareQuestion(job=job(), goal=goal, measurements=KNOWN), options)
    rows = by_id(result.rows)
    twice, huge = (rows[f"rent-cloud-eu-1x-{n}-on-demand"].drawn for n in ("twice", "huge"))
    assert twice is not None
    assert huge is not None
    told_alike = np.corrcoef(np.log(twice.work_s), np.log(huge.work_s))[0, 1]
    assert told_alike == pytest.approx(0.5, abs=0.1)  # one source: half of the variance is its


def test_between_two_numbers_of_a_card_the_scaling_run_would_tell() -> None:
    result = _counts(DESCRIBED, TimeSources(), price=1.0)
    by_cost = compare(
        CompareQuestion(job=DESCRIBED, goal=result.question.goal, measurements=TimeSources()),
        [r.candidate for r in result.rows if r.candidate.hardware.count in (2, 4)],
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
    result = compare(CompareQuestion(job=DESCRIBED, goal=Goal(words="1 epoch", epochs=1)), options)
    assert not any(r.tied for r in result.answered)


def test_two_measured_systems_keep_uncertainties_of_their_own() -> None:
    twice = other("Twice")
    of = job(RUN, twice)
    options = [c for c in candidates_of(of, SHOP) if c.way == "own"]
    result = compare(CompareQuestion(job=of, goal=Goal(words="9 epochs", epochs=9)), options)
    names = {name for r in result.rows if r.drawn for name in r.drawn.parts}
    assert names == {"Time on Plain", "Time on Twice"}


# -- samples to the target -----------------------------------------------------------------------

TARGET = Goal(
    words="2 %", samples=Estimate(value=1e7, low=4e6, high=2.5e7), batch=128.0
)  # fmt: skip


def _to_target(of: Job = DESCRIBED, known: TimeSources | None = None) -> list[Row]:
    entries = [Entry(way="rent", accelerator=c, count=1, price=1.0) for c in ("plain", "twice")]
    options = [c for c in candidates_of(of, SHOP, entries) if c.id.startswith("mine-")]
    return list(
        compare(
            CompareQuestion(job=of, goal=TARGET, measurements=known or TimeSources()), options
        ).answered
    )


def test_the_samples_to_a_target_are_one_draw_for_all_options() -> None:
    rows = _to_target()
    first, second = (r.drawn for r in rows)
    assert first is not None
    assert second is not None
    assert np.array_equal(first.parts[SAMPLES], second.parts[SAMPLES])
    assert float(np.median(first.parts[SAMPLES])) == pytest.approx(1.0, rel=1e-3)


def test_how_many_samples_it_takes_decides_nothing_between_two_options() -> None:
    doubtful = {r.candidate.id: r for r in _to_target()}
    exact = replace(TARGET, samples=Estimate(value=1e7, low=1e7, high=1e7))
    question = CompareQuestion(job=DESCRIBED, goal=exact, limits=Limits(order="time"))
    sure = by_id(compare(question, [r.candidate for r in doubtful.values()]).rows)
    first, second = doubtful
    result = better(doubtful[first], doubtful[second], question.limits)
    assert result == pytest.approx(better(sure[first], sure[second], question.limits), abs=0.01)


def test_the_interval_of_the_total_keeps_the_uncertainty_of_the_samples() -> None:
    for row_ in _to_target():
        total = row_.timed.total
        assert isinstance(total, Estimate)
        assert row_.drawn is not None
        low, high = np.quantile(row_.drawn.work_s, [0.05, 0.95])
        assert math.log(high / low) == pytest.approx(
            math.log(float(total.high) / float(total.low)), rel=0.1
        )


def test_the_samples_are_one_bar_of_what_matters() -> None:
    result = compare(
        CompareQuestion(job=DESCRIBED, goal=TARGET), [r.candidate for r in _to_target()]
    )
    found = tornado(result)
    assert found is not None
    assert [i.name for i in found.influences].count(SAMPLES) == 1


def test_a_measured_time_to_the_target_shares_its_samples_with_the_others() -> None:
    measured = Estimate(value=5e4, low=1.8e4, high=1.4e5)
    known = replace(KNOWN, own_targets={"Plain": OwnTarget(total=measured, batch=128.0)})
    rows = {r.candidate.hardware.label: r for r in _to_target(job(), known)}
    plain, twice = (rows[n].drawn for n in ("1 x Plain", "1 x Twice"))
    assert plain is not None
    assert twice is not None
    assert np.corrcoef(plain.parts[SAMPLES], twice.parts[SAMPLES])[0, 1] > 0.9999
    assert set(plain.parts) == {"Time on Plain", SAMPLES}
    low, high = np.quantile(plain.work_s, [0.05, 0.95])
    assert math.log(high / low) == pytest.approx(math.log(1.4e5 / 1.8e4), rel=0.1)


def test_a_measured_interval_that_is_narrower_than_the_samples_stays_as_it_is() -> None:
    narrow = Estimate(value=5e4, low=4e4, high=6e4)
    known = replace(KNOWN, own_targets={"Plain": OwnTarget(total=narrow, batch=128.0)})
    drawn = next(r.drawn for r in _to_target(job(), known) if "Plain" in r.candidate.label)
    assert drawn is not None
    low, high = np.quantile(drawn.work_s, [0.05, 0.95])
    assert (low, high) == (pytest.approx(4e4, rel=0.03), pytest.approx(6e4, rel=0.03))


def test_so_many_epochs_have_no_uncertainty_of_samples() -> None:
    for row_ in _counts(job(), KNOWN).rows:
        assert row_.drawn is not None
        assert SAMPLES not in row_.drawn.parts


# -- scaling of one card, and of another ---------------------------------------------------------


def _eight(cards: tuple[str, ...]) -> list[Row]:
    entries = [Entry(way="rent", accelerator=c, count=8, price=1.0) for c in cards]
    options = [c for c in candidates_of(DESCRIBED, SHOP, entries) if c.id.startswith("mine-")]
    question = CompareQuestion(job=DESCRIBED, goal=Goal(words="1 epoch", epochs=1))
    return list(compare(question, options).answered)


def test_two_kinds_of_cards_share_a_small_part_of_the_uncertainty_of_scaling() -> None:
    factors = []
    for row_ in _eight(("plain", "twice")):
        assert row_.drawn is not None
        name = row_.candidate.hardware.label.split()[-1]
        own = row_.drawn.parts[own_scaling(name, across_nodes=False)]
        factors.append(np.log(row_.drawn.parts[SCALING] * own))
    assert np.corrcoef(factors[0], factors[1])[0, 1] == pytest.approx(NODE_SHARED, abs=0.05)


def test_several_nodes_are_each_accelerators_own() -> None:
    result = Scaling(factor=Estimate(value=1.0, low=0.5, high=2.0), across_nodes=True)
    common, own = parts_of_scaling(result)
    assert common is None
    assert own.low == result.factor.low


# -- from several that were measured -------------------------------------------------------------


def _from_four(counts: tuple[int, ...]) -> dict[int, Row]:
    """Four were measured together, at 320 samples a second, and nothing else."""
    four = replace(RUN, samples_per_s=320.0, first_epoch_s=31.25, later_epoch_mean_s=31.25)
    there = {"accelerators_per_node": 4}
    known = TimeSources(library=library_of(CATALOG, [row(four, **there)]))
    return _by_count(_counts(job(four, **there), known, counts=counts))


def test_fewer_than_were_measured_are_uncertain_the_other_way() -> None:
    rows = _from_four((1, 2, 8))
    z = {n: np.log(r.drawn.parts[OWN_SCALING]) for n, r in rows.items() if r.drawn}
    assert np.corrcoef(z[1], z[2])[0, 1] == pytest.approx(1.0, abs=0.01)
    assert np.corrcoef(z[1], z[8])[0, 1] == pytest.approx(-1.0, abs=0.01)
    assert np.std(z[1]) == pytest.approx(2.0 * np.std(z[2]), rel=0.02)  # two doublings, and one
    assert np.std(z[8]) == pytest.approx(np.std(z[2]), rel=0.02)


def test_what_was_measured_has_no_uncertainty_of_scaling() -> None:
    rows = _from_four((4, 8))
    assert rows[4].drawn is not None
    assert rows[8].drawn is not None
    assert set(rows[4].drawn.parts) == {"Time on Plain"}
    assert set(rows[8].drawn.parts) == {"Time on Plain", SCALING, OWN_SCALING}


def test_twice_as_many_are_faster_from_four_that_were_measured_too() -> None:
    rows = _from_four((1, 2, 4, 8))
    for n in (1, 2, 4):
        assert better(rows[2 * n], rows[n], Limits(order="time")) >= 0.99


def test_a_bar_moves_each_option_by_its_own_doublings() -> None:
    rows = _by_count(_counts(DESCRIBED, TimeSources(), price=3600.0))
    two, eight = (rows[n] for n in (2, 8))
    question = CompareQuestion(job=DESCRIBED, goal=Goal(words="360 epochs", epochs=360))
    result = tornado(compare(question, [two.candidate, eight.candidate]))
    assert result is not None
    bar = next(i for i in result.influences if i.name == OWN_SCALING)
    gap = sum(sign * _swing(row_) for sign, row_ in ((1.0, eight), (-1.0, two)))
    assert bar.swing == pytest.approx(abs(gap), rel=0.05)


def _swing(row_: Row) -> float:
    """How far the cost moves with the accelerator's own scaling [USD], at 1 USD/s for each."""
    total = row_.timed.total
    assert isinstance(total, Estimate)
    assert row_.drawn is not None
    low, high = np.quantile(row_.drawn.parts[OWN_SCALING], [0.05, 0.95], method="hazen")
    return row_.candidate.hardware.count * float(total.value) * float(high - low)
