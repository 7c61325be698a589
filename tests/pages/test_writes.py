"""Every function behind a button that changes something, as every kind of visitor.

Each asks for the role again when it is called, whatever the page has drawn: a browser may send the
click of a button that was drawn for somebody else.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, Final, cast

import pytest

from pages.add_results import access, question, sets, terms
from pages.add_results.question import AddedFiles, TargetSet
from pages.common import saving
from pages.common.kept import ROOT, store
from pages.common.link import Link
from pages.compare import catalog, saved
from pages.compare.state import CompareReply
from pages.measure import measuring
from pages.measure.measuring import NotDoneError, SweepPlan
from pages.visitor import identity, permission
from pages.visitor.permission import NEEDED, Action
from planner.answers.comparison._snapshot import Snapshot
from planner.catalog import Catalog, Offer
from planner.importers import SOURCES, SourceFiles, Stated
from planner.people import RANK
from planner.store import catalog as rows_on_disk
from planner.store.disk import sweeps, views
from planner.store.disk.access import Access, set_access
from planner.store.disk.audit import AuditEntry, audit_folder, entries
from planner.store.disk.secrets import SHARES
from planner.store.disk.views import View
from planner.store.sealed.result_set import withdraw
from planner.store.visibility import access_from, access_of, change
from tests.pages.test_access import CLAIMS, server, signed_in
from tests.store.restricted import SLUG

__all__ = ["server"]
CSV: Final = b"model,system_name,device_kind,global_batch_size,step_s\nViT-B,H100,gpu,256,0.125\n"
OFFER: Final = Offer(
    provider="Mine", region="any", instance="box", accelerator="h100", accelerators=1,
    terms="on demand", price_per_hour=2.5, currency="USD", as_of=date(2026, 11, 1),
    source_url="https://example.org",
)  # fmt: skip
PLAN: Final = SweepPlan(name="quick", title="Quick", result_set="quick", planned=1)


class _Link:
    """A link whose changes nobody looks at."""

    def __getattr__(self, _: str) -> Callable[..., None]:
        return lambda *_, **__: None


LINK: Final = cast("Link", _Link())


@dataclass(frozen=True, slots=True)
class Write:
    """A function behind a button: what it needs, and what must be there before."""

    action: Action
    do: Callable[[Path], object]
    prepare: Callable[[Path], object] = lambda _: None


def _own(place: Path) -> Path:
    return place / "results"


def _add(place: Path, slug: str = "mine", *, is_new: bool = True) -> None:
    asked = AddedFiles(
        source=SOURCES["template"], files=SourceFiles(name="t.csv", data={"t.csv": CSV}),
        stated=Stated(), problems=(), key=("t", slug),
    )  # fmt: skip
    about = {"title": "Mine", "licence": "CC0", "citation": "Me"}
    terms._added(_own(place), asked, TargetSet(name="Mine", slug=slug, is_new=is_new, about=about))


def _view(name: str) -> View:
    return View(name=name, page="how-long", parameters={}, saved_at="2026-11-26T00:00:00Z")


def _save_view(_: Path) -> None:
    import streamlit as st

    st.session_state["n"], st.session_state["t"] = "Offer", ""
    saving._save("how-long", {}, "n", "t", lambda: True)


def _save_comparison(_: Path) -> None:
    import streamlit as st

    st.session_state["compare.save.name"] = "Offer"
    saved._save(LINK, cast("CompareReply", _Reply()), {"workload": ["x"]}, lambda: True)


class _Reply:
    """As much of an answer as saving one looks at."""

    def __getattr__(self, _: str) -> Any:  # noqa: ANN401 - parts of it are alike
        return _Reply()


def _saved_comparison(place: Path) -> None:
    (place / "saved").mkdir(parents=True, exist_ok=True)
    (place / "saved" / "offer.json").write_text("{}")


def _add_rows(_: Path) -> None:
    catalog._add(Catalog(offers=(OFFER,)))


def _remove_rows(_: Path) -> None:
    import streamlit as st

    st.session_state["compare.rows.gone"] = [("prices", OFFER.id)]
    catalog._remove()


def _with_a_row(place: Path) -> None:
    rows_on_disk.add_rows(place / "catalog", Catalog(offers=(OFFER,)))


def _with_a_view(place: Path) -> None:
    views.save(place / "saved" / "views", _view("Offer"))


def _with_a_removed_view(place: Path) -> None:
    _with_a_view(place)
    views.remove(place / "saved" / "views", _view("Offer").id)


def _with_a_sweep(place: Path) -> None:
    status = replace(measuring._waiting("quick-1", PLAN), phase="finished", command="run")
    sweeps.write_status(place / "state", status)


def _act_on_views(place: Path, what: Callable[[Path], object]) -> None:
    def done() -> str:
        what(place / "saved" / "views")
        return "done"

    saving.act(done, "Offer")


WRITES: Final[Mapping[str, Write]] = {
    "add results": Write(Action.ADD, _add),
    "withdraw a set": Write(Action.WITHDRAW, lambda p: sets._withdraw(_own(p), "open-set")),
    "restore a set": Write(
        Action.WITHDRAW, lambda p: sets._restore(_own(p), "open-set"),
        lambda p: withdraw(_own(p) / "open-set", "x", "2026-11-26"),
    ),
    "save a view": Write(Action.SAVE, _save_view),
    "rename a view": Write(
        Action.SAVE,
        lambda p: _act_on_views(p, lambda f: views.rename(f, _view("Offer").id, "New", "")),
        _with_a_view,
    ),
    "remove a view": Write(
        Action.SAVE,
        lambda p: _act_on_views(p, lambda f: views.remove(f, _view("Offer").id)),
        _with_a_view,
    ),
    "restore a view": Write(
        Action.SAVE, lambda p: _act_on_views(p, lambda f: views.restore(f, _view("Offer").id)),
        _with_a_removed_view,
    ),
    "save a comparison": Write(Action.SAVE, _save_comparison),
    "remove a comparison": Write(
        Action.SAVE, lambda _: saved._remove(LINK, "offer"), _saved_comparison
    ),
    "add rows of the catalogue": Write(Action.CATALOG, _add_rows),
    "remove rows of the catalogue": Write(Action.CATALOG, _remove_rows, _with_a_row),
    "start a sweep": Write(Action.MEASURE, lambda _: measuring.start(PLAN)),
    "time a sweep's steps": Write(
        Action.MEASURE,
        lambda _: measuring.probe(measuring.question_of("quick", store(), None)),
    ),
    "repeat a sweep": Write(Action.MEASURE, lambda _: measuring.repeat("quick-1"), _with_a_sweep),
    "resume a sweep": Write(Action.MEASURE, lambda _: measuring.resume("quick-1"), _with_a_sweep),
    "stop a sweep": Write(Action.MEASURE, lambda _: measuring.stop("quick-1"), _with_a_sweep),
    "remove a sweep": Write(Action.MEASURE, lambda _: measuring.forget("quick-1"), _with_a_sweep),
    "restrict a set": Write(
        Action.ACCESS, lambda _: access._save(store(), "open-set", "groups", "a", None)
    ),
    "open a set": Write(
        Action.ACCESS, lambda _: access._save(store(), SLUG, "everyone", "", None)
    ),
    "make a share link": Write(Action.ACCESS, lambda _: access._share(store(), SLUG, 1.0)),
    "revoke a share link": Write(
        Action.ACCESS,
        lambda p: access._unshare(SHARES.all(SHARES.folder(p / "state"))[0].id),
        lambda p: SHARES.create(SHARES.folder(p / "state"), slug=SLUG),
    ),
}  # fmt: skip


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Processes that were started, by their first words; none is."""
    seen: list[str] = []

    def launch(*_: object) -> None:
        seen.append("a sweep")

    def answer(*_: object) -> dict[str, Any]:
        seen.append("a question")
        return {"name": "quick", "planned": 1}

    def stop(_: object) -> bool:
        seen.append("a signal")
        return True

    monkeypatch.setattr(sweeps, "launch", launch)
    monkeypatch.setattr(measuring, "_answer", answer)
    monkeypatch.setattr(
        measuring, "shipped", lambda: [measuring.Shipped(name="quick", title="", about="")]
    )
    monkeypatch.setattr(sweeps, "ask_to_stop", stop)
    nothing = Snapshot(rows=(), runs=())
    monkeypatch.setattr("pages.compare.saved.snapshot_of", lambda *_: nothing)
    return seen


