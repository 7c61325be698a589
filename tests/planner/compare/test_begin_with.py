"""Default options under a deadline or budget: limits that no option meets, the cost of a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from planner.compare import Assumptions, Entry, Shop, candidates_of
from planner.compare._shortlist import usual
from planner.compare.comparison import Limits
from planner.cost import capex
from planner.job import Goal, Job, fit_of
from planner.store.catalog import read_catalog
from tests.each import each
from tests.planner.compare.made import CATALOG, OLD, SHOP, TODAY, job, offer, other

SHIPPED = read_catalog(Path(__file__).parents[3] / "data" / "catalog", []).catalog
REAL = replace(SHOP, catalog=SHIPPED)
IMAGES = Job(
    workload="Images", precision="float16", samples_per_epoch=1_281_167.0, params=25e6,
    train_flops_per_sample=25e9,
)  # fmt: skip
EPOCHS = Goal(words="90 epochs", epochs=90)
LIMITS = [
    Limits(deadline_s=86_400.0),
    Limits(deadline_s=0.0),
    Limits(budget_usd=0.0),
    Limits(deadline_s=3.6, budget_usd=0.0, order="time"),
]


def _chosen(of: Job, limits: Limits, shop: Shop = SHOP, **asked: object) -> list[str]:
    every = candidates_of(of, shop)
    return usual(every, of, goal=EPOCHS, limits=limits, **asked)  # type: ignore[arg-type]


@each("limits", LIMITS)
@each("order", ["cost", "time"])
def test_limits_that_no_option_meets_still_have_options(limits: Limits, order: str) -> None:
    asked = replace(limits, order=order)  # type: ignore[arg-type]
    light = replace(IMAGES, train_flops_per_sample=None)
    for of in (IMAGES, light, job(), replace(job(), hardware={}, measured=())):
        assert _chosen(of, asked)


@pytest.mark.parametrize("budget", [0.0, 10.0])
def test_what_is_rented_for_nothing_keeps_every_budget(budget: float) -> None:
    free = Entry(way="rent", accelerator="plain", count=1, price=0.0)
    every = candidates_of(IMAGES, SHOP, [free])
    assert "mine-rent-plain-1-0" in usual(
        every, IMAGES, goal=EPOCHS, limits=Limits(budget_usd=budget)
    )
    gift = replace(CATALOG.offers[0], price_per_hour=0.0)
    shop = replace(SHOP, catalog=replace(CATALOG, offers=(*CATALOG.offers[1:], gift)))
    assert _chosen(IMAGES, Limits(budget_usd=budget), shop)[0] == "rent-cloud-eu-1x-plain-on-demand"


def test_of_two_offers_of_one_machine_the_cheaper_counts_where_time_is_asked() -> None:
    dear = replace(offer("huge", 9.0), provider="Dear")
    cheap = replace(offer("huge", 8.0), provider="Cheap")
    for offers in ((dear, cheap), (cheap, dear)):
        shop = replace(SHOP, catalog=replace(CATALOG, offers=offers))
        found = _chosen(IMAGES, Limits(deadline_s=7 * 3600.0, order="time"), shop)
        assert found[0] == "rent-cheap-eu-1x-huge-on-demand"
    found = _chosen(IMAGES, Limits(deadline_s=7 * 3600.0, order="time"), REAL)
    by_id = {c.id: c for c in candidates_of(IMAGES, REAL)}
    label = by_id[found[0]].hardware.label
    same = [c for c in by_id.values() if c.hardware.label == label and c.offer and not c.stale]
    firm = [c.offer.price_per_hour for c in same if c.offer and c.offer.terms == "on demand"]
    first = by_id[found[0]].offer
    assert first is not None
    assert first.price_per_hour == min(firm)


def test_where_none_is_near_the_nearest_and_of_no_budget_the_cheapest_come_first() -> None:
    few = replace(SHOP, catalog=replace(CATALOG, offers=CATALOG.offers[:3]))
    late = _chosen(IMAGES, Limits(deadline_s=1e-3), few)
    assert late[0] == "rent-cloud-eu-8x-plain-on-demand"
    nothing = _chosen(IMAGES, Limits(budget_usd=0.0), few)
    assert nothing[0] == "rent-cloud-eu-1x-plain-on-demand"


def test_a_cost_limit_judges_a_bought_machine_by_what_a_run_costs_and_not_by_its_price() -> None:
    """16 USD a run on an RTX 3080, 29 on a GTX 1080 Ti: only one keeps 20 USD."""
    found = _chosen(IMAGES, Limits(cost_limit_usd=20.0), REAL)
    assert [o for o in found if o.startswith("buy-")] == ["buy-1x-rtx-3080"]


@pytest.mark.parametrize("budget", [20.0, 500.0, 2_500.0])
def test_a_budget_judges_a_bought_machine_by_its_whole_price(budget: float) -> None:
    """The first to be bought is one that the budget pays, if there is one."""
    every = {c.id: c for c in candidates_of(IMAGES, REAL)}
    prices = {i: float(capex(c.owned)) for i, c in every.items() if c.way == "buy" and c.owned}
    bought = [o for o in _chosen(IMAGES, Limits(budget_usd=budget), REAL) if o in prices]
    assert (prices[bought[0]] < budget) == (min(prices.values()) < budget)


def test_runs_of_a_month_share_what_a_machine_costs() -> None:
    """Seldom used the cheap one is the cheaper; often used the fast one, whose hours are fewer."""
    plain, twice = (replace(a, list_price_as_of=TODAY) for a in CATALOG.accelerators[:2])
    fast = replace(twice, list_price_usd=12_000.0, board_power_watts=100.0)
    shop = replace(SHOP, catalog=replace(CATALOG, accelerators=(plain, fast), offers=()))
    limits = Limits(cost_limit_usd=1e4)
    first = [
        _chosen(IMAGES, limits, shop, assumed=replace(Assumptions(), runs_per_month=n))[0]
        for n in (0.1, 1000.0)
    ]
    assert first == ["buy-1x-plain", "buy-1x-twice"]


def test_what_is_there_already_costs_its_electricity() -> None:
    """A budget is not compared with seconds: 90 epochs take 9,100 s there and a few cents."""
    alone = replace(SHOP, catalog=replace(CATALOG, offers=(offer("twice", 3.0, as_of=OLD),)))
    every = [c for c in candidates_of(job(), alone) if c.way != "buy"]
    found = usual(every, job(), goal=EPOCHS, limits=Limits(budget_usd=1.0))
    assert found[0] == "own-plain"


@pytest.mark.parametrize("limits", [Limits(), Limits(budget_usd=1e6)])
def test_options_that_fit_only_under_a_condition_come_after_those_that_fit(limits: Limits) -> None:
    mixtral = Job(
        workload="Mixtral", precision="bfloat16", samples_per_epoch=1e4, params=46.7e9,
        train_flops_per_sample=3e14, optimizer="AdamW",
    )  # fmt: skip
    by_id = {c.id: c for c in candidates_of(mixtral, REAL)}
    fits = {name: fit_of(mixtral, c.hardware, None) for name, c in by_id.items()}
    assert any(f.condition.startswith("with 8-bit moments") for f in fits.values())
    assert all(fits[name].as_described for name in _chosen(mixtral, limits, REAL))
    only = {n: c for n, c in by_id.items() if fits[n].fits is None and fits[n].condition}
    assert set(usual(only.values(), mixtral)) <= set(only)
    assert usual(only.values(), mixtral)


def test_the_machine_of_a_published_run_is_not_taken_for_the_users() -> None:
    """A machine of the user's comes first where none is rented; one that others ran on does not."""
    large = {"system": "Huge", "accelerators_per_node": 8, "number_of_nodes": 32}
    alone = replace(SHOP, catalog=replace(CATALOG, offers=(offer("plain", 1.0),)))
    for basis, mine in (("measured", True), ("published", False)):
        there = job(other("Huge", basis=basis), **large)
        begin = usual(candidates_of(there, alone), there)
        assert any(option.startswith("own-") for option in begin) is mine
        assert "rent-cloud-eu-1x-plain-on-demand" in begin
        nothing = replace(SHOP, catalog=replace(CATALOG, accelerators=(), offers=()))
        assert usual(candidates_of(there, nothing), there) == ["own-huge"]
