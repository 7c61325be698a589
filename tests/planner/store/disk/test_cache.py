from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from planner.store.disk.files import fill_folder

FILES = [("a/1.png", b"one"), ("b/2.png", b"two")]


def test_a_folder_is_made_once_with_all_its_files(tmp_path: Path) -> None:
    place = tmp_path / "cache" / "set"
    assert fill_folder(place, FILES, subfolders=["a", "b", "empty"])
    assert {p.relative_to(place).as_posix() for p in place.rglob("*")} == {
        "a", "b", "empty", "a/1.png", "b/2.png",
    }  # fmt: skip
    assert (place / "b" / "2.png").read_bytes() == b"two"


def test_a_folder_that_is_there_stays_and_its_files_are_not_asked(tmp_path: Path) -> None:
    fill_folder(tmp_path / "set", FILES, subfolders=["a", "b"])
    others = iter([("a/1.png", b"other")])
    assert not fill_folder(tmp_path / "set", others)
    assert list(others) == [("a/1.png", b"other")]
    assert (tmp_path / "set" / "a" / "1.png").read_bytes() == b"one"


def test_a_builder_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def breaks() -> Iterator[tuple[str, bytes]]:
        yield FILES[0]
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fill_folder(tmp_path / "set", breaks(), subfolders=["a"])
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_builder_left_is_gone_after_the_next(tmp_path: Path) -> None:
    left = tmp_path / ".set.partial" / "a"
    left.mkdir(parents=True)
    (left / "torn.png").write_bytes(b"ha")
    assert fill_folder(tmp_path / "set", FILES, subfolders=["a", "b"])
    assert [p.name for p in tmp_path.iterdir()] == ["set"]
    assert not (tmp_path / "set" / "a" / "torn.png").exists()
