"""Saved views: files that outlive the server, hostile names and damaged files refused in words."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.store.disk import views
from planner.store.disk.views import NameTakenError, View, ViewError, read_all
from tests.shipped import ROOT

ONE = View(
    name="Fleet 2027, three servers",
    page="compare",
    parameters={"deadline": ["72"], "options": ["rent-a", "buy-b"], "sql": ["SELECT 1,\n2"]},
    note="for the talk on Monday",
    saved_at="2026-11-25T10:00:00Z",
)
HOSTILE = (
    "../../etc/passwd", "a/b", "a\\b", "..", ".hidden", "x.json", "%2e%2e%2f", "CON", "name#1",
    "ＡＢＣ", "日本語", "<img src=x onerror=alert(1)>", "![x](http://h/x.png)",
    "'; DROP TABLE runs", "$(rm -rf /)", "-rf", "~", "*", "a" * 60,
)  # fmt: skip


def _names(folder: Path) -> list[str]:
    return [view.name for view in read_all(folder).views]


def test_a_view_is_read_as_it_was_saved(tmp_path: Path) -> None:
    views.save(tmp_path / "new" / "views", ONE)
    [found] = read_all(tmp_path / "new" / "views").views
    assert replace(found, file="") == ONE
    assert found.id == ONE.id


def test_another_process_finds_it(tmp_path: Path) -> None:
    views.save(tmp_path, ONE)
    code = (
        "import sys; from pathlib import Path; from planner.store.disk.views import read_all; "
        "print(read_all(Path(sys.argv[1])).views[0].note)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.stdout.strip() == ONE.note


def test_a_name_is_taken_once_and_replaced_only_on_request(tmp_path: Path) -> None:
    views.save(tmp_path, ONE)
    with pytest.raises(NameTakenError, match="exists"):
        views.save(tmp_path, replace(ONE, note="other"))
    views.save(tmp_path, replace(ONE, note="other"), replaces=True)
    assert [v.note for v in read_all(tmp_path).views] == ["other"]


def test_of_many_that_save_one_name_at_once_one_wins(tmp_path: Path) -> None:
    def save(n: int) -> bool:
        try:
            views.save(tmp_path, replace(ONE, note=f"{n}"))
        except NameTakenError:
            return False
        return True

    with ThreadPoolExecutor(8) as people:
        assert sum(people.map(save, range(40))) == 1
    assert len(list(tmp_path.iterdir())) == 1


def test_the_newest_stands_first(tmp_path: Path) -> None:
    for month in (3, 11, 7):
        views.save(
            tmp_path, replace(ONE, name=f"{month}", saved_at=f"2026-{month:02}-01T00:00:00Z")
        )
    assert _names(tmp_path) == ["11", "7", "3"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_kept_as_text_and_writes_nowhere_else(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "a" / "views"
    views.save(folder, replace(ONE, name=name))
    assert _names(folder) == [name]
    [file] = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert file.parent == folder
    assert file.name.isascii()


@given(st.text(min_size=1, max_size=60))
def test_any_name_is_saved_or_refused_in_words(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    folder = tmp_path_factory.mktemp("views")
    if name.isprintable() and name.strip():
        views.save(folder, replace(ONE, name=name))
        assert _names(folder) == [name]
    else:
        with pytest.raises(ViewError, match="name"):
            views.save(folder, replace(ONE, name=name))


def test_different_names_never_share_a_file(tmp_path: Path) -> None:
    for name in ("a b", "a-b", "A B", "a_b"):
        views.save(tmp_path, replace(ONE, name=name))
    assert sorted(_names(tmp_path)) == ["A B", "a b", "a-b", "a_b"]


def test_a_view_gets_another_name_and_note(tmp_path: Path) -> None:
    views.save(tmp_path, ONE)
    after = views.rename(tmp_path, ONE.id, "Fleet 2028", "later")
    assert [(v.name, v.note, v.id) for v in read_all(tmp_path).views] == [
        ("Fleet 2028", "later", after.id)
    ]
    views.rename(tmp_path, after.id, "Fleet 2028", "only the note")
    assert [v.note for v in read_all(tmp_path).views] == ["only the note"]


def test_a_new_name_never_replaces_another_view(tmp_path: Path) -> None:
    views.save(tmp_path, ONE)
    views.save(tmp_path, replace(ONE, name="other"))
    with pytest.raises(NameTakenError):
        views.rename(tmp_path, ONE.id, "other", "")
    assert len(_names(tmp_path)) == 2


def test_a_removed_view_can_be_restored(tmp_path: Path) -> None:
    views.save(tmp_path, ONE)
    views.remove(tmp_path, ONE.id)
    now = read_all(tmp_path)
    assert (now.views, [v.name for v in now.removed]) == ((), [ONE.name])
    views.restore(tmp_path, ONE.id)
    assert _names(tmp_path) == [ONE.name]
    assert read_all(tmp_path).removed == ()


def test_restoring_never_replaces_a_newer_view(tmp_path: Path) -> None:
    views.save(tmp_path, ONE)
    views.remove(tmp_path, ONE.id)
    views.save(tmp_path, replace(ONE, note="new"))
    with pytest.raises(NameTakenError):
        views.restore(tmp_path, ONE.id)
    assert [v.note for v in read_all(tmp_path).views] == ["new"]


@pytest.mark.parametrize("which", ["../secret", "/etc/passwd", "", "nothing", ".", "x" * 5000])
@pytest.mark.parametrize(
    "act",
    [views.remove, views.restore, lambda folder, which: views.rename(folder, which, "a", "")],
)
def test_no_path_is_taken_for_a_view(
    tmp_path: Path, which: str, act: Callable[[Path, str], object]
) -> None:
    (tmp_path / "secret.json").write_text("{}", encoding="utf-8")
    (tmp_path / "in").mkdir()
    with pytest.raises(ViewError, match="No "):
        act(tmp_path / "in", which)
    assert (tmp_path / "secret.json").exists()


def _file(**changes: object) -> bytes:
    body = {
        "name": "a", "page": "compare", "parameters": {}, "note": "",
        "saved_at": "2026-11-25T10:00:00Z",
    } | changes  # fmt: skip
    return json.dumps({"form": views.FORM, "views": [body]}).encode()


DAMAGED = {
    "nothing": b"",
    "half a file": _file()[:40],
    "no JSON": b"\x89PNG\r\n",
    "no UTF-8": b"\xff\xfe{}",
    "a deep nest": b"[" * 100_000,
    "a list": b"[]",
    "no form": b"{}",
    "another form": b'{"form": "epochwise views 9", "views": []}',
    "no views": json.dumps({"form": views.FORM, "views": []}).encode(),
    "many views": json.dumps({"form": views.FORM, "views": [{}] * 501}).encode(),
    "a number": json.dumps({"form": views.FORM, "views": [7]}).encode(),
    "NaN": _file(note=float("nan")),
    "no name": _file(name=" "),
    "a long name": _file(name="x" * 61),
    "a name of two lines": _file(name="a\nb"),
    "half a character": _file(name="\ud800"),
    "half a character in a value": _file(parameters={"a": ["\udc00"]}),
    "a page elsewhere": _file(page="https://evil.example/"),
    "a page by dots": _file(page="../secret"),
    "no date": _file(saved_at="yesterday"),
    "a long note": _file(note="x" * 301),
    "a question of numbers": _file(parameters={"a": [1]}),
    "a question of texts": _file(parameters={"a": "b"}),
    "a huge value": _file(parameters={"a": ["x" * 5000]}),
    "many values": _file(parameters={"a": ["x"] * 61}),
    "many parameters": _file(parameters={f"a{n}": [] for n in range(81)}),
    "a strange parameter": _file(parameters={"a&b": ["x"]}),
    "a large file": b" " * 1_000_001,
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_file_is_reported_and_harms_no_other(tmp_path: Path, data: bytes) -> None:
    views.save(tmp_path, ONE)
    (tmp_path / "bad.json").write_bytes(data)
    now = read_all(tmp_path)
    assert [v.name for v in now.views] == [ONE.name]
    [problem] = now.problems
    assert problem.startswith("The saved view 'bad' ")
    with pytest.raises(ViewError, match=r"^The file "):
        views.views_of(data)


def test_a_file_cut_at_any_byte_is_reported(tmp_path: Path) -> None:
    views.save(tmp_path, ONE)
    [path] = tmp_path.iterdir()
    whole = path.read_bytes()
    for size in range(0, len(whole) - 2, 7):
        path.write_bytes(whole[:size])
        assert (read_all(tmp_path).views, len(read_all(tmp_path).problems)) == ((), 1)


def test_folders_pipes_and_links_are_reported(tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "link.json").symlink_to("/etc/passwd")
    (tmp_path / "loop.json").symlink_to("loop.json")
    assert len(read_all(tmp_path).problems) == 4


def test_a_file_with_the_name_of_another_is_reported(tmp_path: Path) -> None:
    views.save(tmp_path, ONE)
    [path] = tmp_path.iterdir()
    path.rename(tmp_path / "other~000000.json")
    assert "name of another view" in read_all(tmp_path).problems[0]


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ViewError, match=r"Make room or set EPOCHWISE_SAVED"):
        views.save(tmp_path / "file" / "views", ONE)
    assert read_all(tmp_path / "file" / "views") == views.Views()


def test_too_many_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "MOST_VIEWS", 2)
    for name in ("a", "b"):
        views.save(tmp_path, replace(ONE, name=name))
    with pytest.raises(ViewError, match="Remove one first"):
        views.save(tmp_path, replace(ONE, name="c"))
    views.save(tmp_path, replace(ONE, name="b", note="new"), replaces=True)


def test_views_travel_as_one_file(tmp_path: Path) -> None:
    two = [ONE, replace(ONE, name="two", page="explore")]
    data = views.file_of(two).encode()
    assert [replace(v, file="") for v in views.views_of(data)] == [
        replace(v, parameters={n: list(x) for n, x in v.parameters.items()}) for v in two
    ]


def test_unfinished_files_of_a_killed_writer_are_no_views(tmp_path: Path) -> None:
    (tmp_path / f".{ONE.id}.json.123.abc.tmp").write_bytes(_file())
    (tmp_path / f".{ONE.id}.json").write_bytes(_file())
    assert read_all(tmp_path) == views.Views()


def test_the_folder_is_beside_the_saved_comparisons(tmp_path: Path) -> None:
    assert views.views_folder(tmp_path, {}) == tmp_path / "saved" / "views"
    assert views.views_folder(tmp_path, {"EPOCHWISE_SAVED": "/srv/s"}) == Path("/srv/s/views")


def test_the_stamp_changes_with_the_views(tmp_path: Path) -> None:
    before = views.stamp(tmp_path)
    views.save(tmp_path, ONE)
    between = views.stamp(tmp_path)
    views.remove(tmp_path, ONE.id)
    assert len({before, between, views.stamp(tmp_path)}) == 3
    assert views.stamp(tmp_path / "nowhere") == ()
