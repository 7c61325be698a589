"""What a saved answer rested on, and what is told when that has changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.answers.comparison import changes, option_rows, snapshot_of
from planner.answers.comparison._snapshot import KEPT, Snapshot
from planner.compare import Assumptions
from tests.planner.compare.answers import compared
from tests.planner.compare.made import job

NOW = snapshot_of(compared(), job())
FIRST = NOW.rows[0]


def _with(**cells: object) -> Snapshot:
    return replace(NOW, rows=({**FIRST, **cells}, *NOW.rows[1:]))  # type: ignore[dict-item]


def test_it_keeps_the_numbers_of_the_table_and_the_runs() -> None:
    table = option_rows(compared())
    assert [dict(r) for r in NOW.rows] == [{n: row[n] for n in KEPT} for row in table]
    assert NOW.runs == ("a" * 32,)


def test_nothing_is_reported_where_nothing_has_changed() -> None:
    assert changes(NOW, NOW) == []
    assert changes(NOW, snapshot_of(compared(), job())) == []


def test_an_old_price_is_reported_beside_the_new_one() -> None:
    before = _with(price="2.49 USD/h, Jun 2026")
    assert changes(before, NOW) == [
        f"Price of {FIRST['option']}: 2.49 USD/h, Jun 2026 -> {FIRST['price']}."
    ]


def test_runs_that_came_and_went_are_counted() -> None:
    before = replace(NOW, runs=("b", "c"))
    assert changes(before, NOW) == ["1 run added and 2 runs gone: 1 now."]


def test_a_number_that_moved_is_reported_in_words() -> None:
    before = _with(cost_per_run=float(FIRST["cost_per_run"] or 0) * 2, time_s=30_000.0)
    (line,) = changes(before, NOW)
    assert line.startswith(f"{FIRST['option']}: ")
    assert " USD -> " in line
    assert "a run" in line
    assert "8 h 20 min -> " in line


def test_a_change_below_half_a_per_cent_is_rounding() -> None:
    before = _with(cost_per_run=float(FIRST["cost_per_run"] or 0) * 1.004)
    assert changes(before, NOW) == []


def test_an_option_that_is_gone_is_named() -> None:
    now = replace(NOW, rows=NOW.rows[1:])
    assert changes(NOW, now) == [f"{FIRST['option']} is no longer an option."]


def test_an_answer_that_is_withheld_now_is_reported() -> None:
    now = _with(cost_per_run=None)
    (line,) = changes(NOW, now)
    assert line.endswith("-> no answer a run.")


def test_other_assumptions_move_numbers_and_leave_the_fingerprint() -> None:
    dear = snapshot_of(compared(assumed=Assumptions(tariff_usd_per_kwh=2.0)), job())
    assert changes(NOW, dear)
    assert dear.fingerprint == NOW.fingerprint
    assert _with(price="else").fingerprint != NOW.fingerprint
    assert replace(NOW, runs=()).fingerprint != NOW.fingerprint


def test_without_a_comparison_there_are_no_rows() -> None:
    assert snapshot_of(None, job()).rows == ()


def test_an_answer_that_turned_round_is_reported_though_cost_and_time_stay() -> None:
    first, second = ({**r} for r in NOW.rows[:2])
    before = replace(NOW, rows=({**first, "rank": 2}, {**second, "rank": 1}, *NOW.rows[2:]))
    assert changes(before, NOW) == [
        f"{FIRST['option']}: place 2 -> 1.",
        f"{second['option']}: place 1 -> 2.",
    ]


def test_a_place_is_counted_among_the_options_that_both_have() -> None:
    without = replace(NOW, rows=NOW.rows[1:])
    assert changes(without, NOW) == []


def test_another_chance_of_keeping_the_limits_is_reported_from_five_points_on() -> None:
    now = _with(probability_in_time=0.31)
    assert changes(_with(probability_in_time=0.35), now) == []
    assert changes(_with(probability_in_time=0.95), now) == [
        f"{FIRST['option']}: 95\u00a0% -> 31\u00a0% likely to meet the limits."
    ]


@pytest.mark.parametrize("rank", [1, 2])
def test_a_tie_that_came_or_went_is_reported_whatever_the_place(rank: int) -> None:
    rows = [dict(r) for r in NOW.rows[:2]]
    shared, alone = (
        replace(NOW, rows=tuple({**r, "rank": rank, "tied": tied} for r in rows))
        for tied in (True, False)
    )
    assert changes(alone, shared) == [f"{r['option']}: now tied." for r in rows]
    assert changes(shared, alone) == [f"{r['option']}: no longer tied." for r in rows]


def test_a_tie_behind_the_first_is_not_a_tie_with_the_first() -> None:
    third = {**FIRST, "rank": 3, "tied": False}
    (line,) = changes(replace(NOW, rows=(third,)), replace(NOW, rows=({**third, "tied": True},)))
    assert "first" not in line.removeprefix(str(FIRST["option"]))
