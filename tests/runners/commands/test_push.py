"""`runners push` and `run --push`: all problems at once, and runs sent while they are measured."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from planner.store import commit_runs
from planner.store.disk.ledger import acknowledged, ledger
from planner.store.disk.secrets import TOKENS
from runners.commands import cli
from runners.commands.journals import pushing
from runners.sweep.push import Server, push
from tests.faults.pushed_server import Restarted
from tests.store.build import ABOUT, row, rows


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Restarted]:
    """A server of the push endpoint."""
    made = Restarted(tmp_path_factory.mktemp("server"))
    yield made
    made.end()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of result sets with one set of three runs."""
    monkeypatch.setenv("EPOCHWISE_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("EPOCHWISE_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("EPOCHWISE_TOKEN", raising=False)
    folder = tmp_path / "results" / tmp_path.name.replace("_", "-")
    commit_runs(folder, rows(3, result_set=folder.name))
    (folder / "set.toml").write_text(ABOUT)
    return folder


def url_of(server: Restarted) -> str:
    return f"http://127.0.0.1:{server.port}"


def test_all_problems_of_a_push_come_together(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["push", "none", "--to", "ftp://x"]) == 2
    text = capsys.readouterr().err
    assert "'ftp://x' is no server's address" in text
    assert "there is no token. Set EPOCHWISE_TOKEN" in text
    assert "there is no result set 'none'" in text
    assert cli.main(["push", here.name, "--to", "http://x", "--token-file", "/no/such"]) == 2
    assert "--token-file cannot be read: No such file" in capsys.readouterr().err


def test_a_set_is_sent_once_and_again_costs_nothing(
    here: Path, server: Restarted, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv(
        "EPOCHWISE_TOKEN", TOKENS.create(server.place / "tokens", name="m", sets=[here.name])
    )
    assert cli.main(["push", here.name, "--to", url_of(server)]) == 0
    assert "3 runs are stored there" in capsys.readouterr().out
    there = server.place / "results" / here.name
    assert {p.name for p in there.glob("*.parquet")} == {p.name for p in here.glob("*.parquet")}
    assert cli.main(["push", str(here), "--to", url_of(server)]) == 0
    assert "0 runs are stored there; 0 were there already." in capsys.readouterr().out


def test_a_server_that_refuses_for_good_is_not_tried_again(
    here: Path, server: Restarted, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv(
        "EPOCHWISE_TOKEN", TOKENS.create(server.place / "tokens", name="m", sets=["other"])
    )
    assert cli.main(["push", here.name, "--to", url_of(server)]) == 1
    assert f"may not add runs to {here.name}" in capsys.readouterr().out


def test_a_server_that_is_away_is_tried_until_stopped_and_nothing_is_lost(
    here: Path, tmp_path: Path
) -> None:
    said: list[str] = []
    to = Server(url="http://127.0.0.1:9", token="none")  # noqa: S106
    sent = push(here, to, tmp_path / "state", stop=lambda: len(said) > 0, say=said.append)
    assert (sent.stored, len(said)) == (0, 1)
    assert "Connection refused" in said[0]
    assert acknowledged(ledger(tmp_path / "state", to.address, here.name)) == set()


def test_a_ledger_that_was_cut_off_sends_its_last_run_again(here: Path, tmp_path: Path) -> None:
    path = tmp_path / "ledger.txt"
    path.write_text("0" * 32 + "\n" + "1" * 20)
    assert acknowledged(path) == {"0" * 32}


def test_runs_are_sent_while_a_sweep_measures(
    here: Path, server: Restarted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runners.commands.journals.LOOK_S", 0.05)
    monkeypatch.setenv(
        "EPOCHWISE_TOKEN", TOKENS.create(server.place / "tokens", name="m", sets=["*"])
    )
    args = argparse.Namespace(push=url_of(server), token_file=None)
    there = server.place / "results" / here.name
    with pushing(args, here, lambda: False):
        until = time.monotonic() + 60
        while len(list(there.glob("*.parquet"))) < 3 and time.monotonic() < until:
            time.sleep(0.02)
        assert len(list(there.glob("*.parquet"))) == 3
        commit_runs(here, [row(repeat=99, result_set=here.name)])
    assert len(list(there.glob("*.parquet"))) == 4
