"""The audit log keeps every entry as it was written, and says which one was changed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from planner.store.disk import layers
from planner.store.disk.audit import AuditEntry, AuditError, entries, record
from planner.store.disk.secrets import SHARES


def _record(folder: Path, about: str) -> AuditEntry:
    return record(folder, who="ana", role="admin", via="page", what="add results", about=about)


def test_many_writers_lose_no_entry_and_none_is_torn(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        written = list(pool.map(lambda n: _record(tmp_path, f"n {n}"), range(200)))
    read = list(entries(tmp_path))
    assert {e.id for e in written} == {e.id for e in read if isinstance(e, AuditEntry)}
    assert len(read) == 200
    assert list(tmp_path.rglob("*.tmp")) == []


def test_a_changed_or_cut_entry_is_named(tmp_path: Path) -> None:
    _record(tmp_path, "a")
    [path] = tmp_path.glob("*/*.json")
    whole = path.read_bytes()
    for damaged in (whole.replace(b"ana", b"bob"), whole[:-1], b""):
        path.write_bytes(damaged)
        assert list(entries(tmp_path)) == [f"{path.parent.name}/{path.name}"]
    path.write_bytes(whole)
    assert isinstance(next(entries(tmp_path)), AuditEntry)


def test_hostile_texts_stay_one_line_in_one_file(tmp_path: Path) -> None:
    entry = _record(tmp_path, "../../x\n\ud800\x00" + "y" * 5000)
    assert "\n" not in entry.about
    assert len(entry.about) == 300
    assert [p.parent.parent for p in tmp_path.rglob("*.json")] == [tmp_path]


def test_a_log_that_cannot_be_written_raises(tmp_path: Path) -> None:
    (tmp_path / "audit").write_text("no folder")
    with pytest.raises(AuditError, match="nothing is done"):
        _record(tmp_path / "audit", "a")


def test_a_share_ends_by_itself_and_only_its_hash_is_kept(tmp_path: Path) -> None:
    secret = SHARES.create(tmp_path, slug="mine", days=1.0)
    [share] = SHARES.all(tmp_path)
    assert SHARES.checked(tmp_path, secret) == share
    assert share.slug == "mine"
    assert SHARES.checked(tmp_path, secret, share.created_at + 86_400.0) is None
    assert SHARES.checked(tmp_path, secret[:-1]) is None
    assert SHARES.checked(tmp_path, f"es_{share.id}_{share.sha256[:43]}") is None
    assert secret[12:] not in (tmp_path / f"{share.id}.json").read_text()
    assert SHARES.revoke(tmp_path, share.id)
    assert SHARES.checked(tmp_path, secret) is None
    assert not SHARES.revoke(tmp_path, "../../x")


def test_what_is_saved_with_restricted_sets_is_read_by_those_who_see_all_of_them(
    tmp_path: Path,
) -> None:
    both = layers.prepare(tmp_path, ["a", "b"])
    assert layers.layers(tmp_path, [], ["open"]) == (tmp_path,)
    assert both not in layers.layers(tmp_path, ["a"], ["open", "a"])
    assert both in layers.layers(tmp_path, ["a", "b", "c"], ["open", "a", "b", "c"])
    (both / "sets.json").write_text("[]")
    assert both not in layers.layers(tmp_path, [], ["open", "a", "b", "c"])
