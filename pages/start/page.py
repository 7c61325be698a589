"""Start: what this is, three questions, example jobs, recent results and saved views."""

from datetime import UTC, datetime
from typing import Final

import streamlit as st

from pages.common import hardware, kept, link, saving, tiles, widgets
from pages.common.addresses import ADDRESSES
from pages.common.kept import store
from pages.common.link import Link, Parameters, as_text, page_link
from planner import figures
from planner.answers import PRESETS, Preset, PresetAnswer, parameters, preset_answer
from planner.core import Text, cut, joined, several
from planner.cost import amount_texts
from planner.store import Store
from planner.store.queries import RecentSet

PAGE: Final = "start"
SETS: Final = 5
"""Result sets that are listed."""
VIEWS: Final = 6
"""Saved views that are listed."""
_TILE: Final = 280
_JOB: Final = 330
_DOOR: Final = 190
"""Least width of a list, of a job's card with both tiles in a row, and of a question [px]."""
_TITLE: Final = 56
_NAME: Final = 32
"""Most characters of a title and of an accelerator's name."""
_OLD: Final = frozenset(p.name for p in parameters.HOW_LONG) | parameters.FOR_THE_EYE


def show() -> None:
    """Draw the page, or How long? for a link of the time when that was the first page."""
    _follow_an_old_link()
    state = Link(PAGE)
    shared = store()
    state.write()
    st.title("Epochwise")
    state.warn()
    st.markdown("Time and cost of a training run, with intervals.")
    _doors(shared)
    _jobs(shared)
    with st.grid(2, min_column_width=_TILE, gap="medium"):
        _results(shared)
        _views()


def _follow_an_old_link() -> None:
    """Open How long? with the parameters of an old link.

    Parameters of a link on this page are in the address after Back: they are no such link.
    """
    now = link.parameters_now()
    if not _OLD & now.keys() or now in link.memory_of(PAGE).get("offered", ()):
        return
    link.offer(PAGE, now)
    st.switch_page(ADDRESSES["how-long"].script, query_params=now)


def _doors(shared: Store) -> None:
    runs, offers = kept.totals(shared).runs, len(hardware.catalog().catalog.offers)
    measured = Text("{runs:,} runs with sources.", runs=runs)
    doors = (
        ("How long will my job take?", "Any number of epochs.", ["how-long"]),
        (
            "What should I rent or buy?",
            Text("Time and cost of {offers:,} offers.", offers=offers),
            ["compare"],
        ),
        (
            "What has been measured?",
            measured if runs else Text("No runs yet. {how}", how=widgets.GET_RUNS),
            ["explore"] if runs else widgets.SOURCES,
        ),
    )
    with st.grid(3, min_column_width=_DOOR, gap="medium"):
        for question, about, paths in doors:
            with st.container(border=True, height="stretch"):
                widgets.heading(f"{ADDRESSES[paths[0]].symbol} {question}")
                st.caption(about)
                for address in (ADDRESSES[path] for path in paths):
                    page_link(PAGE, address.script, f"**{address.title}**",
                              ":material/arrow_forward:", {})  # fmt: skip


def _jobs(shared: Store) -> None:
    widgets.heading("Example jobs")
    st.caption("Ranges: 90\u00a0% intervals.")
    with st.grid(3, min_column_width=_JOB, gap="medium"):
        for preset in PRESETS:
            with st.container(border=True, height="stretch"):
                _job(preset, _answered(shared, preset))
    newest = max((offer.as_of for offer in hardware.catalog().catalog.offers), default=None)
    if newest:
        st.caption(Text("Prices: catalogue, last updated {day}.", day=f"{newest:%-d %b %Y}"))


def _answered(shared: Store, preset: Preset) -> PresetAnswer:
    """Return the answer to a preset, cached until its runs, a price or the date change."""
    today = datetime.now(UTC).date()
    if preset.page == "compare":  # described jobs depend on the speeds of all accelerators only
        runs, prices = kept.library(shared), hardware.stamps()
    else:
        runs, prices = shared.generation, ()
    return shared.kept.once(
        ("preset", preset.title),
        lambda: preset_answer(preset, shared, hardware.catalog().catalog, today),
        (runs, prices, today),
    )


def _job(preset: Preset, answer: PresetAnswer) -> None:
    values: Parameters = {name: list(texts) for name, texts in preset.parameters.items()}
    target = ADDRESSES[preset.page].script
    with st.container(gap=None):
        page_link(PAGE, target, f"**{preset.title}**", f":material/{preset.icon}:", values)
        st.caption(as_text(preset.about))
    if answer.time is None:
        st.caption(as_text(answer.why_not))
        return
    shown = [figures.time_tile("Time", answer.time)]
    if answer.cost is not None:
        shown.append(figures.number_tile("Cost", answer.cost, "USD", write=amount_texts))
    tiles.draw("", shown)
    st.caption(as_text(joined(" · ", (answer.option, "too close to call" if answer.tied else ""))))


def _results(shared: Store) -> None:
    address = ADDRESSES["results"]
    with st.container(border=True):
        widgets.heading("Recent results")
        st.caption("The newest sets of runs.")
        recent = kept.recent_sets(shared, SETS)
        if not recent:
            st.caption("No result folder holds a run yet.")
        for result_set in recent:
            with st.container(gap=None):
                page_link(
                    PAGE, address.script, as_text(cut(result_set.title, _TITLE)),
                    address.symbol,
                    {"result_set": [result_set.slug]},
                )  # fmt: skip
                st.caption(as_text(_about(result_set)))
        page_link(PAGE, address.script, "All results", ":material/arrow_forward:", {})


def _about(result_set: RecentSet) -> str:
    """Return basis, runs, accelerators and date of a result set on one line."""
    first = cut(result_set.accelerators[0], _NAME) if result_set.accelerators else ""
    more = result_set.accelerator_count - 1
    where = Text("{first} and {more:,} more", first=first, more=more) if more > 0 else first
    runs = several(result_set.runs, "run")
    return " · ".join(
        filter(None, (result_set.basis, runs, where, f"{result_set.newest:%-d %b %Y}"))
    )


def _views() -> None:
    views = saving.all_views()
    with st.container(border=True):
        widgets.heading("Saved views")
        if not views.views:
            st.caption("None yet. Save view is beside Share on every page.")
        for view in views.views[:VIEWS]:
            page = ADDRESSES[view.page].title if view.page in ADDRESSES else view.page
            note = f" · {view.note}" if view.note else ""
            with st.container(gap=None):
                saving.open_link(PAGE, view)
                st.caption(as_text(f"{page} · {view.saved_at[:10]}{note}"))
        for problem in views.problems[:VIEWS]:
            st.caption(as_text(problem))
        page_link(
            PAGE, ADDRESSES["explore"].script, "Manage and open a file", ":material/folder_open:",
            {"view": ["saved"]},
        )  # fmt: skip


if __name__ == "__main__":
    show()
