"""Ids of sets: what a set that is gone had, a later one of its name does not get."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from pages.common import saving
from planner.__main__ import main
from planner.store import Store
from planner.store.disk import layers
from planner.store.disk.access import Access, Viewer, set_access
from planner.store.disk.secrets import SHARES
from planner.store.pushed import PushError, PushRequest, keep
from planner.store.sealed.result_set import NAME, ResultSet, new_set_text, read_set, set_text
from tests.store.build import folder, ids, row, rows

TEAM = Access(groups=frozenset({"team"}))


def _made(results: Path, *, old: bool = False, slug: str = "mine") -> ResultSet:
    """Make a set by a push; an old one as versions without ids made it."""
    keep(
        results, PushRequest(slug=slug, fields={"licence": "CC0", "source": "a lab"}, rows=(row(),))
    )
    if old:
        (results / slug / NAME).write_text(set_text({"title": slug, "licence": "a", "source": "b"}))
    made, problem = read_set(results / slug, "yours")
    assert problem is None
    assert bool(made.id) is not old
    return made


def _shown(results: Path, links: frozenset[str]) -> list[str]:
    store = Store([folder(results)], viewer=Viewer(sets=links))
    store.refresh()
    return [s.slug for s in store.sets]


def test_each_new_set_has_another_id(tmp_path: Path) -> None:
    made = set()
    for _ in range(3):
        made.add(_made(tmp_path).reference)
        shutil.rmtree(tmp_path / "mine")
    assert len(made) == 3


def _killed_before(write: int, results: Path, pushed: PushRequest) -> bool:
    """Push in a process that kills itself before that write; False if it ended before."""
    child = os.fork()
    if child == 0:
        left = [write]

        def counted(real: Callable[..., None]) -> Callable[..., None]:
            def wrote(*args: object, **kwargs: object) -> None:
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                left[0] -= 1
                real(*args, **kwargs)

            return wrote

        for name in ("mkdir", "fsync", "link", "unlink"):
            setattr(os, name, counted(getattr(os, name)))
        keep(results, pushed)
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def test_a_set_has_its_id_from_its_first_run_on_also_after_a_kill_at_any_write(
    tmp_path: Path,
) -> None:
    kills = 0
    for write in range(99):
        results = tmp_path / str(write)
        pushed = PushRequest(
            slug="mine", fields={"licence": "a", "source": "b"}, rows=tuple(rows(2))
        )
        killed = _killed_before(write, results, pushed)
        before, _ = read_set(results / "mine", "yours")
        assert before.id or not list((results / "mine").glob("[!.]*.parquet"))
        keep(results, pushed)  # the sender tries again
        after, problem = read_set(results / "mine", "yours")
        assert problem is None
        assert after.id
        assert before.id in {"", after.id}
        store = Store([folder(results)])
        store.refresh()
        assert len(ids(store)) == 2
        if not killed:
            break
        kills += 1
    assert kills > 8


def test_runs_that_are_refused_make_no_set(tmp_path: Path) -> None:
    wrong = PushRequest(slug="mine", fields={}, rows=(row(global_batch_size=-1),))
    with pytest.raises(PushError):
        keep(tmp_path, wrong)
    assert not (tmp_path / "mine").exists()


def test_an_id_that_is_none_is_named_and_not_used(tmp_path: Path) -> None:
    for wrong in ("../x", "", "A" * 32, "0" * 31):
        (tmp_path / NAME).write_text(set_text({"title": "a", "id": wrong}))
        made, problem = read_set(tmp_path, "yours")
        assert made.id == ""
        assert problem is not None
    fields = {"title": "a", "licence": "b", "source": "c", "id": "0" * 32}
    (tmp_path / NAME).write_text(new_set_text(fields))
    assert read_set(tmp_path, "yours")[0].id not in {"", "0" * 32}


@pytest.mark.parametrize("old", [False, True])
def test_views_of_a_set_that_is_gone_are_not_those_of_a_later_one(
    tmp_path: Path, *, old: bool
) -> None:
    first, base = _made(tmp_path / "results", old=old), tmp_path / "saved"
    place = layers.prepare(base, {first.reference})
    assert layers.layers(base, {first.reference}, {first.reference})[0] == place
    assert place in layers.layers(base, (), {first.reference, "other"})  # it was opened
    shutil.rmtree(tmp_path / "results")
    later = _made(tmp_path / "results")
    assert place not in layers.layers(base, (), {later.reference})
    assert place not in layers.layers(base, {later.reference}, {later.reference})


@pytest.mark.parametrize("old", [False, True])
def test_a_share_link_shows_no_later_set_of_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *,
    old: bool,
) -> None:  # fmt: skip
    results, links = tmp_path / "results", SHARES.folder(tmp_path / "state")
    monkeypatch.setenv("EPOCHWISE_RESULTS", str(results))
    monkeypatch.setenv("EPOCHWISE_STATE", str(tmp_path / "state"))
    _made(results, old=old)
    set_access(results / "mine", TEAM)
    if old:
        secret = SHARES.create(links, slug="mine")  # as versions without ids wrote it
    else:
        assert main(["set", "share", "mine"]) == 0
        secret = capsys.readouterr().out.strip().partition("share=")[2]
    share = SHARES.checked(links, secret)
    assert share is not None
    assert _shown(results, share.references) == ["mine"]
    shutil.rmtree(results)
    _made(results)
    set_access(results / "mine", TEAM)
    assert _shown(results, share.references) == []


def test_a_share_link_shows_no_other_set_of_the_name_in_a_further_folder(tmp_path: Path) -> None:
    first = _made(tmp_path / "one")
    _made(tmp_path / "two")
    set_access(tmp_path / "one" / "mine", TEAM)
    folders = [folder(tmp_path / "one"), folder(tmp_path / "two")]
    store = Store(folders, viewer=Viewer(sets=frozenset({first.reference})))
    store.refresh()
    assert store.sets == ()


@pytest.mark.parametrize("shown", ["an open shipped set", "the private set"])
def test_an_open_shipped_set_opens_no_view_of_a_private_one_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown: str
) -> None:
    private = replace(_made(tmp_path / "results", old=True), access="team")
    shipped = replace(private, folder="shipped", access="")
    seen = private if shown == "the private set" else shipped
    monkeypatch.setattr(saving, "store", lambda: SimpleNamespace(sets=(seen,)))
    base = tmp_path / "saved"
    monkeypatch.setenv("EPOCHWISE_SAVED", str(base))
    place = layers.prepare(base, {private.reference})
    assert (place in saving.layers()) is (shown == "the private set")
