"""Prices and hardware in the page: what is behind the options, rows added, imported, removed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.common import hardware
from pages.compare import catalog, state
from planner.catalog import Catalog, LiveOffers, csv_of
from tests.pages.comparing import WORKLOAD
from tests.pages.conftest import show, sound, texts, unfold

OWN = "buy-1x-rtx-5090"


@pytest.fixture(autouse=True)
def folder(folders: Path) -> Path:
    """Where rows of one's own lie; the person owns the app."""
    return folders / "catalog"


def _box(do: str | None = None, **link: str | list[str]) -> AppTest:
    shown = unfold(show("compare", **({"options": [OWN]} | link)), "compare.catalog")
    if do:
        shown.segmented_control(key="compare.catalog.do").set_value(do)
        sound(shown.run())
    return shown


def _rows(shown: AppTest) -> list[dict[str, object]]:
    found = next(d for d in shown.dataframe if "Whose row" in d.value.columns)
    return [{str(k): v for k, v in r.items()} for r in found.value.to_dict("records")]


def _said(shown: AppTest) -> str:
    result = [*shown.success, *shown.warning, *shown.caption]
    return "\n".join(str(t.value) for t in result).replace("\\", "").replace("\u2060", "")


def test_every_option_shows_its_price_date_source_and_age() -> None:
    (row,) = _rows(_box())
    assert row["Option"] == "Buy 1 x GeForce RTX 5090"
    assert row["As of"] == "2025-01-01"
    assert row["Stale"] == "older than 12 months"
    assert str(row["Price from"]).startswith("https://")
    assert row["Whose row"] == "shipped"


def test_a_price_is_overridden_by_the_form_and_outlives_the_session(folder: Path) -> None:
    shown = _box("hardware")
    shown.selectbox(key="compare.rows.hardware.start").set_value("rtx-5090")
    sound(shown.run())
    shown.text_input(key="compare.rows.hardware.rtx-5090.list_price_usd").set_value("2500")
    shown.text_input(key="compare.rows.hardware.rtx-5090.list_price_as_of").set_value("2026-11-01")
    keep = next(b for b in shown.button if b.label == "Save this row")
    keep.click()
    sound(shown.run())
    assert "1 row is saved." in _said(shown)
    assert (folder / "hardware.csv").exists()
    (row,) = _rows(_box())
    assert row["Price"] == "2,500 USD list, Nov 2026"
    assert row["Whose row"] == "yours"


def test_ones_own_price_has_its_own_source_and_is_of_today() -> None:
    known = next(o for o in hardware.catalog().catalog.offers if o.note and o.source_url)
    shown = _box("price")
    shown.selectbox(key="compare.rows.prices.start").set_value(known.id)
    sound(shown.run())
    cell = {
        t.key.rsplit(".", 1)[-1]: t.value for t in shown.text_input if t.key and known.id in t.key
    }
    assert (cell["source_url"], cell["note"]) == ("", "")
    assert cell["as_of"] == f"{state.today():%Y-%m-%d}"
    assert cell["provider"] == known.provider
    next(b for b in shown.button if b.label == "Save this row").click()
    assert "source_url" in _said(sound(shown.run()))


def test_what_is_wrong_with_a_row_is_reported_field_by_field(folder: Path) -> None:
    shown = _box("price")
    keep = next(b for b in shown.button if b.label == "Save this row")
    keep.click()
    said = _said(sound(shown.run()))
    assert "Nothing was added" in said
    assert "price_per_hour" in said
    assert not folder.exists()


def test_an_offer_of_ones_own_is_one_more_option(folder: Path) -> None:
    shown = _box("price")
    for name, value in {
        "provider": "Cellar", "region": "home", "instance": "box", "accelerator": "h100-sxm",
        "accelerators": "1", "price_per_hour": "1.25", "source_url": "https://example.org/x",
        "as_of": "2026-11-01",
    }.items():  # fmt: skip
        shown.text_input(key=f"compare.rows.prices..{name}").set_value(value)
    next(b for b in shown.button if b.label == "Save this row").click()
    assert "1 row is saved." in _said(sound(shown.run()))
    shown = show("compare", workload=WORKLOAD, options="rent-cellar-home-box-on-demand")
    assert "Renting 1 x H100 SXM5 80GB (Cellar) at 1.25 USD/h" in texts(shown)


def _own_row(folder: Path) -> None:
    known = hardware.catalog().catalog
    folder.mkdir()
    card = next(a for a in known.accelerators if a.id == "rtx-5090")
    (folder / "hardware.csv").write_text(csv_of("hardware", [card]))


