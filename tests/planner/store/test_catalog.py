from __future__ import annotations

import os
import threading
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Final

import pytest

from planner.catalog import LIMITS, Catalog, Offer, csv_of, offers_of
from planner.store import catalog as store
from planner.store.catalog import (
    CatalogError,
    add_rows,
    import_csv,
    own_folder,
    read_catalog,
    remove_rows,
)

SHIPPED: Final = Path(__file__).resolve().parents[3] / "data" / "catalog"
MINE: Final = Offer(
    provider="Me", region="cellar", instance="rack", accelerator="h100-sxm", accelerators=8,
    terms="on demand", price_per_hour=16.0, currency="EUR", source_url="https://example.com",
    as_of=date(2026, 11, 1), origin="yours",
)  # fmt: skip


def prices(folder: Path) -> Path:
    return folder / "prices.csv"


def test_the_folder_is_what_the_environment_says_below_the_root(tmp_path: Path) -> None:
    assert own_folder(tmp_path, {}) == tmp_path / "catalog"
    assert own_folder(tmp_path, {"EPOCHWISE_CATALOG": "mine/../ours"}) == tmp_path / "ours"
    assert own_folder(tmp_path, {"EPOCHWISE_CATALOG": "/srv/c"}) == Path("/srv/c")


def test_a_row_that_is_added_is_there_after_a_restart_and_is_marked_as_yours(
    tmp_path: Path,
) -> None:
    assert add_rows(tmp_path, Catalog(offers=(MINE,))) == ()
    read = read_catalog(SHIPPED, [tmp_path])
    assert read.problems == ()
    assert read.catalog.offers[-1] == MINE
    assert {o.origin for o in read.catalog.offers[:-1]} == {"shipped"}


def test_a_row_of_yours_replaces_the_shipped_one_until_it_is_removed(tmp_path: Path) -> None:
    first = read_catalog(SHIPPED).catalog.offers[0]
    add_rows(tmp_path, Catalog(offers=(replace(first, price_per_hour=0.5, origin="yours"),)))
    read = read_catalog(SHIPPED, [tmp_path])
    assert read.catalog.offers[0].price_per_hour == 0.5
    assert read.overridden == (f"{first.id}: price per hour {first.price_per_hour:g} -> 0.5",)
    assert remove_rows(tmp_path, "prices", [first.id, "no such row"]) == 1
    assert remove_rows(tmp_path, "prices", [first.id]) == 0
    assert read_catalog(SHIPPED, [tmp_path]).catalog.offers[0] == first


def test_a_row_of_yours_that_is_dated_ahead_is_reported_and_the_others_stay(tmp_path: Path) -> None:
    ahead = replace(MINE, region="attic", as_of=date(2026, 11, 24))
    add_rows(tmp_path, Catalog(offers=(MINE, ahead)))
    read = read_catalog(SHIPPED, [tmp_path], today=date(2026, 11, 22))
    assert read.catalog.offers[-1] == MINE
    assert [str(p) for p in read.problems] == [
        "Row 3 of prices.csv: as_of is 2026-11-24, after today, 2026-11-22. Enter the day on which "
        "it was read."
    ]
    assert read_catalog(SHIPPED, [tmp_path], today=date(2026, 11, 23)).problems == ()
    remove_rows(tmp_path, "prices", [MINE.id])  # what is not read is not dropped either
    assert read_catalog(SHIPPED, [tmp_path], today=date(2026, 11, 24)).catalog.offers[-1] == ahead


def test_adding_says_which_of_your_own_rows_it_replaces(tmp_path: Path) -> None:
    add_rows(tmp_path, Catalog(offers=(MINE,)))
    result = add_rows(tmp_path, Catalog(offers=(replace(MINE, price_per_hour=15.0),)))
    assert result == ("Me / cellar / rack / on demand: price per hour 16 -> 15",)


def test_every_table_can_have_rows_of_yours(tmp_path: Path) -> None:
    shipped = read_catalog(SHIPPED).catalog
    mine = Catalog(
        accelerators=(replace(shipped.accelerators[0], id="my-card", name="My card", aliases=()),),
        offers=(MINE,),
        tariffs=(replace(shipped.tariffs[0], price_usd_per_kwh=None, carbon_kg_per_kwh=0.01),),
    )
    add_rows(tmp_path, mine)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "electricity.csv", "hardware.csv", "prices.csv"
    ]  # fmt: skip
    read = read_catalog(SHIPPED, [tmp_path])
    assert read.problems == ()
    assert read.catalog.accelerators[-1].name == "My card"
    assert read.catalog.tariffs[0].carbon_kg_per_kwh == 0.01


