"""No download, saved view, error or link of another set holds anything of a hidden one.

Every box of every page is open and every download is made: CSV, parquet, zip, mllog, reports, saved
views. The same visits as an administrator find the set in each kind, so that the proof can fail.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import pytest
import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.testing.v1 import AppTest

from pages.visitor import identity, permission
from planner.store import commit_runs
from planner.store.disk import layers, sweeps, views
from planner.store.disk.access import Access, set_access
from planner.store.disk.secrets import SHARES
from planner.store.disk.views import View
from tests.faults.outcomes import FULL
from tests.pages.conftest import show
from tests.pages.test_access import everything, server, signed_in
from tests.store.build import row
from tests.store.restricted import SLUG, TEAM, leaks
from tests.titles import PAGES

__all__ = ["server"]
OTHER: Final = "other-set"
"""A second restricted set, for nobody but the holder of its link."""
QUESTION: Final = {
    "how-long": {"workload": "quokkanet-cifar-10"},
    "compare": {"workload": "quokkanet-cifar-10"},
    "throughput": {"workload": "quokkanet-cifar-10"},
    "explore": {"view": "saved"},
}
"""Links that name what is hidden, where a page takes one."""


class _Open:
    """A folded box that is open."""

    def __init__(self, box: DeltaGenerator) -> None:
        self._box, self.open = box, True

    def __enter__(self) -> DeltaGenerator:
        self._box.__enter__()
        return self._box

    def __exit__(self, *error: object) -> object:
        return self._box.__exit__(*error)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> object:
        return getattr(self._box, name)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Every download of the pages that are shown, by the name of its file; all boxes are open."""
    files: dict[str, bytes] = {}

    def download(_: str, data: Any, file_name: str, *__: object, **___: object) -> bool:  # noqa: ANN401
        content = data() if callable(data) else data
        files[file_name] = content.encode() if isinstance(content, str) else content
        return False

    def opened(real: Callable[..., DeltaGenerator]) -> Callable[..., _Open]:
        return lambda *_, **__: _Open(real())

    monkeypatch.setattr(st, "download_button", download)
    monkeypatch.setattr(DeltaGenerator, "download_button", lambda _, *a, **k: download(*a, **k))
    for name in ("popover", "expander"):
        monkeypatch.setattr(st, name, opened(st.container))
        monkeypatch.setattr(DeltaGenerator, name, lambda self, *_, **__: _Open(self.container()))
    monkeypatch.setattr(permission, "is_own_page", lambda _: True)
    return files


@pytest.fixture
def sets(server: Path) -> Path:
    """The server with a second restricted set, and a view that somebody of the team has saved."""
    place = server / "results" / OTHER
    set_access(place, Access())
    commit_runs(
        place, [row(model="OtherNet", dataset="CIFAR-10", result_set=OTHER, global_batch_size=b,
                    samples_per_epoch=50_000, later_epoch_mean_s=9.0, first_epoch_s=10.0,
                    pre_train_s=1.0, epochs_measured=20) for b in (32, 64)],
    )  # fmt: skip
    view = View(
        name="Quokka offer", page="how-long", parameters={"workload": ["quokkanet-cifar-10"]},
        saved_at="2026-11-26T00:00:00Z",
    )  # fmt: skip
    views.save(layers.prepare(server / "saved", [SLUG]) / "views", view)
    return server


def _texts(name: str, data: bytes) -> Iterator[str]:
    """All that a file says, packed files in them included."""
    yield name
    if name.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for member in archive.namelist():
                yield from _texts(member, archive.read(member))
    elif name.endswith(".parquet"):
        yield str(pq.read_table(io.BytesIO(data)).to_pylist())
    else:
        yield data.decode("utf-8", "replace")


def _marks(text: str) -> list[str]:
    """What of the hidden set a text holds; the name that the link itself has is none of it."""
    return leaks(re.sub(r"quokkanet\W*cifar\W*10", "", text))


def _said(shown: AppTest) -> list[str]:
    """What of the hidden set a page sends to the browser."""
    return _marks(everything(shown))


def _found(files: dict[str, bytes]) -> dict[str, list[str]]:
    """What of the hidden set each file holds."""
    texts = {name: "\n".join(_texts(name, data)) for name, data in files.items()}
    return {name: found for name, text in texts.items() if (found := _marks(text))}


def _visited(page: str, **link: str) -> AppTest:
    """A page by a link that names what is hidden; on Results with every set's downloads."""
    shown = show(page, **QUESTION.get(page, {}), **link)
    if page == "results":
        for choice in shown.selectbox(key="results.export").options:
            shown.selectbox(key="results.export").set_value(choice)
            shown.run()
    return shown


@pytest.mark.parametrize(
    "kind", ["anonymous", "viewer", "contributor"] if FULL else ["contributor"]
)
def test_no_download_of_a_page_holds_a_hidden_set(
    sets: Path, monkeypatch: pytest.MonkeyPatch, made: dict[str, bytes], kind: str
) -> None:
    """A contributor has the most boxes; the others are asked in `make faults`."""
    signed_in(monkeypatch, kind)
    for page in PAGES:
        assert _said(_visited(page)) == [], page
        assert _found(made) == {}
        made.clear()


KINDS: Final = {
    "results": {"epochwise-runs.csv", "epochwise-runs.parquet", f"epochwise-{SLUG}.zip",
                f"epochwise-{SLUG}-mllog.zip"},
    "how-long": {"epochwise-how-long.html", "epochwise-how-long.csv"},
    "throughput": {"epochwise-throughput.html"},
    "compare": {"epochwise-compare.html"},
    "explore": {"quokka-offer.json"},
}  # fmt: skip
"""Downloads of an administrator that hold the set."""


