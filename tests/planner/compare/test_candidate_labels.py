"""No two options have the same name, and every default option has an estimate."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

from planner.compare import OWN_ENTRY, Assumptions, Entry, Shop, candidates_of, entry_of, usual
from planner.compare._candidates import CLUSTERS
from planner.cost import Range
from planner.job import Candidate, Described, Job, fit_of, job_described, peak_of
from planner.store.catalog import read_catalog
from tests.planner.compare.made import TODAY
from tests.shipped import ROOT

LARGE = job_described(
    Described(name="7B", samples_per_epoch=1e5, params=7e9, tokens_per_sample=2048.0,
              precision="bfloat16", optimizer="AdamW")
)  # fmt: skip
SHOP = Shop(
    catalog=read_catalog(ROOT / "data" / "catalog").catalog, assumed=Assumptions(), today=TODAY
)


@functools.cache
def _large() -> tuple[Candidate, ...]:
    """Every shipped option of the large job."""
    return tuple(candidates_of(LARGE, SHOP))


def _begin_with(every: Sequence[Candidate], of: Job) -> list[Candidate]:
    chosen = usual(every, of)
    return [c for c in every if c.id in chosen]


def test_no_two_shipped_options_share_a_label() -> None:
    labels = [c.label for c in _large()]
    assert len(labels) == len(set(labels))


def test_offers_of_one_provider_say_where_or_which_they_are() -> None:
    labels = {c.label for c in _large()}
    assert "Rent 1 x L40S (RunPod, Secure Cloud)" in labels
    assert "Rent 8 x TPU v6e (Trillium) (Google Cloud, europe-west4)" in labels


def test_what_one_begins_with_has_a_peak_for_the_jobs_number_format() -> None:
    begin = _begin_with(_large(), LARGE)
    assert begin
    assert all(
        c.hardware.accelerator is not None and peak_of(c.hardware.accelerator, "bfloat16")
        for c in begin
    )


def test_two_prices_of_one_machine_are_distinguished_by_the_price() -> None:
    texts = ("rent|h100-sxm|8|20", "rent|h100-sxm|8|24.5", "rent|h100-sxm|4|10")
    catalog = SHOP.catalog
    entries = [e for t in texts if isinstance(e := entry_of(t, catalog), Entry)]
    labels = [c.label for c in candidates_of(LARGE, SHOP, entries) if c.source == OWN_ENTRY]
    eight = "Rent 8 x H100 SXM5 80GB (own entry, "
    assert labels[0].startswith(f"{eight}20.00 USD/h")
    assert labels[1].startswith(f"{eight}24.50 USD/h")
    assert labels[2] == "Rent 4 x H100 SXM5 80GB (own entry)"


def test_eighty_billion_parameters_begin_with_machines_that_hold_them() -> None:
    of = job_described(
        Described(name="80B", samples_per_epoch=1e5, params=80e9, tokens_per_sample=2048.0,
                  precision="bfloat16", optimizer="AdamW")
    )  # fmt: skip
    every = candidates_of(of, SHOP)
    begin = _begin_with(every, of)
    several = [c for c in begin if c.hardware.nodes > 1]
    assert len(several) == CLUSTERS
    assert all(c.label.endswith(" machines)") for c in several)
    assert len({c.hardware.accelerator.id for c in several if c.hardware.accelerator}) == CLUSTERS
    tight = [c for c in begin if c not in several and c.way == "rent"]
    assert tight  # 8 x 192 GB hold 1,280 GB of state with little room beside it
    assert all("sharded" in fit_of(of, c.hardware, of.batch).sentence for c in begin)
    assert all("left for activations" in fit_of(of, c.hardware, None).sentence for c in tight)
    labels = [c.label for c in every]
    assert len(labels) == len(set(labels))


def test_seventy_billion_begin_with_several_servers_of_a_card_whose_server_is_too_small() -> None:
    of = job_described(
        Described(name="70B", samples_per_epoch=1e5, params=70.6e9, tokens_per_sample=4096.0,
                  precision="bfloat16", optimizer="AdamW")
    )  # fmt: skip
    every = candidates_of(of, SHOP)
    begin = _begin_with(every, of)
    whole = [c.hardware.label for c in begin if c.hardware.nodes == 1]
    assert "8 x MI300X" in whole
    assert any(c.way == "buy" and c.label.endswith("(server)") for c in begin)
    several = [c for c in begin if c.hardware.nodes > 1]
    assert any("x H100 SXM5 80GB (" in c.label for c in several)
    for cluster in several:
        server = f"8 x {cluster.hardware.accelerator.name}" if cluster.hardware.accelerator else ""
        assert server not in whole
        assert cluster.hardware.count == 8 * cluster.hardware.nodes


def test_servers_are_offered_to_rent_and_to_buy_beside_smaller_machines() -> None:
    of = job_described(
        Described(name="8B", samples_per_epoch=1e5, params=8e9, tokens_per_sample=4096.0,
                  precision="bfloat16", optimizer="AdamW")
    )  # fmt: skip
    every = candidates_of(of, SHOP)
    begin = _begin_with(every, of)
    offered = {(c.way, c.hardware.label) for c in begin}
    assert {("rent", "8 x MI300X"), ("rent", "8 x H100 SXM5 80GB")} <= offered
    assert {("buy", "8 x H100 SXM5 80GB"), ("buy", "8 x B200 SXM 180GB")} <= offered
    assert ("buy", "8 x MI300X") in offered, "of another maker, though its price is an estimate"
    assert len([c for c in begin if c.hardware.count < 8]) == 3


def test_an_estimated_price_of_a_server_says_so_and_is_wider_than_a_stated_one() -> None:
    [estimated] = [c for c in _large() if c.id == "buy-8x-mi300x"]
    assert "an estimate of 157,000 to 197,000 USD" in estimated.amount
    assert estimated.source.startswith("https://")
    cards = tuple(
        replace(a, server_price_low_usd=None, server_price_high_usd=None)
        for a in SHOP.catalog.accelerators
    )
    as_stated = replace(SHOP, catalog=replace(SHOP.catalog, accelerators=cards))
    [stated] = [c for c in candidates_of(LARGE, as_stated) if c.id == "buy-8x-mi300x"]
    assert "estimate" not in stated.amount
    assert _low(estimated) < _low(stated)


def _low(candidate: Candidate) -> float:
    assert candidate.owned is not None
    assert isinstance(candidate.owned.price_usd, Range)
    return candidate.owned.price_usd.low
