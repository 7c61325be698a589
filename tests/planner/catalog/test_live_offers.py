"""Live offers: without the library in the default environment, with its own classes where it is."""

from __future__ import annotations

import importlib
import sys
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from planner.catalog.live_offers import live_offers, offers_from
from planner.core import Refusal
from planner.store.catalog import read_catalog

CATALOG: Final = read_catalog(Path(__file__).resolve().parents[3] / "data" / "catalog").catalog
TODAY: Final = date(2026, 11, 21)


def made(kind: str, **changes: Any) -> Any:  # noqa: ANN401 - two kinds of item
    values: dict[str, Any] = {
        "provider": "aws", "instance_name": "p5.48xlarge", "location": "us-east-1", "price": 55.04,
        "cpu": 192, "memory": 2048.0, "gpu_count": 8, "gpu_name": "H100", "gpu_memory": 80.0,
        "spot": False, "disk_size": None,
    } | changes  # fmt: skip
    if kind == "stand-in":
        return SimpleNamespace(**values)
    models = pytest.importorskip("gpuhunt", reason="the extra live-prices is not installed")
    return models.CatalogItem(**values, gpu_vendor=models.AcceleratorVendor.NVIDIA)


each_kind = pytest.mark.parametrize("kind", ["stand-in", "the library's own"])


@each_kind
def test_an_item_becomes_an_offer_of_today_in_usd(kind: str) -> None:
    (offer,) = offers_from([made(kind)], CATALOG, TODAY).offers
    assert (offer.accelerator, offer.accelerators, offer.terms) == ("h100-sxm", 8, "on demand")
    assert (offer.price_per_hour, offer.currency, offer.as_of) == (55.04, "USD", TODAY)


@each_kind
def test_a_card_of_unstated_form_is_left_out_and_counted(kind: str) -> None:
    unsure = [made(kind, instance_name="gpu_1x", provider=p) for p in ("a", "b")]
    answer = offers_from(unsure, CATALOG, TODAY)
    assert answer.offers == ()
    assert answer.left_out == (
        "2 left out: 'H100 80GB' could be H100 PCIe 80GB or H100 SXM5 80GB.",
    )


@each_kind
def test_names_with_the_form_in_the_instance_are_understood(kind: str) -> None:
    items = [
        made(kind, instance_name="NVIDIA H100 80GB HBM3"),
        made(kind, instance_name="gpu-h100-SXM-x1"),
        made(kind, instance_name="x", gpu_name="T4", gpu_memory=16.0),
    ]
    found = offers_from(items, CATALOG, TODAY).offers
    assert sorted(o.accelerator for o in found) == ["h100-sxm", "h100-sxm", "t4"]


@each_kind
def test_of_equal_offers_the_cheapest_counts_and_marks_for_not_sold_do_not(kind: str) -> None:
    items = [made(kind, price=p) for p in (60.0, 50.0, 0.0, 1e6)]
    assert [o.price_per_hour for o in offers_from(items, CATALOG, TODAY).offers] == [50.0]


def test_tpu_slices_are_left_out_because_their_counts_mix_cores_and_chips() -> None:
    item = made("stand-in", gpu_name="v5litepod", instance_name="v5litepod-8")
    answer = offers_from([item], CATALOG, TODAY)
    assert answer.left_out == ("1 left out: TPU slices are counted in cores or in chips.",)


def test_without_the_library_the_answer_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "gpuhunt", None)
    answer = live_offers(CATALOG, TODAY)
    assert isinstance(answer, Refusal)
    assert answer.reason == "Live prices need the library gpuhunt, which is not installed."
    assert "requirements/live-prices.txt" in answer.measure_next


def test_without_a_network_the_answer_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def query(**_: object) -> None:
        raise OSError("no route to host")

    monkeypatch.setattr(importlib, "import_module", lambda _: SimpleNamespace(query=query))
    answer = live_offers(CATALOG, TODAY)
    assert isinstance(answer, Refusal)
    assert answer.reason == "No provider could be reached (OSError: no route to host)."


def test_the_library_is_asked_for_the_providers_that_are_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[object] = []

    def query(**wanted: object) -> list[Any]:
        asked.append(wanted)
        return [made("stand-in")]

    monkeypatch.setattr(importlib, "import_module", lambda _: SimpleNamespace(query=query))
    answer = live_offers(CATALOG, TODAY, providers=("aws",))
    assert not isinstance(answer, Refusal)
    assert len(answer.offers) == 1
    assert asked == [{"provider": ["aws"], "min_gpu_count": 1}]