def test_an_offer_may_call_its_accelerator_by_any_name_that_is_only_ones(tmp_path: Path) -> None:
    named = replace(MINE, accelerator="NVIDIA H100 80GB HBM3")
    unsure = replace(MINE, accelerator="A100", region="attic")
    prices(tmp_path).write_text(csv_of("prices", [named, unsure]), encoding="utf-8")
    read = read_catalog(SHIPPED, [tmp_path])
    h100 = next(a for a in read.catalog.accelerators if a.id == "h100-sxm")
    assert MINE in offers_of(read.catalog, h100)
    (problem,) = read.problems
    assert str(problem).startswith(
        "Row 3 of prices.csv: accelerator is not understood: 'A100' could"
    )


def test_a_missing_folder_has_no_rows_and_a_missing_file_no_problem(tmp_path: Path) -> None:
    assert read_catalog(tmp_path / "none").catalog == Catalog()
    assert read_catalog(SHIPPED, [tmp_path / "none"]) == read_catalog(SHIPPED)


@pytest.mark.parametrize("content", [b"\0\1", b"\xff", b"x" * 3_000_000, b"a,b\n1,2", b'"'])
def test_a_rotten_file_is_reported_and_the_shipped_rows_stay(
    tmp_path: Path, content: bytes
) -> None:
    prices(tmp_path).write_bytes(content)
    read = read_catalog(SHIPPED, [tmp_path])
    assert read.catalog == read_catalog(SHIPPED).catalog
    assert str(read.problems[0]).startswith("prices.csv ")


def test_what_is_no_plain_file_is_reported_at_once(tmp_path: Path) -> None:
    os.mkfifo(prices(tmp_path))
    (tmp_path / "hardware.csv").mkdir()
    (tmp_path / "electricity.csv").symlink_to(tmp_path / "nowhere")
    read = read_catalog(SHIPPED, [tmp_path])
    assert [p.file for p in read.problems] == ["hardware.csv", "prices.csv"]
    assert read.catalog == read_catalog(SHIPPED).catalog


def test_a_file_with_a_row_we_cannot_read_is_not_replaced(tmp_path: Path) -> None:
    text = csv_of("prices", [MINE]).replace("16.0", "sixteen")
    prices(tmp_path).write_text(text, encoding="utf-8")
    with pytest.raises(CatalogError, match=r"Row 2 of prices.csv: price_per_hour is 'sixteen'"):
        add_rows(tmp_path, Catalog(offers=(replace(MINE, region="attic"),)))
    assert prices(tmp_path).read_text(encoding="utf-8") == text
    assert [p.name for p in tmp_path.iterdir()] == ["prices.csv"]


def test_a_disk_that_refuses_leaves_the_rows_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_rows(tmp_path, Catalog(offers=(MINE,)))
    before = prices(tmp_path).read_bytes()

    def full(path: Path, content: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "write_whole", full)
    with pytest.raises(CatalogError, match=r"No space left on device.*EPOCHWISE_CATALOG"):
        add_rows(tmp_path, Catalog(offers=(replace(MINE, region="attic"),)))
    assert prices(tmp_path).read_bytes() == before


def test_rows_that_many_add_at_once_are_all_kept(tmp_path: Path) -> None:
    def add(number: int) -> None:
        add_rows(tmp_path, Catalog(offers=(replace(MINE, region=f"room {number}"),)))

    threads = [threading.Thread(target=add, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = read_catalog(SHIPPED, [tmp_path]).catalog.offers
    assert {o.region for o in kept if o.origin == "yours"} == {f"room {n}" for n in range(16)}


def test_an_import_gives_rows_and_problems_and_writes_nothing(tmp_path: Path) -> None:
    shipped = read_catalog(SHIPPED).catalog
    text = csv_of("prices", [replace(MINE, accelerator="H200"), replace(MINE, accelerator="H1")])
    text = text.replace("rack", "first", 1)
    found, problems = import_csv("prices", text.encode(), shipped, file="offers.csv")
    assert [o.accelerator for o in found.offers] == ["h200-sxm"]
    assert len(problems) == 1
    assert "'H1' is not in the catalogue" in str(problems[0])
    assert str(problems[0]).startswith("Row 3 of offers.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_riddles_is_reported_so_far_and_keeps_what_is_known() -> None:
    shipped = read_catalog(SHIPPED).catalog
    riddles = [replace(MINE, region=f"r{n}", accelerator=f"riddle {n}") for n in range(1_000)]
    text = csv_of("prices", [*riddles, MINE])
    found, problems = import_csv("prices", text.encode(), shipped)
    assert found.offers == (MINE,)
    assert len(problems) == LIMITS["problems"].value
    assert str(problems[-1]) == "prices.csv has 801 more problems."
