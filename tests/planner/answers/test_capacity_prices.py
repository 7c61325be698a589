"""Prices of the machines of a plan: the catalogue's where a purchase has none."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from planner.answers import _capacity, capacity_prepared
from planner.answers._capacity import _catalogued
from planner.compare.comparison import CompareQuestion
from planner.compare.evaluation import Worked, worked
from planner.job import Candidate
from planner.store.catalog import read_catalog
from tests.bench.capacity import ROOT, store_and_catalog
from tests.each import each

CATALOG = read_catalog(ROOT / "data" / "catalog", []).catalog


@each(
    ("line", "option"),
    [
        ("buy|h100-sxm|8", "buy-8x-h100-sxm"),
        ("buy|H100 SXM5 80GB|8", "buy-8x-h100-sxm"),
        ("buy|rtx-4090|1", "buy-1x-rtx-4090"),
        ("buy|h100-sxm|8|260000 total", "buy|h100-sxm|8|260000 total"),
        ("buy|h100-sxm|4", "buy|h100-sxm|4"),
        ("buy|mi300x|8", "buy-8x-mi300x"),
        ("buy|mi250x|8", "buy|mi250x|8"),
        ("own|h100-sxm|8", "own|h100-sxm|8"),
        ("rent|h100-sxm|8|20", "rent|h100-sxm|8|20"),
        ("buy|h100-sxm-80gb|8|260000 total", "buy|h100-sxm|8|260000 total"),
        ("reserved-1|H100 SXM5 80GB|8|15", "reserved-1|h100-sxm|8|15"),
        ("own|h100-sxm-80gb|8", "own|h100-sxm|8"),
        ("rent|unheard of|8|20", "rent|unheard of|8|20"),
    ],
)
def test_a_purchase_without_a_price_is_the_option_of_the_catalogue(line: str, option: str) -> None:
    assert _catalogued(line, CATALOG) == option


def test_every_ready_server_has_a_price_a_date_and_a_source() -> None:
    servers = {a.id: a for a in CATALOG.accelerators if a.server_price_usd is not None}
    assert {"h100-sxm", "b200", "a100-sxm-40gb"} <= set(servers)
    for server in servers.values():
        assert server.server_accelerators
        assert server.server_price_as_of is not None
        assert server.server_price_source_url.startswith("https://")


def test_a_job_is_timed_once_on_each_hardware_whatever_its_prices_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    timed: list[str] = []

    def counted(question: CompareQuestion, option: Candidate) -> Worked:
        timed.append(f"{question.job.workload}: {option.hardware.label}")
        return worked(question, option)

    monkeypatch.setattr(_capacity, "worked", counted)
    store, catalog = store_and_catalog(str(tmp_path))
    for tariff in ("0.1", "0.3"):
        question = {"preset": ["vision"], "tariff_usd_per_kwh": [tariff]}
        capacity_prepared(store, catalog, question, date(2026, 3, 1))
    assert len(timed) > 3
    assert len(timed) == len(set(timed))
