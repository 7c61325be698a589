"""A link to share carries its defaults: elsewhere it means the same, or says why not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from pages.common import hardware
from pages.compare import state
from planner.catalog import csv_of
from planner.core import slug
from planner.store import Store
from tests.pages.comparing import address_of, asked
from tests.pages.conftest import show, texts

pytestmark = pytest.mark.usefixtures("folders")
OTHER = "with other runs or prices"


def shared(shown: AppTest) -> dict[str, list[str]]:
    """The question of the link under Share."""
    links = [c.value for c in shown.code if c.value.startswith("?") or "://" in c.value]
    return parse_qs(links[-1].partition("?")[2], keep_blank_values=True)


def _opened(page: str, link: dict[str, list[str]]) -> AppTest:
    return show(page, **{n: v if len(v) > 1 else v[0] for n, v in link.items()})


def test_a_link_of_defaults_names_the_workload_every_option_and_the_currency(store: Store) -> None:
    shown = show("compare", goal="epochs")
    link = shared(shown)
    assert list(address_of(shown)) == ["workload"]
    assert link["options"] == list(asked(store, goal="epochs").answered.chosen)
    assert {"workload", "pattern", "epochs", "order", "runs_per_month", "currency"} <= set(link)
    assert link["made"][0].startswith(f"{state.today():%Y-%m-%d}-")


@pytest.mark.parametrize(
    ("page", "names"),
    [("steps-to-target", {"workload", "optimizers", "target"}),
     ("throughput", {"workload", "patterns", "systems"})],
)  # fmt: skip
def test_a_link_of_defaults_names_what_is_shown(page: str, names: set[str]) -> None:
    assert names <= set(shared(show(page)))


def test_the_shared_link_answers_the_same_on_the_page_and_to_a_program(store: Store) -> None:
    link = shared(first := show("compare", goal="epochs"))
    again = _opened("compare", link)
    assert [m.value for m in again.markdown if m.value.startswith("##")] == [
        m.value for m in first.markdown if m.value.startswith("##")
    ]
    assert not again.warning
    assert OTHER not in texts(again)
    result = asked(store, **dict(link))
    assert result.problems == ()
    assert result.answered.chosen == asked(store, goal="epochs").answered.chosen


def test_where_prices_differ_the_options_stay_and_the_answer_says_so(folders: Path) -> None:
    shown = show("compare", goal="epochs")
    link = shared(shown)
    rented = next(o for o in link["options"] if o.startswith("rent-"))
    catalog = hardware.catalog().catalog
    offers = {f"rent-{slug(o.id)}": o for o in catalog.offers}
    dearer = replace(offers[rented], price_per_hour=offers[rented].price_per_hour * 50.0)
    (folders / "catalog").mkdir(exist_ok=True)
    (folders / "catalog" / "prices.csv").write_text(csv_of("prices", [dearer]), encoding="utf-8")
    elsewhere = _opened("compare", link)
    assert OTHER in texts(elsewhere)
    assert shared(elsewhere)["options"] == link["options"]
    changed = elsewhere.number_input(key="compare.epochs").set_value(10).run()
    assert OTHER not in texts(changed)  # another question is not that link's any more


def test_an_option_that_is_not_there_is_named() -> None:
    link = shared(show("compare", goal="epochs"))
    link["options"] = [*link["options"], "rent-nowhere-eu-1x-h100-on-demand"]
    assert "rent-nowhere-eu-1x-h100-on-demand" in texts(_opened("compare", link))


@pytest.mark.parametrize("made", ["x", "2026-13-40-1a2b3c4d", "2026-11-22"])
def test_what_a_link_was_made_with_must_be_a_day_and_digits(store: Store, made: str) -> None:
    result = asked(store, made=made)
    assert [p.parameter for p in result.problems] == ["made"]


def test_how_long_and_throughput_state_their_workload_systems_and_epochs() -> None:
    link = shared(show())
    assert {"workload", "pattern", "epochs", "systems", "baseline"} <= set(link)
    assert len(link["systems"]) >= 2
    assert not _opened("", link).warning
    link = shared(show("throughput"))
    assert {"workload", "patterns", "systems"} <= set(link)
    assert not _opened("throughput", link).warning


@pytest.mark.parametrize(
    ("page", "opened"),
    [("compare", {"tables": "tornado"}), ("steps-to-target", {"tables": "families"}),
     ("capacity", {"tables": "costs", "list": "jobs"}), ("scaling-out", {"tables": "crossover"})],
)  # fmt: skip
def test_the_open_tabs_of_further_answers_are_part_of_the_link(
    page: str, opened: dict[str, str]
) -> None:
    shown = show(page, **opened)
    assert not shown.warning
    assert {n: shared(shown)[n] for n in opened} == {n: [v] for n, v in opened.items()}
