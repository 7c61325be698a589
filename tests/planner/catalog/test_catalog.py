from __future__ import annotations

import difflib
from dataclasses import replace
from datetime import date, timedelta
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalog import (
    Accelerator,
    Catalog,
    Offer,
    Tariff,
    accelerator_named,
    is_stale,
    merged,
    offers_of,
    sole_accelerator,
    tariff_of,
    words_of,
)
from planner.core import Refusal
from planner.job import placed
from tests.each import each

DAY = date(2026, 11, 1)


def card(name: str, memory_gb: float = 80, link: str = "NVLink 4", *aliases: str) -> Accelerator:
    return Accelerator(
        id=name.lower().replace(" ", "-"), name=name, maker="NVIDIA", kind="gpu",
        memory_bytes=memory_gb * 1e9, memory_bandwidth_bytes_per_s=2e12, aliases=aliases,
        peak_flops_per_s=MappingProxyType({"float32": 5e13, "bfloat16": 9e14}),
        link_name=link, source_url="https://example.com", as_of=DAY,
    )  # fmt: skip


def offer(price: float, terms: str = "on demand") -> Offer:
    return Offer(
        provider="P", region="r", instance="i", accelerator="h100-sxm5", accelerators=8,
        terms=terms, price_per_hour=price, currency="USD",  # type: ignore[arg-type]
        source_url="https://example.com", as_of=DAY,
    )  # fmt: skip


SXM = card("H100 SXM5", 80, "NVLink 4", "NVIDIA H100 80GB HBM3")
PCIE = card("H100 PCIe", 80, "PCIe 5.0 x16")
TI = card("GeForce GTX 1080 Ti", 11, "PCIe 3.0 x16", "1080 Ti")
A40 = card("A40", 48, "PCIe 4.0 x16")
V3 = replace(card("TPU v3", 32), maker="Google", kind="tpu")
V5E = replace(card("TPU v5e", 16, "ICI", "TPU v5 lite", "v5litepod"), maker="Google", kind="tpu")
V5P = replace(card("TPU v5p", 95, "ICI", "TPU v5"), maker="Google", kind="tpu")
CATALOG = Catalog(accelerators=(SXM, PCIE, TI, A40, V3, V5E, V5P), offers=(offer(20.0),))


# -- names ---------------------------------------------------------------------------------------


@each(
    ("text", "meant"),
    [
        ("h100-sxm5", SXM),
        ("  nvidia   H100 sxm5 ", SXM),
        ("NVIDIA H100-SXM5-80GB (700W TDP)", SXM),
        ("NVIDIA H100 80GB HBM3", SXM),
        ("H100_SXM", SXM),
        ("H100-PCIe-80GB", PCIE),
        ("A40-PCIe-48GB", A40),
        ("NVIDIA A40 48 GB", A40),
        ("gtx 1080 ti", TI),
        ("tpu-v3-8", V3),
        ("TPU v5 lite", V5E),
        ("v5litepod-16", V5E),
        ("TPU v5", V5P),
    ],
)
def test_what_drivers_frameworks_and_clouds_write_is_understood(
    text: str, meant: Accelerator
) -> None:
    assert accelerator_named(CATALOG, text) == meant


def test_an_ambiguous_text_says_what_it_could_be() -> None:
    answer = accelerator_named(CATALOG, "H100 80GB")
    assert isinstance(answer, Refusal)
    assert answer.reason == "'H100 80GB' could be H100 SXM5 or H100 PCIe."
    assert "SXM" in answer.measure_next


@each("text", ["GTX 1080", "A40 96GB", "A4", "H100 NVL", "80GB", "", "NVIDIA"])
def test_another_model_is_never_taken_for_one_we_know(text: str) -> None:
    assert isinstance(accelerator_named(CATALOG, text), Refusal)