def _state(place: Path) -> dict[str, bytes]:
    audit = place / "state" / "audit"
    return {
        str(p.relative_to(place)): p.read_bytes()
        for p in place.rglob("*")
        if p.is_file() and audit not in p.parents and p.name != "roles.toml"
    }


@pytest.mark.parametrize("kind", CLAIMS)
@pytest.mark.parametrize("name", WRITES)
def test_a_write_is_done_for_the_roles_of_the_table_and_nobody_else(
    server: Path, monkeypatch: pytest.MonkeyPatch, started: list[str], name: str, kind: str
) -> None:
    write = WRITES[name]
    monkeypatch.setattr(permission, "is_own_page", lambda _: True)
    write.prepare(server)
    who = signed_in(monkeypatch, kind)
    may = who.signed_in and RANK[who.role] >= RANK[NEEDED[write.action]]
    before = _state(server)
    refuses = write.action is Action.MEASURE and not may
    with pytest.raises(NotDoneError) if refuses else contextlib.nullcontext():
        write.do(server)
    changed = _state(server) != before or bool(started)
    assert changed is may
    log = [e for e in entries(audit_folder(server / "state")) if isinstance(e, AuditEntry)]
    assert [(e.who, e.what, e.allowed) for e in log][-1:] == [
        (who.name or "not signed in", write.action.value, may)
    ]


