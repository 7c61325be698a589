"""All ways to get a job done."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.compare import Entry, Shop, candidates_of, usual
from planner.compare.comparison import Limits
from planner.cost import likely
from planner.job import Goal, Job, fit_of
from tests.planner.compare.made import CATALOG, RUN, SHOP, TODAY, job, other


def test_every_offer_purchase_and_measured_system_is_a_way() -> None:
    ways = [c.way for c in candidates_of(job(), SHOP)]
    assert ways.count("rent") == len(CATALOG.offers)
    assert ways.count("buy") == 2  # the third has no list price
    assert ways.count("own") == 1


def test_ids_are_unique_and_stand_in_a_link_as_they_are() -> None:
    ids = [c.id for c in candidates_of(job(), SHOP)]
    assert len(set(ids)) == len(ids)
    assert all(i == i.lower() and " " not in i for i in ids)


def test_what_was_measured_on_the_same_number_of_the_same_card_answers_for_it() -> None:
    found = {c.id: c for c in candidates_of(job(), SHOP)}
    assert found["rent-cloud-eu-1x-plain-on-demand"].run is not None
    assert found["rent-cloud-eu-8x-plain-on-demand"].run is None
    assert found["buy-1x-plain"].run is not None


def test_the_best_run_of_a_system_stands_for_it() -> None:
    faster = other("Plain", samples_per_s=200.0, global_batch_size=400)
    found = candidates_of(job(RUN, faster), SHOP)
    [own] = [c for c in found if c.way == "own"]
    assert own.run is not None
    assert own.run.run.global_batch_size == 400


def test_an_old_price_is_marked_and_less_certain() -> None:
    found = {c.id: c for c in candidates_of(job(), SHOP)}
    old = found["rent-cloud-eu-1x-huge-on-demand"]
    assert old.stale
    assert old.rental is not None
    fresh = found["rent-cloud-eu-1x-twice-on-demand"]
    assert not fresh.stale
    assert fresh.rental is not None
    width = {c.id: _width(c.rental.price_per_hour) for c in (old, fresh) if c.rental}
    assert width[old.id] > width[fresh.id] > 0.0


def _width(price: object) -> float:
    return (price.high - price.low) / price.likely  # type: ignore[attr-defined, no-any-return]


def test_a_hand_made_price_is_taken_as_it_is() -> None:
    entry = Entry(way="rent", accelerator="plain", count=2, price=1.5)
    found = candidates_of(job(), SHOP, [entry])[0]
    assert found.id == "mine-rent-plain-2-1.5"
    assert found.rental is not None
    assert found.rental.price_per_hour == 1.5


def test_more_than_eight_by_hand_stand_in_several_machines() -> None:
    ways = ("rent", "buy", "own")
    entries = [Entry(way=w, accelerator="plain", count=16, price=1.0) for w in ways]  # type: ignore[arg-type]
    mine = [c for c in candidates_of(job(), SHOP, entries) if c.source == "own entry"]
    assert [c.hardware.nodes for c in mine] == [2, 2, 2]


def test_a_reserved_price_says_for_how_long_it_is_paid() -> None:
    kept = replace(CATALOG.offers[0], terms="reserved 3 years")
    shop = replace(SHOP, catalog=replace(CATALOG, offers=(kept,)))
    [found] = [c for c in candidates_of(job(), shop) if c.way == "rent"]
    assert found.rental is not None
    assert found.rental.committed_hours_per_month == 730.0
    assert found.price == "1.00 USD/h, paid all month for 3 years, Oct 2026"
    assert "reserved 3 years" in found.label


def test_spot_offers_are_interrupted_and_others_are_not() -> None:
    found = {c.id: c.rental for c in candidates_of(job(), SHOP) if c.rental}
    spot, firm = (found[f"rent-cloud-eu-1x-twice-{t}"] for t in ("spot", "on-demand"))
    assert spot.interruptions_per_hour == SHOP.assumed.interruptions_per_hour
    assert firm.interruptions_per_hour == 0.0


def test_offers_in_a_currency_without_a_rate_are_left_out() -> None:
    euros = replace(CATALOG.offers[0], currency="EUR", instance="euro")
    catalog = replace(CATALOG, offers=(euros,))
    shop = replace(SHOP, catalog=catalog)
    assert not [c for c in candidates_of(job(), shop) if c.way == "rent"]
    with_rate = replace(shop, usd_per={"EUR": 1.1})
    [rented] = [c for c in candidates_of(job(), with_rate) if c.way == "rent"]
    assert "1.10 USD/h" in rented.price


def test_one_begins_with_what_was_measured_and_one_that_is_bought() -> None:
    every = candidates_of(job(), SHOP)
    usually = usual(every, job())
    chosen = [c for c in every if c.id in usually]
    assert "rent-cloud-eu-1x-plain-on-demand" in {c.id for c in chosen}
    assert "buy" in {c.way for c in chosen}
    assert not any(c.offer and c.offer.terms == "spot" for c in chosen)
    assert len(chosen) <= 6


def test_all_own_entries_are_among_the_usual() -> None:
    entries = [Entry(way="rent", accelerator="twice", count=n, price=1.0) for n in range(1, 8)]
    every = candidates_of(job(), SHOP, entries)
    own = [c.id for c in every if c.source == "own entry"]
    assert usual(every, job())[: len(own)] == own
    few = candidates_of(job(), SHOP, entries[:2])
    chosen = usual(few, job())
    assert chosen[:2] == [c.id for c in few if c.source == "own entry"]
    assert "rent-cloud-eu-1x-plain-on-demand" in chosen


@pytest.mark.parametrize("peaks", [{}, {"float32": 5e12, "float16": 1e13}])
def test_a_processor_is_usual_for_nothing_whether_its_peak_is_known_or_not(
    peaks: dict[str, float],
) -> None:
    bare = replace(
        CATALOG.accelerators[0], id="bare", name="Bare", kind="cpu", peak_flops_per_s=peaks,
        memory_bytes=None, list_price_usd=1.0,
    )  # fmt: skip
    shop = replace(SHOP, catalog=replace(CATALOG, accelerators=(*CATALOG.accelerators, bare)))
    for params in (1e6, 1e12):
        of = Job(
            workload="LM", precision="float16", samples_per_epoch=1.0, params=params,
            train_flops_per_sample=1e9, optimizer="AdamW",
        )  # fmt: skip
        chosen = usual(candidates_of(of, shop), of)
        assert chosen
        assert "buy-1x-bare" not in chosen


def _large(params: float) -> Job:
    return Job(
        workload="LM", precision="float16", samples_per_epoch=1.0, params=params,
        train_flops_per_sample=6.0 * params, optimizer="AdamW",
    )  # fmt: skip


def test_where_nothing_fits_one_begins_with_several_machines_that_hold_it() -> None:
    of = _large(1e11)  # 1,600 GB; a plain card has 32 for shards, a machine of eight 256
    every = candidates_of(of, SHOP)
    usually = usual(every, of)
    chosen = [c for c in every if c.id in usually]
    assert [c.id for c in chosen] == ["rent-cloud-eu-8x-plain-on-demand-x7"]
    [found] = chosen
    assert found.label == "Rent 56 x Plain (Cloud, 7 machines)"
    assert (found.hardware.count, found.hardware.nodes) == (56, 7)
    assert found.rental is not None
    assert likely(found.rental.price_per_hour) == pytest.approx(7 * 7.0)
    assert found.price == "49.00 USD/h (0.88 USD/h each), Oct 2026"
    assert fit_of(of, found.hardware, None).fits is None


def test_several_machines_are_reported_only_where_no_offer_holds_it() -> None:
    fits = candidates_of(_large(1e10), SHOP)  # 160 GB: eight of them hold it
    assert not any("machines" in c.label for c in fits)


def test_where_no_number_of_machines_holds_it_one_begins_with_the_most_memory() -> None:
    of = _large(1e13)
    every = candidates_of(of, SHOP)
    assert not any("machines" in c.label for c in every)
    assert usual(every, of)[0] == "rent-cloud-eu-8x-plain-on-demand"


# -- with a deadline or a budget -----------------------------------------------------------------


def _chosen(of: Job, goal: Goal, limits: Limits, shop: Shop = SHOP) -> list[str]:
    return usual(candidates_of(of, shop), of, goal=goal, limits=limits)


DESCRIBED = Job(
    workload="Net", precision="float32", samples_per_epoch=1e6, train_flops_per_sample=1e10
)
EIGHT, ONE = "rent-cloud-eu-8x-plain-on-demand", "rent-cloud-eu-1x-plain-on-demand"
GOAL = Goal(words="360 epochs", epochs=360)  # 43 h on one at 23 % of its peak, 7.5 on eight


def test_a_deadline_calls_for_as_many_of_an_accelerator_as_keep_it() -> None:
    few = replace(SHOP, catalog=replace(CATALOG, offers=CATALOG.offers[:3]))
    cheap = _chosen(DESCRIBED, GOAL, Limits(), few)
    assert cheap.index(ONE) < cheap.index(EIGHT)
    assert _chosen(DESCRIBED, GOAL, Limits(deadline_s=12 * 3600.0), few)[0] == EIGHT
    relaxed = _chosen(DESCRIBED, GOAL, Limits(deadline_s=1e9), few)
    assert relaxed.index(ONE) < relaxed.index(EIGHT)


def test_a_budget_that_many_break_calls_for_few() -> None:
    limits = Limits(order="time", budget_usd=50.0)  # one costs 43 USD, eight 52
    few = replace(SHOP, catalog=replace(CATALOG, offers=CATALOG.offers[:3]))
    assert _chosen(DESCRIBED, GOAL, limits, few)[0] == ONE
    rich = replace(limits, budget_usd=1e6)
    found = _chosen(DESCRIBED, GOAL, rich, few)
    assert found.index(EIGHT) < found.index(ONE)


def test_a_measured_speed_counts_before_the_operations() -> None:
    """100 samples/s on one: 10 h for 360 epochs, where the operations would say 26 minutes."""
    limits = Limits(order="time", deadline_s=3600.0)
    huge = replace(CATALOG.offers[3], as_of=TODAY)
    few = replace(SHOP, catalog=replace(CATALOG, offers=(*CATALOG.offers[:3], huge)))
    found = _chosen(job(), GOAL, limits, few)
    assert found.index("rent-cloud-eu-1x-huge-on-demand") < found.index(EIGHT)


@pytest.mark.parametrize("limits", [Limits(deadline_s=1.0), Limits(budget_usd=0.001)])
def test_limits_that_no_option_meets_have_default_options(limits: Limits) -> None:
    assert _chosen(DESCRIBED, GOAL, limits)


@pytest.mark.parametrize("goal", [None, GOAL, Goal(words="an unknown target")])
def test_without_limits_or_a_known_goal_nothing_changes(goal: Goal | None) -> None:
    every = candidates_of(DESCRIBED, SHOP)
    assert usual(every, DESCRIBED, goal=goal) == usual(every, DESCRIBED)
    if goal is None or goal.epochs is None:
        limited = usual(every, DESCRIBED, goal=goal, limits=Limits(deadline_s=1.0))
        assert limited == usual(every, DESCRIBED)
