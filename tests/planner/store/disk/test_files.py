"""Files replaced whole: a reader never sees half of one."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from planner.store.disk.files import write_once, write_whole


@pytest.mark.parametrize("content", ["", "one line", "二行\n", b"\x00\xff"])
def test_what_is_written_is_what_is_there(tmp_path: Path, content: bytes | str) -> None:
    path = tmp_path / "new" / "folder" / "file"
    write_whole(path, content)
    assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)


def test_nothing_else_is_left_behind(tmp_path: Path) -> None:
    for n in range(3):
        write_whole(tmp_path / "file", f"{n}")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_reader_sees_the_old_or_the_new_never_a_part(tmp_path: Path) -> None:
    path, texts = tmp_path / "file", {c * 50_000 for c in "ab"}
    write_whole(path, "a" * 50_000)
    done = threading.Event()
    seen: set[str] = set()

    def read() -> None:
        while not done.is_set():
            seen.add(path.read_text(encoding="utf-8"))

    reader = threading.Thread(target=read)
    reader.start()
    for text in sorted(texts) * 50:
        write_whole(path, text)
    done.set()
    reader.join()
    assert seen <= texts


def test_where_the_disk_refuses_the_old_stays_and_nothing_lies_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    write_whole(path, "old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, "new")
    assert path.read_text(encoding="utf-8") == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_what_is_there_already_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert write_once(path, "first")
    assert not write_once(path, "second")
    assert path.read_text(encoding="utf-8") == "first"
