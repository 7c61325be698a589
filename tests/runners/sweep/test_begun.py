"""A resume means what was asked at the beginning, whatever the environment says by then."""

from __future__ import annotations

import argparse
from pathlib import Path

from planner.store.disk.sweeps import write_status
from runners.sweep.context import fill_settings, newest_start, start_with_ticket
from runners.sweep.sweep import journal


def _asked(**said: object) -> argparse.Namespace:
    defaults: dict[str, object] = {
        "name": None,
        "backend": None,
        "device": None,
        "python": [],
        "licence": "mine",
    }
    return argparse.Namespace(**{**defaults, **said}, defaults=defaults)


GIVEN = {"name": "set", "backend": "jax", "device": "cpu", "licence": "CC0", "python": ["jax=p"]}


def test_what_is_not_said_now_is_what_was_said_then() -> None:
    asked = _asked()
    fill_settings(asked, GIVEN)
    assert {n: getattr(asked, n) for n in GIVEN} == GIVEN


def test_what_is_said_now_counts() -> None:
    asked = _asked(backend="tensorflow", name="other")
    fill_settings(asked, GIVEN)
    assert (asked.backend, asked.name, asked.device) == ("tensorflow", "other", "cpu")


def test_an_option_the_command_does_not_have_is_left_out() -> None:
    asked = _asked()
    fill_settings(asked, {"shell": "rm"})
    assert not hasattr(asked, "shell")


def test_the_newest_beginning_of_a_sweep_in_its_folder_is_found(tmp_path: Path) -> None:
    for n, (results, name) in enumerate([("/a", "one"), ("/a", "two"), ("/b", "three")]):
        book = journal(tmp_path, f"t{n}", asked_at=1.0 + n, sweep="s", title="t",
                       result_set=name, folder=results, planned=1)  # fmt: skip
        write_status(tmp_path, book.status)
    found = newest_start(tmp_path, "s", Path("/a"), None)
    assert found is not None
    assert found.result_set == "two"
    named = newest_start(tmp_path, "s", Path("/a"), "one")
    assert named is not None
    assert named.ticket == "t0"
    assert newest_start(tmp_path, "other", Path("/a"), None) is None
    assert start_with_ticket(tmp_path, "t2") is not None
    assert start_with_ticket(tmp_path, "t9") is None
