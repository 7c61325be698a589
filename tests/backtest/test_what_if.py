"""The errors of the what-if models are computed from what ships, and the page shows them."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from statistics import median

import pytest

from backtest.commands.backtest import write_what_if
from backtest.published.what_if import (
    NAME,
    SplitCase,
    advised,
    errors_of,
    limit_scores,
    limit_words,
    scores,
    shipped_what_if,
    split_cases,
)
from backtest.questions.what_if import (
    KINDS,
    LIMITS,
    Check,
    LimitCheck,
    limit_checks,
    what_if_checks,
)
from planner.published import read_rows
from planner.store.catalog import read_catalog
from tests.shipped import ROOT


@functools.cache
def checks() -> tuple[Check, ...]:
    return tuple(what_if_checks(ROOT / "data" / "results"))


@functools.cache
def limits() -> tuple[LimitCheck, ...]:
    return tuple(limit_checks(ROOT / "data" / "results"))


@functools.cache
def cases() -> tuple[SplitCase, ...]:
    rows, _ = read_rows(ROOT / "data" / "tables" / "published")
    return tuple(split_cases(rows, read_catalog(ROOT / "data" / "catalog").catalog)[0])


def test_the_shipped_page_and_figures_are_those_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def computed(folder: Path) -> list[Check]:
        """What the command would compute again."""
        assert folder == ROOT / "data" / "results"
        return list(checks())

    monkeypatch.setattr("backtest.commands.backtest.what_if_checks", computed)
    monkeypatch.setattr("backtest.commands.backtest.limit_checks", lambda _: list(limits()))
    assert write_what_if(tmp_path) == 0
    for name in (f"docs/{NAME}.md", f"data/{NAME}.json"):
        fresh = (tmp_path / name).read_text(encoding="utf-8")
        assert fresh == (ROOT / name).read_text(encoding="utf-8"), name
    assert json.loads(fresh)["scores"] == shipped_what_if()["scores"]


def test_every_model_has_cases_measured_here() -> None:
    assert set(scores(checks())) == set(KINDS)
    assert len(checks()) == 125


def test_hidden_batches_check_count_idle_devices_and_total() -> None:
    """The best count loses less than a quarter of a step; the middle total is 25 % off at most."""
    found = scores(checks())
    assert [found[kind]["cases"] for kind in KINDS[5:8]] == [9, 15, 18]
    assert 0.0 < float(found["best count"]["largest"] or 1.0) < 0.25
    assert 0.0 < float(found["total"]["median"] or 1.0) < 0.25


def test_a_count_for_a_deadline_or_a_budget_keeps_it_in_nine_of_ten_measured_cases() -> None:
    """Three series, three batches: the advice of the page beside what was measured."""
    found = limit_scores(limits())
    assert [row["limit"] for row in found["deadline"]] == list(LIMITS)
    assert {row["asked"] for rows in found.values() for row in rows} == {9}
    for kind, rows in found.items():
        asked, advised, kept, best = (
            sum(row[name] for row in rows) for name in ("asked", "advised", "kept", "best")
        )
        assert best <= kept <= advised <= asked
        assert kept >= 0.9 * advised > 15
        assert f"{advised} of {asked} have an advised count. {kept} of these" in limit_words(
            kind, rows
        )
    # Of a single process at batch 128, two counts take 1.18 and 1.17 s: at 3 x the least both keep.
    (sure,) = [c for c in limits() if (c.kind, c.limit) == ("deadline", 3.0)
               and "mirrored, batch 128" in c.case and "single" in c.case]  # fmt: skip
    assert (sure.advised, sure.best, sure.kept) == (1, 1, True)


def test_errors_of_idle_devices_are_shares_of_all_device_hours_too() -> None:
    idle = [c for c in checks() if c.kind == "idle devices"]
    assert all(c.measured is not None and 0.0 <= c.measured < float(c.whole or 0.0) for c in idle)
    for check in idle:
        off = abs(check.predicted - float(check.measured or 0.0))
        assert check.share == pytest.approx(off / float(check.whole or 1.0))
    found = scores(checks())
    shares = [c.share for c in idle if c.share is not None]
    assert found["idle devices"]["median_share"] == pytest.approx(median(shares))
    assert found["total"]["median_share"] is None


def test_a_limited_link_is_predicted_from_the_unlimited_one() -> None:
    found = [c for c in checks() if c.kind == "link"]
    assert [c.case for c in found] == [
        "2 workers, 10,000 Mbit/s", "2 workers, 1,000 Mbit/s", "2 workers, 100 Mbit/s",
    ]  # fmt: skip
    # A ring of two carries the gradients once: 1,204,264 bytes over 100 Mbit/s take 96 ms.
    assert found[2].predicted - found[1].predicted == pytest.approx(0.0867, abs=0.003)
    assert float(found[2].error or 1.0) < 0.15


def test_a_slow_worker_is_predicted_within_an_eighth() -> None:
    for kind in KINDS[1:3]:
        found = scores(checks())[kind]
        assert found["cases"] == 6
        assert float(found["largest"] or 1.0) < 0.125


def test_every_crossover_reaches_the_batches_between_which_runs_show_it() -> None:
    crossovers = [c for c in checks() if c.kind == KINDS[0]]
    assert len(crossovers) == 5
    assert all(c.right for c in crossovers)


def test_measured_staleness_is_below_the_number_of_other_workers() -> None:
    for check in checks():
        if check.kind == KINDS[3]:
            assert check.measured is not None
            others = int(check.case.split()[0]) - 1
            assert 0.0 < check.measured < others
            assert check.predicted == pytest.approx(check.measured, rel=0.1)


def test_a_pipeline_is_predicted_from_its_run_with_one_micro_batch() -> None:
    """Two stages and two micro-batches: 3/4 of the step with one."""
    found = {c.case: c for c in checks() if c.kind == KINDS[4]}
    assert len(found) == 6
    one = found["2 stages, batch 16, 2 micro-batches"].predicted / 0.75
    assert found["2 stages, batch 16, 8 micro-batches"].predicted == pytest.approx(one * 9 / 16)
    assert median(c.error or 0.0 for c in found.values()) < 0.06
    assert len([c for c in checks() if c.kind == KINDS[12]]) == 6


def test_workers_that_wait_at_random_are_predicted_by_the_expected_maximum() -> None:
    found = [c for c in checks() if c.kind == "scatter of steps"]
    assert [c.case for c in found] == [
        f"{n} workers, waits of 100 ± {sd} ms" for n in (2, 4) for sd in (20, 40)
    ]
    assert max(c.error or 1.0 for c in found) < 0.05
    # Four workers wait 100 ± 40 ms: the longest wait is 1.03 sd above the mean.
    alike, uneven = found[2].predicted, found[3].predicted
    assert uneven - alike == pytest.approx(1.0294 * 0.02, rel=0.01)


def test_stale_gradients_cost_what_the_upper_end_of_the_bound_says() -> None:
    found = [c for c in checks() if c.kind == "stale gradients"]
    assert {c.case.partition(", ")[0] for c in found} == {f"batch {b}" for b in (8, 32, 128, 512)}
    assert sum("gradients 1 old" in c.case for c in found) == 4
    assert max(c.error or 1.0 for c in found) < 0.25
    assert float(scores(found)["stale gradients"]["median"] or 1.0) < 0.1


def test_updates_over_a_limited_link_stay_below_what_it_passes() -> None:
    found = [c for c in checks() if c.kind == "server link"]
    assert {c.case.partition(",")[0] for c in found} == {f"{n} workers" for n in (1, 2, 4)}
    slow = [c for c in found if "100 Mbit/s" in c.case]
    most = 100e6 / 8.0 / 1_204_264
    for check in slow:
        assert check.measured is not None
        assert check.measured < 1.05 * most
        assert check.predicted <= most
        assert float(check.error or 1.0) < 0.2


def test_what_a_compiled_step_sends_and_holds_is_that_of_the_formulas_of_a_cut() -> None:
    found = {kind: [c for c in checks() if c.kind == kind] for kind in KINDS[13:]}
    assert [len(of) for of in found.values()] == [6, 2, 9, 3, 3]
    errors = {kind: max(c.error or 0.0 for c in of) for kind, of in found.items()}
    most = {"tensor traffic": 0.005, "gradient traffic": 1e-4, "state of a device": 0.02,
            "state and gradients": 0.12, "activations": 0.66}  # fmt: skip
    assert all(errors[kind] < most[kind] for kind in most), errors
    # 4 layers of width 256, 128 tokens, batch 16, 4 devices: 4 x 4 + 2 times a ring's 2 x 3/4.
    sent = next(c for c in found["tensor traffic"] if "batch 16, 4 devices" in c.case)
    assert sent.predicted == pytest.approx(18 * 1.5 * 16 * 128 * 256 * 4 / 1e6)


def test_every_published_cut_with_a_stated_memory_fits_by_our_model() -> None:
    known = [c for c in cases() if c.memory_stated]
    assert len(known) > 150
    assert all(c.split.fits for c in known)


def test_advice_never_takes_more_shards_than_the_best_published_cut() -> None:
    found, none = advised(cases())
    assert none == 0
    assert all(a.shards <= a.published_shards for a in found)
    assert len(errors_of(cases())) == len(cases())


@pytest.mark.parametrize("key", ["rows_that_fit", "median_error", "relative_p10", "relative_p90"])
def test_the_page_of_the_app_has_the_figures_that_it_shows(key: str) -> None:
    assert key in shipped_what_if()["splits"]
