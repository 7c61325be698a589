"""Clients push runs while their server is killed and started again: each run is stored once."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path
from typing import Final

import pytest

from planner.store import Store, commit_runs
from planner.store.disk.ledger import acknowledged, ledger
from planner.store.disk.secrets import TOKENS
from runners.sweep.push import Sent, Server, push, waiting
from tests.faults.campaign import temporaries, torn
from tests.faults.outcomes import FULL, Outcome, finish
from tests.faults.pushed_server import Restarted
from tests.store.build import ABOUT, folder, row

pytestmark = pytest.mark.faults
CLIENTS: Final = 4
EACH: Final = 500 if FULL else 10
KILLS: Final = 50 if FULL else 1
ONE_AT_A_TIME: Final = 5
"""Runs that are new at each look of a client: a sweep adds them one by one."""


class Client(threading.Thread):
    """A machine that adds runs to its own set and pushes them as they come."""

    def __init__(self, number: int, place: Path, to: Server) -> None:
        super().__init__()
        self.folder = place / f"client-{number}" / f"machine-{number}"
        self.state = place / f"client-{number}" / "state"
        self.to, self.number = to, number
        self.sent = Sent()

    def run(self) -> None:
        """Commit a few runs, push them, and so on."""
        self.folder.mkdir(parents=True)
        (self.folder / "set.toml").write_text(ABOUT)
        for first in range(0, EACH, ONE_AT_A_TIME):
            several = [
                row(result_set=self.folder.name, repeat=k, system_name=f"machine {self.number}")
                for k in range(first, first + ONE_AT_A_TIME)
            ]
            commit_runs(self.folder, several)
            sent = push(self.folder, self.to, self.state, stop=lambda: False, say=lambda _: None)
            self.sent = Sent(
                stored=self.sent.stored + sent.stored, already=self.sent.already + sent.already
            )


def test_a_server_that_is_killed_again_and_again_stores_every_run_once(tmp_path: Path) -> None:
    token = TOKENS.create(tmp_path / "tokens", name="clients", sets=["*"])
    server = Restarted(tmp_path)
    to = Server(url=f"http://127.0.0.1:{server.port}", token=token)
    clients = [Client(n, tmp_path, to) for n in range(CLIENTS)]
    dice, kills = random.Random(20261125), 0
    for client in clients:
        client.start()
    try:
        while any(c.is_alive() for c in clients):
            time.sleep(dice.uniform(0.05, 0.4))
            if kills < KILLS:
                server.kill_and_start()
                kills += 1
    finally:
        server.end()
    places = [tmp_path / "results" / c.folder.name for c in clients]
    stored = Store([folder(tmp_path / "results")])
    stored.refresh()
    [[kept]] = stored.rows("SELECT count(*) FROM runs")
    outcome = Outcome(name=f"{CLIENTS} clients push, the server is killed", cases=CLIENTS * EACH)
    again = sum(c.sent.already for c in clients)
    outcome.counts |= {"kills": kills, "pushed": CLIENTS * EACH, "stored": int(kept),
                       "sent twice": again}  # fmt: skip
    finish(outcome)
    assert kills >= min(KILLS, 1)
    assert [len(list(p.glob("*.parquet"))) for p in places] == [EACH] * CLIENTS
    assert stored.rows("SELECT count(DISTINCT run_id), count(*) FROM runs") == [
        (CLIENTS * EACH, CLIENTS * EACH)
    ]
    assert [torn(p) for p in places] == [[]] * CLIENTS
    assert all(len(temporaries(p)) <= kills for p in places)
    assert [len(acknowledged(ledger(c.state, to.address, c.folder.name))) for c in clients] == (
        [EACH] * CLIENTS
    )
    assert [waiting(c.folder, to, c.state) for c in clients] == [0] * CLIENTS
    assert all((p / "set.toml").read_text().startswith('title = "A set"') for p in places)
