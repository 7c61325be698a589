"""The shipped catalogue: units, ranges, sources, and numbers that fit to each other."""

from __future__ import annotations

import csv
import functools
import re
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Final

import pytest

from planner.catalog import (
    TABLE_NAMES,
    TABLES,
    Accelerator,
    Catalog,
    TableName,
    accelerator_named,
    csv_of,
    offers_of,
    parse_csv,
)
from planner.job._placing import sheet_of
from planner.store.catalog import read_catalog
from tests.each import each

ROOT: Final = Path(__file__).resolve().parents[2]
SHIPPED: Final = ROOT / "data" / "catalog"
PUBLIC: Final = ROOT.parent / "shared" / "datasets" / "accelerator_hardware"
TODAY: Final = date(2026, 11, 22)
"""The day the tables were typed: no fact is newer."""
each_table = pytest.mark.parametrize("table", TABLE_NAMES)


@functools.cache
def shipped() -> Catalog:
    read = read_catalog(SHIPPED)
    assert read.problems == ()
    return read.catalog


def cells(table: TableName) -> list[dict[str, str]]:
    with (SHIPPED / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def accelerator(name: str) -> Accelerator:
    return next(a for a in shipped().accelerators if a.id == name)


@functools.cache
def public() -> list[dict[str, str]]:
    with (PUBLIC / "epoch_ml_hardware.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# -- the files -----------------------------------------------------------------------------------


def test_nothing_is_wrong_and_there_is_enough_to_choose_from() -> None:
    catalog = shipped()
    assert len(catalog.accelerators) >= 60
    assert len(catalog.offers) >= 60
    assert len(catalog.tariffs) >= 25


@each_table
def test_the_files_have_exactly_the_columns_of_the_schema_in_their_order(table: TableName) -> None:
    assert list(cells(table)[0]) == [column.name for column in TABLES[table]]


@each_table
def test_no_column_is_dead(table: TableName) -> None:
    for column in TABLES[table]:
        filled = sum(bool(row[column.name]) for row in cells(table))
        assert filled >= 3, column.name


@each_table
def test_the_file_is_what_its_records_make(table: TableName) -> None:
    content = (SHIPPED / f"{table}.csv").read_bytes()
    parsed = parse_csv(table, content, origin="shipped")
    again = parse_csv(table, csv_of(table, parsed.records).encode(), origin="shipped")
    assert again.records == parsed.records


@each_table
def test_every_number_has_a_link_and_a_date_that_is_past(table: TableName) -> None:
    for row in cells(table):
        dates = [text for name, text in row.items() if name.endswith("as_of") and text]
        links = [text for name, text in row.items() if name.endswith("source_url") and text]
        assert dates, row
        assert links, row
        assert max(dates) <= TODAY.isoformat()


def test_no_name_means_two_accelerators() -> None:
    for known in shipped().accelerators:
        for text in (known.id, known.name, *known.aliases):
            assert accelerator_named(shipped(), text) == known, text


def test_every_offer_is_of_an_accelerator_by_its_id() -> None:
    ids = {a.id for a in shipped().accelerators}
    assert {row["accelerator"] for row in cells("prices")} <= ids


# -- numbers that fit to each other --------------------------------------------------------------


@each("known", shipped().accelerators)
def test_peaks_stand_in_the_ratios_that_hardware_has(known: Accelerator) -> None:
    """Narrower numbers are never slower; a sparse figure would stand out as twice too much."""
    peak = known.peak_flops_per_s
    half = peak.get("bfloat16") or peak.get("float16")
    if half and "float8" in peak:
        assert 1.0 <= peak["float8"] / half <= 4.0
    if half and "int8" in peak:
        assert 1.0 <= peak["int8"] / half <= 4.0
    if half and "tensorfloat32" in peak:
        assert 1.0 <= half / peak["tensorfloat32"] <= 2.05
    if half and "float32" in peak:
        assert 1.0 <= half / peak["float32"] <= 32.0
    if {"float16", "bfloat16"} <= peak.keys() and known.id != "mi100":
        assert peak["float16"] == peak["bfloat16"]


NOT_PRINTED: Final = {
    "apple-m2-pro", "apple-m2-max", "apple-m2-ultra", "apple-m3", "apple-m3-pro", "apple-m3-max",
    "gaudi1", "ascend-910b", "bi-v150",
}  # fmt: skip
"""Accelerators of published runs whose makers print no peak: nothing is estimated from them."""
ON_CHIP: Final = {"ipu-gc200", "ipu-bow"}
"""Those whose only memory is on the chip."""
SHARED: Final = {
    "apple-m1", "apple-m1-pro", "apple-m1-max", "apple-m1-ultra", "apple-m2", "radeon-680m",
    "radeon-780m",
}  # fmt: skip
"""Those whose memory is the machine's, as a processor's is."""


@each("known", shipped().accelerators)
def test_compute_bandwidth_memory_and_power_are_of_one_machine(known: Accelerator) -> None:
    peak = max(known.peak_flops_per_s.values(), default=None)
    bandwidth, memory = known.memory_bandwidth_bytes_per_s, known.memory_bytes
    if known.id in NOT_PRINTED or known.id in ON_CHIP:
        assert "does not print" in known.note
    if known.id in SHARED:
        assert "memory is the machine's" in known.note
    if bandwidth is None:
        assert known.id in {*NOT_PRINTED, *ON_CHIP}
        return
    if peak:
        assert 10 <= peak / bandwidth <= 1_200  # operations a byte
    if memory:
        assert 0.005 <= memory / bandwidth <= 0.1  # seconds to read it once
    if peak and known.board_power_watts:
        least = 1e10 if known.kind == "cpu" else 2e10
        assert least <= peak / known.board_power_watts <= 8e12
    if known.link_bytes_per_s:
        assert known.link_name
        assert known.link_bytes_per_s <= 0.8 * bandwidth
    if known.list_price_usd and peak:
        least = 1e8 if known.kind == "cpu" else 1e9
        assert least <= peak / known.list_price_usd <= 1e12


RECKONED: Final = re.compile(
    r"(\d+) cores.*Peak: cores x (?:base )?clock \(([\d.]+) GHz\) x (\d+) FLOPs per cycle"
)
"""What a processor's note says about its peak."""


@each("known", [a for a in shipped().accelerators if a.kind == "cpu"])
def test_a_processors_peak_is_what_its_note_reckons(known: Accelerator) -> None:
    result = RECKONED.search(known.note)
    assert result, known.note
    cores, clock, each_cycle = (float(text) for text in result.groups())
    assert each_cycle in (16, 32, 64)
    peak = known.peak_flops_per_s
    assert peak["float32"] == pytest.approx(cores * clock * 1e9 * each_cycle)
    if "bfloat16" in peak:  # in pairs, or in tiles
        assert peak["bfloat16"] / peak["float32"] in (2.0, 16.0)
    if "int8" in peak:
        assert peak["int8"] == 2 * peak["bfloat16"]


def test_two_cards_of_one_chip_have_the_same_ratios_of_peaks() -> None:
    one = accelerator("rtx-pro-6000-server").peak_flops_per_s
    two = accelerator("rtx-pro-6000-blackwell").peak_flops_per_s
    assert one.keys() == two.keys()
    for precision, peak in one.items():
        ours, theirs = peak / one["float32"], two[precision] / two["float32"]
        assert ours == pytest.approx(theirs, rel=0.01), precision


def test_a_form_with_more_power_is_never_the_slower_one() -> None:
    for slow, fast in (
        ("h100-pcie", "h100-sxm"), ("a100-pcie-80gb", "a100-sxm-80gb"), ("l40", "l40s"),
        ("v100-pcie-16gb", "v100-sxm-16gb"), ("p100-pcie", "p100-sxm"), ("mi350x", "mi355x"),
    ):  # fmt: skip
        one, two = accelerator(slow), accelerator(fast)
        assert (one.board_power_watts or 0) < (two.board_power_watts or 0)
        assert (one.memory_bandwidth_bytes_per_s or 0) <= (two.memory_bandwidth_bytes_per_s or 0)
        for precision, peak in one.peak_flops_per_s.items():
            assert peak <= two.peak_flops_per_s[precision]


def test_every_accelerator_but_processors_has_a_data_sheet_for_estimates() -> None:
    silent = {a.id for a in shipped().accelerators if sheet_of(a) is None}
    processors = {a.id for a in shipped().accelerators if a.kind == "cpu"}
    assert silent == processors | SHARED | NOT_PRINTED | ON_CHIP


def test_an_hour_of_one_accelerator_costs_what_such_an_hour_can_cost() -> None:
    for offer in shipped().offers:
        assert 0.05 <= offer.price_per_accelerator_hour <= 15.0, offer.id
        if offer.terms == "on demand" and offer.as_of.year == 2026:
            known = accelerator(offer.accelerator)
            peaks = known.peak_flops_per_s
            best = peaks.get("bfloat16") or peaks.get("float16")
            if best and known.kind != "cpu":  # USD for 1e18 operations at the dense peak
                usd = offer.price_per_accelerator_hour / 3600 / best * 1e18
                assert 0.4 <= usd <= 10.0, offer.id


def test_spot_and_reserved_are_cheaper_than_on_demand() -> None:
    by_place = {(o.provider, o.region, o.instance, o.terms): o for o in shipped().offers}
    pairs = [
        (by_place[*key[:3], "on demand"], offer)
        for key, offer in by_place.items()
        if key[3] != "on demand" and (*key[:3], "on demand") in by_place
    ]
    assert len(pairs) >= 20
    for full, cheap in pairs:
        assert 0.1 * full.price_per_hour < cheap.price_per_hour < full.price_per_hour, cheap.id


def test_gpus_can_be_reserved_for_a_year_at_prices_of_this_year() -> None:
    reserved = {
        o.accelerator for o in shipped().offers if o.committed_years and o.as_of.year == 2026
    }
    assert {"l4", "l40s", "a100-sxm-40gb", "a100-sxm-80gb"} <= reserved
    assert [o for o in shipped().offers if o.accelerator == "h100-sxm" and o.committed_years == 3]


def test_the_common_accelerators_can_be_rented_from_several() -> None:
    for name in ("h100-sxm", "h200-sxm", "b200", "a100-sxm-80gb", "l40s"):
        providers = {o.provider for o in offers_of(shipped(), accelerator(name))}
        assert len(providers) >= 3, name


def test_the_marks_for_not_sold_are_no_prices() -> None:
    assert not [o for o in shipped().offers if o.price_per_hour in (0.0, 700.0)]


def test_tpu_slices_are_counted_in_chips_whatever_their_name_counts() -> None:
    chips = {o.instance: o.accelerators for o in shipped().offers if o.instance.startswith("tpu-")}
    assert chips["tpu-v2-8"] == chips["tpu-v3-8"] == 4
    assert chips["tpu-v4-8"] == chips["tpu-v5p-8"] == 4
    assert chips["tpu-v5litepod-8"] == chips["tpu-v6e-8"] == 8


def test_some_offers_are_in_euro() -> None:
    assert len([o for o in shipped().offers if o.currency == "EUR"]) >= 5


def test_electricity_is_priced_as_firms_pay_it() -> None:
    priced = [t for t in shipped().tariffs if t.price_usd_per_kwh is not None]
    assert len(priced) >= 28
    for tariff in priced:
        assert tariff.customer != "household", tariff.id
        assert 0.05 <= (tariff.price_usd_per_kwh or 0.0) <= 0.5, tariff.id


# -- against Epoch AI's table --------------------------------------------------------------------

THEIRS: Final = {
    "memory_bytes": "memory_bytes",
    "memory_bandwidth_Bps": "memory_bandwidth_bytes_per_s",
    "tdp_w": "board_power_watts",
    "release_price_usd": "list_price_usd",
}
PEAKS: Final = {
    "fp32_flops": ("float32",),
    "tf32_flops": ("tensorfloat32",),
    "tensor_fp16_bf16_flops": ("float16", "bfloat16"),
    "fp8_flops": ("float8",),
    "int8_ops": ("int8",),
}
DIFFERENT: Final = {
    ("a800-pcie-80gb", "tdp_w"): "as the A100's; theirs is the 40 GB card's",
    ("a10g", "fp32_flops"): "AWS's own sheet says 35; theirs is another table's",
    ("b200", "fp32_flops"): "an eighth of the HGX's 600; theirs is another table's",
    ("gaudi2", "tensor_fp16_bf16_flops"): "Intel says 432",
    ("gb200", "fp32_flops"): "a 72nd of the rack's 5,760; theirs is of the first announcement",
    ("gb300", "memory_bytes"): "a 72nd of the rack's 20 TB; theirs is of an earlier 21 TB",
    ("gh200-96gb", "memory_bandwidth_Bps"): "theirs is the later card with HBM3e",
    ("h800-sxm", "fp32_flops"): "theirs is another table's; the chip is the H100's",
    ("h800-sxm", "tf32_flops"): "as its float32",
    ("k80", "fp32_flops"): "at another boost clock",
    ("k80", "memory_bandwidth_Bps"): "theirs is one of the two GPUs",
    ("rx-7900-xtx", "tdp_w"): "AMD says 355",
    ("mi250x", "fp32_flops"): "theirs is of the vector units",
    ("mi355x", "fp8_flops"): "theirs is the MI350X's",
    ("quadro-rtx-6000", "tdp_w"): "theirs is of the graphics processor alone",
    ("rtx-2080-ti", "int8_ops"): "theirs is the Founders Edition",
    ("rtx-2080-ti", "tensor_fp16_bf16_flops"): "theirs sums in float16, Founders Edition",
    ("rtx-3090-ti", "tensor_fp16_bf16_flops"): "theirs sums in float16",
    ("rtx-4090", "tensor_fp16_bf16_flops"): "theirs sums in float16",
    ("tpu-v2", "memory_bandwidth_Bps"): "Google's article says 700 GB/s, its pages once said 600",
    ("tpu-v3", "tdp_w"): "theirs is the mean that Google measured",
    ("tpu-v4", "tdp_w"): "theirs is the mean that Google measured",
    ("trainium1", "int8_ops"): "AWS corrected 420 to 380",
    ("trainium1", "memory_bandwidth_Bps"): "a slip there: 9.8 TB/s is of the whole instance",
}
"""Where we differ by more than 3 %, and why."""


def _ours(known: Accelerator, column: str) -> float | None:
    if column in THEIRS:
        value: float | None = getattr(known, THEIRS[column])
        return value
    peaks = (known.peak_flops_per_s.get(p) for p in PEAKS[column])
    return next((p for p in peaks if p), None)


@pytest.mark.skipif(not PUBLIC.is_dir(), reason="the public data sets are not beside this checkout")
def test_numbers_differ_from_epoch_ais_only_where_we_say_why() -> None:
    found: Counter[tuple[str, str]] = Counter()
    compared, cards = 0, set()
    for row in public():
        known = accelerator_named(shipped(), row["hardware"])
        if not isinstance(known, Accelerator):
            continue
        cards.add(known.id)
        for column in (*THEIRS, *PEAKS):
            ours = _ours(known, column)
            if ours and row[column]:
                compared += 1
                if abs(ours / float(row[column]) - 1.0) > 0.03:
                    found[known.id, column] += 1
    assert set(found) == set(DIFFERENT)
    assert len(cards) >= 45
    assert compared >= 200
