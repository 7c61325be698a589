"""A restricted set is listed, loaded and named in no store of somebody who may not see it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from planner.store import Store, queries
from planner.store.disk.access import (
    ACCESS,
    EVERYONE,
    OWNER,
    Access,
    Viewer,
    read_access,
    set_access,
    stamp_of_text,
)
from planner.store.disk.folders import Folder
from tests.store.build import folder, ids
from tests.store.restricted import SLUG, TEAM, build, leaks

MEMBER = Viewer(groups=frozenset({TEAM}))
STRANGER = Viewer(groups=frozenset({"sales"}))
GUEST = Viewer(sets=frozenset({SLUG}))


def seen(results: Path, viewer: Viewer, now_s: float = 0.0) -> Store:
    store = Store([folder(results)], viewer=viewer, now_s=lambda: now_s)
    store.refresh()
    return store


@pytest.mark.parametrize("viewer", [EVERYONE, STRANGER])
def test_a_stranger_sees_neither_runs_nor_names_nor_refusals(
    tmp_path: Path, viewer: Viewer
) -> None:
    place = build(tmp_path)
    (place / "torn.parquet").write_bytes(b"PAR1")
    store = seen(tmp_path, viewer)
    assert len(ids(store)) == 4
    assert [s.slug for s in store.sets] == ["open-set"]
    assert store.refused == ()
    everything = repr([store.rows("SELECT * FROM runs"), store.sets, store.workloads])
    assert leaks(everything) == []


@pytest.mark.parametrize("viewer", [MEMBER, GUEST, OWNER])
def test_members_guests_and_the_owner_see_it_marked_as_private(
    tmp_path: Path, viewer: Viewer
) -> None:
    build(tmp_path)
    store = seen(tmp_path, viewer)
    assert len(ids(store)) == 8
    title = next(s.title for s in store.sets if s.slug == SLUG)
    assert title == "Secretariat numbers (private)"


def test_sets_of_one_name_in_several_folders_are_one(tmp_path: Path) -> None:
    """Who made an open set with the name of a hidden one would read the views saved from that."""
    build(tmp_path / "own")
    further = tmp_path / "further"
    further.mkdir()
    (tmp_path / "own" / "open-set").rename(further / SLUG)
    folders = [
        folder(tmp_path / "own"),
        Folder(path=further, label="further 1", kind="further"),
    ]

    def runs(viewer: Viewer, now_s: float = 0.0) -> int:
        store = Store(folders, viewer=viewer, now_s=lambda: now_s)
        store.refresh()
        return len(ids(store))

    assert [runs(v) for v in (EVERYONE, STRANGER, MEMBER, GUEST, OWNER)] == [0, 0, 8, 8, 8]
    set_access(further / SLUG, Access(groups=frozenset({"sales"}), until=1000.0))
    assert [runs(v) for v in (EVERYONE, STRANGER, MEMBER, OWNER)] == [0, 0, 0, 8]
    assert [runs(v, 1000.0) for v in (EVERYONE, STRANGER, MEMBER)] == [0, 0, 8]
    folders[1] = Folder(path=further, label="shipped", kind="shipped")
    set_access(further / SLUG, None)
    assert runs(EVERYONE) == 4, "a shipped set stays open"


def test_an_embargo_ends_by_itself_for_a_store_that_is_open(tmp_path: Path) -> None:
    build(tmp_path, Access(groups=frozenset({TEAM}), until=1000.0))
    clock = SimpleNamespace(now=999.0)
    stores = [
        Store([folder(tmp_path)], viewer=v, now_s=lambda: clock.now) for v in (EVERYONE, MEMBER)
    ]
    counts, titles = [], []
    for clock.now in (999.0, 1000.0):
        for store in stores:
            store.refresh()
        counts.append([len(ids(s)) for s in stores])
        titles.append(next(s.title for s in stores[1].sets if s.slug == SLUG))
    assert counts == [[4, 8], [8, 8]]
    assert titles == ["Secretariat numbers (embargo until 1970-01-01)", "Secretariat numbers"]


def test_restricting_a_set_hides_it_at_the_next_refresh(tmp_path: Path) -> None:
    place = build(tmp_path)
    set_access(place, None)
    store = seen(tmp_path, EVERYONE)
    assert len(ids(store)) == 8
    set_access(place, Access())
    store.refresh()
    assert len(ids(store)) == 4
    set_access(place, None)
    store.refresh()
    assert len(ids(store)) == 8


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"groups": "vision-team"}', '{"groups": [], "until": "soon"}',
             '{"groups": ["vision-team"], "more": 1}', '{"groups": [1]}', "\xff"]
)  # fmt: skip
def test_a_damaged_file_hides_its_set_from_all_but_the_owner(tmp_path: Path, text: str) -> None:
    place = build(tmp_path)
    (place / ACCESS).write_bytes(text.encode("latin-1"))
    assert [len(ids(seen(tmp_path, v))) for v in (EVERYONE, MEMBER, OWNER)] == [4, 4, 8]


def test_a_link_or_a_folder_instead_of_the_file_hides_the_set(tmp_path: Path) -> None:
    place = build(tmp_path)
    (place / ACCESS).rename(place / "elsewhere.json")
    (place / ACCESS).symlink_to(place / "elsewhere.json")
    assert [len(ids(seen(tmp_path, v))) for v in (MEMBER, OWNER)] == [4, 8]
    (place / ACCESS).unlink()
    (place / ACCESS).mkdir()
    assert [len(ids(seen(tmp_path, v))) for v in (MEMBER, OWNER)] == [4, 8]


def test_a_copy_in_a_restricted_set_never_shadows_a_run_that_everyone_sees(tmp_path: Path) -> None:
    place = build(tmp_path)
    for file in (tmp_path / "open-set").glob("*.parquet"):
        os.link(file, place / f"0{file.name}")
    assert len(ids(seen(tmp_path, EVERYONE))) == 4
    assert len(queries.workloads(seen(tmp_path, EVERYONE))) == 1


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    access = Access(groups=frozenset({"a", "ana@example.org"}), until=stamp_of_text("2027-01-31"))
    set_access(tmp_path / "s", access)
    assert read_access(tmp_path / "s") == access
    body = json.loads((tmp_path / "s" / ACCESS).read_text())
    assert body == {"groups": ["a", "ana@example.org"], "until": "2027-01-31T00:00:00Z"}
