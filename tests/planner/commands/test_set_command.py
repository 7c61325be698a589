"""`python -m planner set` and `audit`: who sees a set, links that share one, and the log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.__main__ import main
from planner.store.disk.access import Access, read_access
from planner.store.disk.secrets import SHARES


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPOCHWISE_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("EPOCHWISE_STATE", str(tmp_path / "state"))
    (tmp_path / "results" / "mine").mkdir(parents=True)


def test_a_set_is_made_private_shared_and_opened_again_and_all_of_it_is_logged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "results" / "mine"
    assert main(["set", "visibility", "mine", "--group", "Team", "--group", "Ana@X.org"]) == 0
    assert read_access(place) == Access(groups=frozenset({"Team", "ana@x.org"}))
    capsys.readouterr()
    assert main(["set", "share", "mine"]) == 0
    secret = capsys.readouterr().out.strip().partition("share=")[2]
    folder = SHARES.folder(tmp_path / "state")
    share = SHARES.checked(folder, secret)
    assert share is not None
    assert share.slug == "mine"
    assert main(["set", "unshare", secret.split("_")[1]]) == 0
    assert SHARES.checked(folder, secret) is None
    assert main(["set", "visibility", "mine", "--group", "Team", "--until", "2099-01-31"]) == 0
    capsys.readouterr()
    assert main(["set", "list"]) == 0
    assert "Team; everyone from 2099-01-31" in capsys.readouterr().out
    assert main(["set", "visibility", "mine", "--open"]) == 0
    capsys.readouterr()
    assert main(["audit", "--json"]) == 0
    log = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [e["what"] for e in log] == [
        "restrict a set", "make a share link", "revoke a share link", "restrict a set",
        "open a set",
    ]  # fmt: skip
    assert secret not in json.dumps(log)


def test_a_set_is_private_in_every_folder_that_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that appears later in another folder is private as well."""
    other = tmp_path / "further" / "mine"
    other.mkdir(parents=True)
    monkeypatch.setenv("EPOCHWISE_FURTHER_RESULTS", str(other.parent))
    assert main(["set", "visibility", "mine", "--group", "Team"]) == 0
    assert read_access(other) == read_access(tmp_path / "results" / "mine")
    (other / "access.json").unlink()
    capsys.readouterr()
    assert main(["set", "list"]) == 0
    assert "everyone" not in capsys.readouterr().out
    assert main(["set", "share", "mine"]) == 0
    assert main(["set", "visibility", "mine", "--open"]) == 0
    assert not (tmp_path / "results" / "mine" / "access.json").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["visibility", "../x", "--group", "a"], ["visibility", "mine", "--until", "soon"],
        ["visibility", "mine", "--until", "2020-01-31"],
        ["visibility", "mine", "--until", "2099-02-30"],
        ["visibility", "mine", "--until", "0001-01-01"],
        ["visibility", "mine", "--open", "--group", "a"], ["visibility", "mine", "--group", ""],
        ["share", "mine"], ["share", "../mine"], ["unshare", "12345678"],
    ],
)  # fmt: skip
def test_a_wrong_word_changes_nothing(tmp_path: Path, words: list[str]) -> None:
    assert main(["set", *words]) == 2
    assert not (tmp_path / "state").exists()
    assert [p.name for p in (tmp_path / "results").rglob("*")] == ["mine"]


def test_an_embargo_of_the_past_and_a_day_of_no_calendar_are_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["set", "visibility", "mine", "--group", "a", "--until", "2020-01-31"])
    assert "is past, so everyone would see the set" in capsys.readouterr().err
    main(["set", "visibility", "mine", "--group", "a", "--until", "2099-02-30"])
    assert "the calendar has no such day or time" in capsys.readouterr().err


def test_a_set_is_private_before_its_first_run(tmp_path: Path) -> None:
    assert main(["set", "visibility", "later", "--group", "team"]) == 0
    assert read_access(tmp_path / "results" / "later").groups == {"team"}


def test_an_entry_that_was_changed_makes_the_command_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["set", "visibility", "mine", "--group", "team"])
    [path] = (tmp_path / "state" / "audit").rglob("*.json")
    path.write_bytes(path.read_bytes().replace(b"team", b"Team"))
    assert main(["audit"]) == 1
    assert "was changed after it was written" in capsys.readouterr().err
