"""Plans: what is left, what would be probed, and what a program reads of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from planner.runs import Row
from planner.store.sealed.commit import commit_runs
from runners.plan.expand import Expanded, Host
from runners.plan.spec import Cost, Spec
from runners.sweep import context as context_module
from runners.sweep import plans
from runners.sweep.context import Context
from runners.sweep.plans import plan, two_steps
from tests.runners.stubs import bench, case
from tests.runners.sweep.test_forecast import FACTS, HERE, measured


def context(tmp: Path, cases: int = 2) -> Context:
    """A sweep of so many batch sizes whose results are in tmp/results/mine."""
    made = tuple(case(batch=16 * 4**n, train_samples=160 * 4**n) for n in range(cases))
    return Context(
        spec=Spec(name="s", title="t", runs=(), cost=Cost(price_per_hour=2.0)), licence="x",
        host=Host(device="cpu", backends=("tensorflow",)), pythons=bench(tmp).pythons,
        expanded=Expanded(cases=made), results=tmp / "results", folder=tmp / "results" / "mine",
        state=tmp / "state", facts=FACTS, environ={}, memory_bytes=None,
    )  # fmt: skip


@pytest.fixture
def no_rows(monkeypatch: pytest.MonkeyPatch) -> list[Row]:
    """The rows that are known are these, and no shipped ones."""
    known: list[Row] = []
    monkeypatch.setattr(plans, "own_rows", lambda _: known)
    return known


def test_a_probe_is_two_epochs_of_two_steps() -> None:
    one = case(batch=32, train_samples=50_000, epochs=9, repeat=4, validation=True)
    probe = two_steps(one)
    assert (probe.train_samples, probe.epochs, probe.repeat, probe.validation) == (64, 2, 0, False)
    small = two_steps(case(dataset="digits", batch=1_000, train_samples=1_280))
    assert small.train_samples == 1_280  # there are no more


def test_without_rows_nothing_is_known_and_nothing_is_probed_unasked(
    tmp_path: Path, no_rows: list[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "measurer", lambda *_, **__: pytest.fail("no probe is needed"))
    made = plan(context(tmp_path))
    assert [p.expected for p in made.planned] == [None, None]
    assert made.basis is None


def test_a_probe_measures_the_ends_of_what_is_not_known_and_makes_forecasts(
    tmp_path: Path, no_rows: list[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    probed: list[int] = []

    def measurer(_: Context, **__: object) -> object:
        def of(one: object, __: object) -> Row:
            assert isinstance(one, type(case()))
            probed.append(one.batch)
            return measured(one, step_p50_s=0.02)

        return of

    monkeypatch.setattr(plans, "measurer", measurer)
    made = plan(context(tmp_path, cases=4), probe=True)
    assert probed == [16, 1_024]
    assert all(p.expected and p.expected.seconds > 0 for p in made.planned)
    assert made.basis == "measured runs of this machine and probes of two steps"
    again = plan(context(tmp_path, cases=4))  # what was probed once is known from then on
    assert probed == [16, 1_024]
    assert [p.expected for p in again.planned] == [p.expected for p in made.planned]


def test_json_sums_only_what_is_left(tmp_path: Path, no_rows: list[Row]) -> None:
    known = context(tmp_path)
    no_rows += [measured(c) for c in known.expanded.cases]
    made = plan(known)
    result = plans.as_json(known, made)
    assert (result["planned"], result["left"], result["system"]) == (2, 2, HERE)
    seconds = [p.expected.seconds for p in made.planned if p.expected]
    assert result["hours"] == pytest.approx(sum(seconds) / 3600)
    assert result["cost"] == pytest.approx(2.0 * sum(seconds) / 3600)
    half = replace(made, planned=(replace(made.planned[0], done=True), made.planned[1]))
    result = plans.as_json(known, half)
    assert (result["finished"], result["left"]) == (1, 1)
    assert result["hours"] == pytest.approx(seconds[1] / 3600)
    assert result["full"]["hours"] == pytest.approx(sum(seconds) / 3600)


# -- a sweep that was stopped --------------------------------------------------------------------


def stopped(tmp: Path, cost: Cost | None = None) -> Context:
    """A sweep of two networks of which the first run of the first one is measured."""
    known = context(tmp)
    mlp = known.expanded.cases
    other = replace(
        case(batch=16, train_samples=160), workload="simple-cnn", dataset="synthetic-cifar10"
    )
    known = replace(known, expanded=Expanded(cases=(*mlp, other)),
                    spec=replace(known.spec, cost=cost or known.spec.cost))  # fmt: skip
    commit_runs(known.folder, [measured(mlp[0], watts=100.0)])
    return known


def test_a_set_that_a_plan_leaves_out_predicts_nothing(tmp_path: Path) -> None:
    known = stopped(tmp_path)
    other = replace(known, folder=known.results / "mine-2")
    assert [p.expected is None for p in plan(other).planned] == [False, False, True]
    private = replace(other, without=frozenset({"mine"}))
    assert [p.expected for p in plan(private).planned] == [None, None, None]
    assert context_module._free("mine", frozenset()) == "mine"
    assert context_module._free("Mine", frozenset({"mine", "mine-2"})) == "mine-3"


def test_a_stopped_sweep_predicts_its_other_networks_from_its_own_runs(tmp_path: Path) -> None:
    known = stopped(tmp_path)
    made = plan(known)
    assert [(p.done, p.rough) for p in made.planned] == [
        (True, False), (False, False), (False, True)
    ]  # fmt: skip
    rough = made.planned[2].expected
    assert rough is not None
    wall_s = 8.0 + 10 * (0.01 + 0.001 * 16) * made.planned[0].case.epochs
    assert rough.seconds == pytest.approx(wall_s)
    assert rough.low_s == pytest.approx(wall_s / 3)
    assert rough.high_s == pytest.approx(wall_s * 3)
    assert "1 run of unmeasured networks" in (made.basis or "")
    assert "within a factor of 3" in (made.basis or "")


def test_the_plan_of_a_stopped_sweep_has_time_energy_and_cost(tmp_path: Path) -> None:
    result = plans.as_json(known := stopped(tmp_path), plan(known))
    assert result["hours"] > 0.0
    assert result["hours_low"] < result["hours"] < result["hours_high"]
    assert result["energy_kwh"] == pytest.approx(result["hours"] * 0.1)
    assert result["cost"] == pytest.approx(2.0 * result["hours"])
    assert (result["rough"], result["priced"]) == (1, True)
    assert result["memory_bytes"] is None
    unpriced = plans.as_json(free := stopped(tmp_path / "free", Cost()), plan(free))
    assert (unpriced["cost"], unpriced["priced"]) == (None, False)


def test_runs_that_failed_predict_nothing(tmp_path: Path) -> None:
    known = stopped(tmp_path)
    for path in known.folder.glob("*.parquet"):
        path.unlink()
    commit_runs(known.folder, [{**measured(known.expanded.cases[0]), "status": "crashed",
                                "status_reason": "x"}])  # fmt: skip
    assert [p.expected for p in plan(known).planned] == [None, None, None]


def test_the_same_case_of_an_earlier_sweep_predicts_this_one(tmp_path: Path) -> None:
    known = context(tmp_path)
    commit_runs(known.results / "earlier", [measured(c) for c in known.expanded.cases])
    made = plan(known)
    assert [p.done for p in made.planned] == [False, False]
    for one in made.planned:
        assert one.expected is not None
        assert not one.rough
        wall_s = 8.0 + 10 * (0.01 + 0.001 * one.case.batch) * one.case.epochs
        assert one.expected.seconds == pytest.approx(wall_s, rel=0.05)
