"""Plans: what is left, what would be probed, and what a program reads of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from planner.records import Row
from runners import plans
from runners.context import Context
from runners.expand import Expanded, Host
from runners.plans import plan, two_steps
from runners.spec import Cost, Spec
from tests.runners.stubs import bench, case
from tests.runners.test_forecast import FACTS, HERE, measured


def context(tmp: Path, cases: int = 2) -> Context:
    """A sweep of so many batch sizes whose results are in tmp/results/mine."""
    made = tuple(case(batch=16 * 4**n, train_samples=160 * 4**n) for n in range(cases))
    return Context(
        spec=Spec(name="s", title="t", cost=Cost(price_per_hour=2.0)), licence="x",
        host=Host(device="cpu", backends=("tensorflow",)), pythons=bench(tmp).pythons,
        expanded=Expanded(cases=made), results=tmp / "results", folder=tmp / "results" / "mine",
        state=tmp / "state", facts=FACTS, environ={}, memory_bytes=None,
    )  # fmt: skip


@pytest.fixture
def no_rows(monkeypatch: pytest.MonkeyPatch) -> list[Row]:
    """The rows that are known are these, and no shipped ones."""
    known: list[Row] = []
    monkeypatch.setattr(plans, "known_rows", lambda _: known)
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
    monkeypatch.setattr(plans, "measurer", lambda *_, **__: pytest.fail("nobody asked for a probe"))
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
    told = plans.as_json(known, made)
    assert (told["planned"], told["left"], told["system"]) == (2, 2, HERE)
    seconds = [p.expected.seconds for p in made.planned if p.expected]
    assert told["hours"] == pytest.approx(sum(seconds) / 3600)
    assert told["cost"] == pytest.approx(2.0 * sum(seconds) / 3600)
    half = replace(made, planned=(replace(made.planned[0], done=True), made.planned[1]))
    told = plans.as_json(known, half)
    assert (told["finished"], told["left"]) == (1, 1)
    assert told["hours"] == pytest.approx(seconds[1] / 3600)
    assert told["full"]["hours"] == pytest.approx(sum(seconds) / 3600)