WRITERS: Final = frozenset(
    {
        "commit", "withdraw", "restore", "save", "rename", "remove", "add_rows", "remove_rows",
        "change", "launch", "ask_to_stop", "remove_status",
        "set_access", "create", "revoke", "write_whole", "write_new", "prepare",
    }
)  # fmt: skip
"""Functions of the store that write."""
FROM: Final = ("planner.store", "planner.answers.saved", "planner.importers")


def _written_in(path: Path) -> list[str]:
    """The writers of the store that a module of the pages names."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules: set[str] = set()
    direct: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                if whole.startswith(FROM) and alias.name in WRITERS:
                    direct.add(alias.asname or alias.name)
                elif whole.startswith(FROM) or alias.name == "saved":
                    modules.add(alias.asname or alias.name)
    calls = [n.func for n in ast.walk(tree) if isinstance(n, ast.Call)]
    named = [f.id for f in calls if isinstance(f, ast.Name) and f.id in direct]
    named += [
        f"{f.value.id}.{f.attr}"
        for f in calls
        if isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name)
        and f.value.id in modules and f.attr in WRITERS
    ]  # fmt: skip
    return sorted(set(named))


def test_the_table_above_has_every_module_of_the_pages_that_writes() -> None:
    found = {
        str(path.relative_to(ROOT / "pages")): names
        for path in sorted((ROOT / "pages").rglob("*.py"))
        if (names := _written_in(path))
    }
    assert found == {
        "add_results/access.py": ["SHARES.create", "SHARES.revoke", "change"],
        "add_results/sets.py": ["restore", "withdraw"],
        "add_results/terms.py": ["commit"],
        "common/saving.py": ["stored.prepare", "views.save"],
        "compare/catalog.py": ["rows_on_disk.add_rows", "rows_on_disk.remove_rows"],
        "compare/saved.py": ["saved.remove", "saved.save"],
        "explore/views.py": ["views.remove", "views.rename", "views.restore", "views.save"],
        "measure/measuring.py": ["sweeps.ask_to_stop", "sweeps.launch", "sweeps.remove_status"],
    }


# -- sets that changed after the page was drawn ----------------------------------------------------


@pytest.mark.parametrize("is_new", [True, False])
def test_a_contributor_adds_nothing_to_a_set_that_is_hidden_by_now(
    server: Path, monkeypatch: pytest.MonkeyPatch, *, is_new: bool
) -> None:
    monkeypatch.setattr(permission, "is_own_page", lambda _: True)
    signed_in(monkeypatch, "contributor")
    before = _state(server)
    _add(server, SLUG, is_new=is_new)
    assert _state(server) == before


def test_a_name_that_is_hidden_in_a_further_folder_is_taken(
    server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The set would be hidden as well; one that was shown would open the views of the other."""
    further = server / "further"
    monkeypatch.setenv("EPOCHWISE_FURTHER_RESULTS", str(further))
    monkeypatch.setattr(permission, "is_own_page", lambda _: True)
    signed_in(monkeypatch, "contributor")
    set_access(further / "theirs", Access())
    before = _state(server)
    _add(server, "theirs")
    assert _state(server) == before
    set_access(further / "theirs", None)
    _add(server, "theirs")
    assert len(_state(server)) > len(before)


def test_a_preview_of_a_new_name_looks_at_no_set_of_that_name(
    server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed_in(monkeypatch, "contributor")
    shared, looked = store(), list[Path]()
    monkeypatch.setattr(question, "preview", lambda place, *_: looked.append(place))
    asked = AddedFiles(
        source=SOURCES["template"], files=SourceFiles(name="t.csv", data={"t.csv": CSV}),
        stated=Stated(), problems=(), key=("preview", SLUG),
    )  # fmt: skip
    for is_new, slug in itertools.product((True, False), (SLUG, "open-set")):
        question.previewed(shared, asked, TargetSet(name="x", slug=slug, is_new=is_new, about={}))
    assert [p.name for p in looked] == [".new", ".new", SLUG, "open-set"]


def test_a_set_that_was_made_private_before_its_first_run_is_filled_by_its_group(
    server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(permission, "is_own_page", lambda _: True)
    place = _own(server) / "mine"
    change(store().folders, "mine", access_from("mine", ["lab"]))
    before = _state(server)
    who = signed_in(monkeypatch, "contributor")
    monkeypatch.setattr(identity, "viewer", lambda: identity._viewer(who, frozenset()))
    _add(server)
    assert len(_state(server)) > len(before)
    assert access_from("mine", ["lab"]) == access_of(place)
    change(store().folders, "next", access_from("next", ["other"]))
    after = _state(server)
    _add(server, "next")
    assert _state(server) == after
