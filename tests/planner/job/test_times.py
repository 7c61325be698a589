"""What a total is made of: the same parts wherever it is from."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.compare import candidates_of
from planner.core import Estimate, Refusal
from planner.epochs import START_NOT_INCLUDED, session_half_width
from planner.epochs.epoch_size import ADD_SIZE
from planner.job import (
    Candidate,
    Goal,
    Job,
    OwnTarget,
    Timed,
    TimeSources,
    library_at,
    library_of,
    timed,
    usual_batch,
)
from planner.job._job import OTHER_BATCH
from planner.job._times import PRE_TRAIN_FACTOR
from tests.planner.compare.made import CATALOG, RUN, SHOP, job, row

LIBRARY = library_of(CATALOG, [row(RUN)])
TARGET = Goal(words="2 %", samples=Estimate(value=1e4, low=1e4, high=1e4), batch=100.0)
EPOCHS = Goal(words="2 epochs", epochs=2)
DESCRIBED = Job(
    workload="Net", precision="float32", samples_per_epoch=1e6, train_flops_per_sample=1e10
)


def _candidate(name: str, of: Job) -> Candidate:
    return {c.id: c for c in candidates_of(of, SHOP)}[name]


def _timed(name: str, of: Job, goal: Goal, own: Estimate | None = None) -> Timed:
    targets = {} if own is None else {"Plain": OwnTarget(total=own, batch=100.0)}
    return timed(of, goal, _candidate(name, of), TimeSources(library=LIBRARY, own_targets=targets))


def _total(found: Timed) -> Estimate:
    assert isinstance(found.total, Estimate)
    return found.total


def test_a_measured_target_begins_as_early_as_an_estimated_one() -> None:
    at_100_a_second = Estimate(value=100.0, low=100.0, high=100.0)
    here = _total(_timed("own-plain", job(), TARGET, at_100_a_second))
    assert here.value == pytest.approx(100.0 + 100.0)
    there = _total(_timed("rent-cloud-eu-1x-huge-on-demand", job(), TARGET, at_100_a_second))
    assert float(there.value) > 100.0  # its start is in it too


def test_what_trains_for_no_time_takes_its_start_on_both_and_neither_is_certainly_faster() -> None:
    brief = replace(TARGET, samples=Estimate(value=1.0, low=1.0, high=1.0))
    moment = Estimate(value=0.01, low=0.01, high=0.01)
    here = _total(_timed("own-plain", job(), brief, moment))
    there = _total(_timed("rent-cloud-eu-1x-huge-on-demand", job(), brief, moment))
    assert here.value == pytest.approx(there.value, rel=1e-3)
    assert float(there.low) < float(here.value) < float(there.high)


def test_a_run_without_its_start_gets_the_uncertain_one_of_the_job() -> None:
    bare = replace(RUN, run_id="c" * 32, pre_train_s=None, until_first_epoch_end_s=200.0,
                   first_epoch_s=None)  # fmt: skip
    of = replace(job(bare), pre_train_s=100.0)
    moment = Estimate(value=0.01, low=0.01, high=0.01)
    total = _total(_timed("own-plain", of, TARGET, moment))
    assert total.high == pytest.approx(100.0 * PRE_TRAIN_FACTOR, rel=1e-3)


def test_start_and_work_of_one_session_move_together() -> None:
    at_100_a_second = Estimate(value=100.0, low=100.0, high=100.0)
    total = _total(_timed("own-plain", job(), TARGET, at_100_a_second))
    half = session_half_width(total.level)
    assert total.low == pytest.approx(200.0 * math.exp(-half))
    assert total.high == pytest.approx(200.0 * math.exp(half))
    assert float(total.low) == pytest.approx(188.4, abs=0.05)
    assert float(total.high) == pytest.approx(212.3, abs=0.05)


def test_a_start_that_no_run_reports_is_not_counted_and_said_to_be() -> None:
    bare = replace(RUN, run_id="c" * 32, pre_train_s=None, until_first_epoch_end_s=200.0,
                   first_epoch_s=None)  # fmt: skip
    at_100_a_second = Estimate(value=100.0, low=100.0, high=100.0)
    here = _total(_timed("own-plain", job(bare), TARGET, at_100_a_second))
    there = _total(_timed("rent-cloud-eu-1x-huge-on-demand", job(bare), TARGET))
    assert here.value == pytest.approx(100.0)
    assert START_NOT_INCLUDED in here.reasons
    assert START_NOT_INCLUDED in there.reasons
    known = _total(_timed("rent-cloud-eu-1x-huge-on-demand", job(), TARGET))
    measured = _total(_timed("own-plain", job(), TARGET, at_100_a_second))
    assert START_NOT_INCLUDED not in (*known.reasons, *measured.reasons)


def test_a_long_start_is_reported_in_the_units_a_person_would_say() -> None:
    of = replace(job(), pre_train_s=120.0)
    total = _total(_timed("rent-cloud-eu-1x-huge-on-demand", of, replace(EPOCHS, epochs=1)))
    said = "Start-up took 2 min 0 s (median) where it was measured; half"
    assert any(r.startswith(said) for r in total.reasons)


def test_a_start_of_another_machine_is_uncertain_and_said_to_be() -> None:
    of = job()
    total = _total(_timed("rent-cloud-eu-1x-huge-on-demand", of, replace(EPOCHS, epochs=1)))
    assert float(total.high) - float(total.value) >= (PRE_TRAIN_FACTOR - 1.0) * of.pre_train_s
    assert float(total.value) - float(total.low) >= 0.5 * of.pre_train_s
    assert any("half to twice as long is assumed" in r for r in total.reasons)
    long = _total(_timed("rent-cloud-eu-1x-huge-on-demand", of, replace(EPOCHS, epochs=9999)))
    assert not any("Before the first step" in r for r in long.reasons)


@given(st.floats(0.0, 1e6), st.integers(1, 10_000))
def test_a_total_is_never_shorter_than_nothing_and_lies_in_its_interval(
    start_s: float, epochs: int
) -> None:
    of = replace(job(), pre_train_s=start_s)
    goal = Goal(words="epochs", epochs=epochs)
    total = _total(_timed("rent-cloud-eu-1x-twice-on-demand", of, goal))
    assert 0.0 < float(total.low) <= float(total.value) <= float(total.high)


def test_without_a_start_only_the_rate_is_uncertain() -> None:
    goal = Goal(words="1 epoch", epochs=1)
    found = timed(DESCRIBED, goal, _candidate("buy-1x-plain", DESCRIBED), TimeSources())
    assert found.rate is not None
    assert _total(found).low == pytest.approx(1e6 / float(found.rate.high))
    assert _total(found).high == pytest.approx(1e6 / float(found.rate.low))


@pytest.mark.parametrize(("batch", "said"), [(None, True), (512.0, False)])
def test_a_batch_is_assumed_and_said_only_where_none_was_given(
    batch: float | None, *, said: bool
) -> None:
    of = replace(DESCRIBED, batch=batch)
    goal = Goal(words="1 epoch", epochs=1)
    found = timed(of, goal, _candidate("buy-1x-plain", of), TimeSources())
    target = timed(of, TARGET, _candidate("buy-1x-plain", of), TimeSources())
    assert any(OTHER_BATCH in r for r in _total(found).reasons) is said
    assert found.batch == (batch or usual_batch(""))
    assert not any(OTHER_BATCH in r for r in _total(target).reasons)


def test_a_transferred_time_has_the_batch_of_its_run() -> None:
    found = _timed("rent-cloud-eu-1x-huge-on-demand", job(), EPOCHS)
    assert found.batch == float(RUN.global_batch_size or 0)
    said = "Assumes batch 100, that of the fastest measured run."
    assert any(r.startswith(said) for r in _total(found).reasons)


def test_a_transferred_time_at_a_batch_rests_on_runs_at_that_batch() -> None:
    slow = replace(RUN, run_id="c" * 32, global_batch_size=10, samples_per_s=25.0)
    of, rows = job(RUN, slow), [row(RUN), row(slow)]
    library = library_of(CATALOG, rows)
    huge = "rent-cloud-eu-1x-huge-on-demand"
    rate = {
        batch: timed(
            of,
            replace(EPOCHS, at_batch=batch),
            _candidate(huge, of),
            TimeSources(library=library_at(library, of, batch)),
        ).rate
        for batch in (None, 100.0, 10.0)
    }
    assert rate[None] == rate[100.0]
    fast, at_ten = rate[100.0], rate[10.0]
    assert fast is not None
    assert at_ten is not None
    assert float(at_ten.value) == pytest.approx(float(fast.value) / 4.0)


def test_a_batch_that_no_run_has_is_refused_where_it_would_be_transferred() -> None:
    found = _timed("rent-cloud-eu-1x-huge-on-demand", job(), replace(EPOCHS, at_batch=77.0))
    assert isinstance(found.total, Refusal)
    assert "batch 77" in found.total.reason
    assert "Choose a measured batch (100)" in found.total.measure_next


def test_epochs_of_different_size_are_refused_as_that_and_not_as_unstated() -> None:
    small = replace(RUN, run_id="c" * 32, global_batch_size=10, samples_per_epoch=500)
    of = job(RUN, small, train_samples=None)
    found = _timed("rent-cloud-eu-1x-huge-on-demand", of, EPOCHS)
    assert isinstance(found.total, Refusal)
    assert found.total.reason == "Epochs differ in size: 500 to 10,000 samples."
    assert found.total.measure_next == ADD_SIZE