def test_a_run_on_an_unknown_machine_searches_for_no_name_that_is_like_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A search takes 3 ms, and a set may name thousands of machines."""
    meant = accelerator_named(CATALOG, "NVIDIA H100 PCIe")
    monkeypatch.setattr(difflib, "get_close_matches", lambda *_, **__: pytest.fail("It searched."))
    for text in ("Cluster 7", "H100", "A41"):
        row = {"system": text, "system_name": text, "accelerator_model_name": text}
        assert sole_accelerator(CATALOG, text) is placed(CATALOG, row).accelerator is None
    assert sole_accelerator(CATALOG, "NVIDIA H100 PCIe") is meant


def test_an_unknown_text_is_reported_what_is_like_it() -> None:
    answer = accelerator_named(CATALOG, "A41")
    assert isinstance(answer, Refusal)
    assert answer.reason == "'A41' is not in the catalogue."
    assert "Perhaps A40?" in answer.measure_next


@given(st.text(max_size=400))
def test_any_text_has_an_answer_that_is_not_long(text: str) -> None:
    answer = accelerator_named(CATALOG, text)
    assert isinstance(answer, Accelerator) or len(f"{answer}") < 900


@given(st.permutations(CATALOG.accelerators), st.sampled_from(["H100 SXM", "tpu v3", "1080 ti"]))
def test_the_order_of_rows_changes_no_name(rows: list[Accelerator], text: str) -> None:
    found = accelerator_named(Catalog(accelerators=tuple(rows)), text)
    assert found == accelerator_named(CATALOG, text)


def test_words_are_without_makers_asides_and_sizes_of_slices() -> None:
    assert words_of("NVIDIA A100-SXM4-80GB (400W TDP)") == {"a100", "sxm", "80gb"}
    assert words_of("Intel(R) Xeon(R) Platinum 8380") == {"xeon", "platinum", "8380"}
    assert words_of("TPU v4-32") == {"tpu", "v4"}


# -- merging -------------------------------------------------------------------------------------


def test_a_row_with_an_id_that_is_there_replaces_it_in_its_place_and_says_so() -> None:
    mine = replace(PCIE, list_price_usd=25_000.0, origin="yours")
    answer = merged(CATALOG, Catalog(accelerators=(mine,)))
    assert answer.catalog.accelerators == (SXM, mine, TI, A40, V3, V5E, V5P)
    assert answer.overridden == ("h100-pcie: list price USD not known -> 25000",)


def test_a_changed_peak_is_reported_by_its_precision() -> None:
    mine = replace(SXM, peak_flops_per_s={"float32": 6e13, "bfloat16": 9e14})
    answer = merged(CATALOG, Catalog(accelerators=(mine,)))
    assert answer.overridden == ("h100-sxm5: float32 5e+13 -> 6e+13",)


def test_a_row_in_another_currency_says_so_and_its_note_is_not_what_changed() -> None:
    old = CATALOG.offers[0]
    mine = replace(old, price_per_hour=2.0, currency="EUR", note="asked by phone", origin="yours")
    (line,) = merged(CATALOG, Catalog(offers=(mine,))).overridden
    assert line == f"{old.id}: price per hour {old.price_per_hour:g} -> 2; currency USD -> EUR"
    noted = replace(old, note="asked by phone")
    (line,) = merged(CATALOG, Catalog(offers=(noted,))).overridden
    assert line.endswith(": note not known -> asked by phone")


def test_a_new_row_is_added_at_the_end_and_replaces_nothing() -> None:
    answer = merged(CATALOG, Catalog(offers=(offer(9.0, "spot"),)))
    assert [o.terms for o in answer.catalog.offers] == ["on demand", "spot"]
    assert answer.overridden == ()


def test_merging_nothing_or_the_same_changes_nothing() -> None:
    assert merged(CATALOG, Catalog()).catalog == CATALOG
    assert merged(CATALOG, CATALOG).catalog == CATALOG
    assert merged(CATALOG, CATALOG).overridden == ()


def test_offers_are_found_by_their_accelerator_and_cost_per_accelerator() -> None:
    (found,) = offers_of(CATALOG, SXM)
    assert found.price_per_accelerator_hour == 2.5
    assert offers_of(CATALOG, A40) == ()


def test_a_tariff_is_found_by_code_or_country() -> None:
    tariff = Tariff(id="DE", country="Germany", carbon_kg_per_kwh=0.344)
    catalog = Catalog(tariffs=(tariff,))
    assert tariff_of(catalog, "de") == tariff_of(catalog, " GERMANY ") == tariff
    assert tariff_of(catalog, "Atlantis") is None


# -- age -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("as_of", "stale"),
    [
        (date(2025, 11, 22), False),
        (date(2025, 11, 21), False),
        (date(2025, 11, 20), True),
        (date(2024, 12, 1), True),
        (date(2026, 12, 1), False),
    ],
)
def test_a_price_is_stale_after_12_months_and_not_on_the_day(as_of: date, stale: bool) -> None:  # noqa: FBT001 - a case
    assert is_stale(as_of, date(2026, 11, 21)) is stale


@given(st.dates(date(2000, 1, 1), date(2050, 1, 1)), st.integers(0, 4_000))
def test_what_is_stale_stays_stale(as_of: date, days: int) -> None:
    today = as_of + timedelta(days=days)
    assert is_stale(as_of, today) <= is_stale(as_of, today + timedelta(days=1))
    assert not is_stale(as_of, as_of + timedelta(days=364))
    assert is_stale(as_of, as_of + timedelta(days=368))
