"""Times to a target that published runs state."""

from __future__ import annotations

import math
from typing import Any, Final

import pytest

from planner.core import Refusal
from planner.job import Candidate, Goal, Hardware, TimeSources, stated_times, timed
from planner.job._stated import stated_on
from tests.planner.compare.made import CATALOG, HUGE, PLAIN, TWICE, job

TO_TARGET: Final = Goal(words="2 % error")


def row(seconds: float, card: str = "Twice", count: int = 8, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - a cell
    """A published run that states its time to 0.02."""
    return {
        "system": f"{count} x {card}", "system_name": card, "accelerator_model_name": card,
        "accelerators_per_node": min(count, 8), "number_of_nodes": -(-count // 8),
        "global_batch_size": 64, "time_to_target_s": seconds, "target_value": 0.02, **changes,
    }  # fmt: skip


def on(card: Any, count: int) -> Hardware:  # noqa: ANN401 - of the catalogue
    nodes = -(-count // 8)
    return Hardware(label=f"{count} x {card.name}", accelerator=card, count=count, nodes=nodes)


def test_the_time_is_the_median_of_the_runs_on_that_accelerator_and_count() -> None:
    cells = stated_times(CATALOG, [row(s) for s in (900, 1000, 1300)] + [row(50, count=64)], 0.02)
    answer = stated_on(cells, on(TWICE, 8))
    assert answer is not None
    assert answer.total.value == 1000
    assert answer.total.basis == "published"
    assert "3 published runs on 8 x Twice" in answer.total.reasons[0]
    assert answer.scaling is None


def test_runs_to_another_target_and_repeated_submissions_do_not_count() -> None:
    rows = [row(1000), row(1000), row(10, target_value=0.5)]
    [cell] = stated_times(CATALOG, rows, 0.02)
    assert cell.seconds == (1000,)


def test_a_single_run_has_the_spread_of_other_cells() -> None:
    alone = [row(1000)]
    near = [row(s, count=16) for s in (500, 501, 502, 503, 504, 505, 506)]
    far = [row(s, count=16) for s in (300, 400, 500, 600, 700, 800, 900)]
    widths = []
    for others in (near, [], far):
        answer = stated_on(stated_times(CATALOG, alone + others, 0.02), on(TWICE, 8))
        assert answer is not None
        assert answer.total.value == 1000
        widths.append(math.log(float(answer.total.high) / float(answer.total.low)))
    assert 0.0 < widths[0] < widths[1] < widths[2]


def test_another_count_is_scaled_from_the_nearest_and_less_certain() -> None:
    cells = stated_times(CATALOG, [row(1000), row(100, count=256)], 0.02)
    here, there = stated_on(cells, on(TWICE, 8)), stated_on(cells, on(TWICE, 4))
    assert here is not None
    assert there is not None
    assert there.source.hardware.count == 8
    assert 1500 < float(there.total.value) <= 2000
    assert there.total.basis == "similar workload"
    wide, narrow = (float(a.total.high) / float(a.total.low) for a in (there, here))
    assert wide > narrow


def test_an_accelerator_without_a_stated_time_is_refused_and_names_those_with_one() -> None:
    cells = stated_times(CATALOG, [row(1000), row(100, card="Huge")], 0.02)
    option = Candidate(id="x", way="rent", hardware=on(PLAIN, 8))
    answer = timed(job(), TO_TARGET, option, TimeSources(stated=cells)).total
    assert isinstance(answer, Refusal)
    assert "No published run states the time to the target on the Plain" in answer.reason
    assert "Twice" in answer.measure_next
    assert HUGE.name in answer.measure_next


def test_epochs_do_not_use_times_to_a_target() -> None:
    cells = stated_times(CATALOG, [row(1000)], 0.02)
    option = Candidate(id="x", way="rent", hardware=on(TWICE, 8))
    answer = timed(job(), Goal(words="1 epoch", epochs=1), option, TimeSources(stated=cells))
    assert answer.stated_runs == 0
    stated = timed(job(), TO_TARGET, option, TimeSources(stated=cells))
    assert (stated.stated_runs, stated.batch) == (1, 64)
    assert not isinstance(stated.total, Refusal)
    assert stated.total.value == pytest.approx(1000)