def test_rows_of_ones_own_are_listed_and_taken_out_again(folder: Path) -> None:
    assert "You have no rows yet." in _said(_box("own"))
    _own_row(folder)
    shown = _box("own")
    shown.multiselect(key="compare.rows.gone").set_value([("hardware", "rtx-5090")])
    sound(shown.run())
    shown.button(key="compare.rows.remove").click()
    assert "1 row is removed." in _said(sound(shown.run()))
    assert _rows(_box())[0]["Whose row"] == "shipped"


def test_a_row_that_cannot_be_read_is_reported_and_never_dropped(folder: Path) -> None:
    folder.mkdir()
    (folder / "prices.csv").write_text("provider,region\nx,y\n")
    shown = _box("own")
    assert "prices.csv lacks columns that every row needs" in _said(shown)


def _upload(shown: AppTest, name: str, content: bytes) -> None:
    field: Any = shown.get("file_uploader")[0]
    field.set_value((name, content, "text/csv"))


def test_one_row_of_an_import_is_reported_as_one(folder: Path) -> None:
    known = hardware.catalog().catalog
    shown = _box("import")
    _upload(shown, "mine.csv", csv_of("prices", known.offers[:1]).encode())
    sound(shown.run())
    assert "1 valid row of prices, 0 problems." in _said(shown)
    assert not folder.exists()


def test_an_import_shows_rows_and_problems_before_anything_is_kept(folder: Path) -> None:
    known = hardware.catalog().catalog
    good = csv_of("prices", known.offers[:2])
    shown = _box("import")
    _upload(shown, "mine.csv", good.encode() + b"bad,row\n")
    sound(shown.run())
    assert "2 valid rows of prices, " in _said(shown)
    assert "of mine.csv" in _said(shown)
    assert not folder.exists()
    shown.button(key="compare.rows.import").click()
    assert "2 rows are saved." in _said(sound(shown.run()))
    assert (folder / "prices.csv").exists()


def test_an_import_says_what_it_replaces_before_and_after(folder: Path) -> None:
    first, second = hardware.catalog().catalog.offers[:2]
    mine = replace(first, price_per_hour=1.5, currency="EUR")
    line = f"price per hour {first.price_per_hour:g} -> 1.5; currency {first.currency} -> EUR"
    shown = _box("import")
    _upload(shown, "mine.csv", csv_of("prices", [mine, second]).encode())
    said = _said(sound(shown.run()))
    assert "Replaces 1 existing row, before -> after:" in said.replace("\\", "")
    assert line in said
    assert second.id not in said
    shown.button(key="compare.rows.import").click()
    said = _said(sound(shown.run()))
    assert "2 rows are saved." in said
    assert line in said


def test_a_file_of_no_table_says_what_every_row_needs() -> None:
    shown = _box("import")
    _upload(shown, "x.csv", b"a,b\n1,2\n")
    said = _said(sound(shown.run()))
    assert "The header matches no table." in said
    assert "provider" in said


def test_a_stranger_sees_the_rows_and_changes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPOCHWISE_MEASURE", "off")
    shown = _box()
    assert _rows(shown)
    assert "only be added on the machine that runs this app" in _said(shown)
    assert not [s for s in shown.segmented_control if s.key == "compare.catalog.do"]


def test_without_the_library_live_offers_say_what_to_install() -> None:
    assert "pip install -r requirements/live-prices.txt" in _said(_box("live"))


def test_with_the_library_offers_are_read_shown_and_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = hardware.catalog().catalog
    offers = tuple(o for o in known.offers if o.accelerator == "h100-sxm")[:1]
    monkeypatch.setattr(catalog, "has_library", lambda: True)
    monkeypatch.setattr(
        catalog,
        "live_offers",
        lambda *_: LiveOffers(offers=offers, left_out=("3 left out",)),
    )
    shown = _box("live", own="rent|h100-sxm|1|1.99", options=["mine-rent-h100-sxm-1-1.99"])
    shown.button(key="compare.live.read").click()
    sound(shown.run())
    assert "1 offer, 1 of the accelerators compared here." in _said(shown)
    assert "3 left out" in _said(shown)
    assert "add it under Accelerator or its price under Price" in _said(shown)
    shown.button(key="compare.live.keep").click()
    assert "1 row is saved." in _said(sound(shown.run()))
    assert (folder / "prices.csv").exists()


def test_tables_of_rows_name_what_each_says() -> None:
    known = hardware.catalog().catalog
    few = Catalog(
        accelerators=known.accelerators[:1], offers=known.offers[:1], tariffs=known.tariffs[:1]
    )
    assert [r["Table"] for r in catalog.listed(few)] == ["hardware", "prices", "electricity"]