def test_the_same_downloads_of_an_administrator_hold_it(
    sets: Path, monkeypatch: pytest.MonkeyPatch, made: dict[str, bytes]
) -> None:
    signed_in(monkeypatch, "admin")
    offer = View(name="Quokka offer", page="", parameters={}, saved_at="").id
    for address, kinds in KINDS.items():
        made.clear()
        link = {"explore": {"saved": offer}, "how-long": {"tab": "table"}}.get(address, {})
        _visited(address, **link)
        assert kinds <= {re.sub(r"~\w+", "", name) for name in _found(made)}


def test_the_link_of_another_set_opens_that_set_only(
    sets: Path, monkeypatch: pytest.MonkeyPatch, made: dict[str, bytes]
) -> None:
    """Pages without a result of their own are asked in `make faults`."""
    signed_in(monkeypatch, "anonymous")
    secret = SHARES.create(SHARES.folder(sets / "state"), slug=OTHER)
    for address in PAGES if FULL else ("", *QUESTION, "results"):
        shown = _visited(address, share=secret)
        assert _said(shown) == [], address
        assert _found(made) == {}
        made.clear()
        if address == "results":
            assert "OtherNet" in everything(shown)


def test_what_an_administrator_has_drawn_is_not_kept_for_the_next_visitor(
    sets: Path, monkeypatch: pytest.MonkeyPatch, made: dict[str, bytes]
) -> None:
    for page in ("results", "how-long", "throughput", "explore", "") if FULL else ("results",):
        for kind, sees in (("admin", True), ("anonymous", False), ("admin", True)):
            signed_in(monkeypatch, kind)
            made.clear()
            assert bool(_said(_visited(page))) is sees, (page, kind)
            assert bool(_found(made)) is (sees and page != "")


def test_a_set_that_becomes_private_is_in_no_download_of_a_session_that_is_open(
    sets: Path, monkeypatch: pytest.MonkeyPatch, made: dict[str, bytes]
) -> None:
    set_access(sets / "results" / SLUG, None)
    signed_in(monkeypatch, "anonymous")
    shown = _visited("results")
    assert _found(made)
    set_access(sets / "results" / SLUG, Access())
    made.clear()
    assert _said(shown.run()) == []
    assert _found(made) == {}


def test_what_was_drawn_before_a_right_was_lost_is_neither_downloaded_nor_saved(
    sets: Path, monkeypatch: pytest.MonkeyPatch, made: dict[str, bytes]
) -> None:
    """A download is made at its click: in another thread, without the session of the page."""
    clicks: dict[str, Callable[[], bytes]] = {}
    for place in (st, DeltaGenerator):
        monkeypatch.setattr(place, "download_button", _kept_for_later(clicks))
    secret = SHARES.create(SHARES.folder(sets / "state"), slug=SLUG)
    signed_in(monkeypatch, "anonymous")
    _visited("results", share=secret)
    assert f"epochwise-{SLUG}.zip" in clicks
    later = {name: make for name, make in clicks.items() if _clicked(make)}
    [share] = SHARES.all(SHARES.folder(sets / "state"))
    SHARES.revoke(SHARES.folder(sets / "state"), share.id)
    assert [name for name, make in later.items() if _clicked(make)] == []
    saved: list[Callable[[], bool]] = []
    monkeypatch.setattr("pages.common.saving._save", lambda *_: saved.append(_[-1]))
    signed_in(monkeypatch, "contributor", groups=["lab", TEAM])
    shown = show("how-long", workload="quokkanet-cifar-10")
    shown.button(key="how-long.save-view.now").click().run()
    assert [still() for still in saved] == [True]
    set_access(sets / "results" / SLUG, Access(groups=frozenset({"another-team"})))
    assert [still() for still in saved] == [False]


@pytest.mark.parametrize("owner", [True, False])
def test_a_plan_is_made_from_the_sets_that_the_visitor_sees(
    alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, owner: bool
) -> None:
    """`EPOCHWISE_MEASURE=on` lets every visitor plan a sweep whose own set may be private."""
    monkeypatch.setenv("EPOCHWISE_MEASURE", "on")
    monkeypatch.setenv("EPOCHWISE_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(identity, "_is_owner", lambda _: owner)
    command = ("-m", "runners", "plan", "quick", "--json", "--results", str(alone))
    done = subprocess.run([sys.executable, *command], check=True, capture_output=True)
    empty = json.loads(done.stdout)
    place = alone / empty["result_set"]
    set_access(place, Access())
    commit_runs(
        place, [row(result_set=place.name, system_name=empty["system"], total_s=36_000.0,
                    repeat=n, extra=json.dumps({"case_id": run["case_id"]}))
                for n, run in enumerate(empty["runs"][1:])],
    )  # fmt: skip
    shown = show("measure", sweep="quick")
    said = everything(shown)
    assert f"{empty['title']}: " in said
    assert [mark in said for mark in ("11 of 12 are measured", "about 10 h")] == [owner, owner]
    launched: list[list[str]] = []
    monkeypatch.setattr(sweeps, "launch", lambda *words: launched.append(words[2]))
    shown.button(key="measure.start").click().run()
    [words] = launched
    assert words[words.index("--yes") + 1] == ("--results" if owner else "--without")


def _kept_for_later(clicks: dict[str, Callable[[], bytes]]) -> Callable[..., bool]:
    def button(*arguments: Any, **named: Any) -> bool:  # noqa: ANN401 - as Streamlit's
        data = named.get("data")
        if callable(data):
            clicks[named["file_name"]] = data
        return False

    return button


def _clicked(make: Callable[[], bytes]) -> bool:
    """Whether a click makes the file now."""
    with ThreadPoolExecutor(1) as another:
        try:
            return bool(another.submit(make).result())
        except PermissionError:
            return False
