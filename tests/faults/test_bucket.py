"""Results in a bucket, with writers and the server killed, throttled and cut off: nothing lost."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from planner.runs import run_id
from planner.store import Store
from planner.store.disk import mirrors
from planner.store.disk.audit import AuditEntry, audit_folder, entries
from planner.store.disk.bucket import Object
from planner.store.disk.mirrors import mirror_of
from tests.faults import campaign, test_audit
from tests.faults.campaign import Child, Poll, moments, torn
from tests.faults.outcomes import FULL, Outcome, finish
from tests.faults.writer import case
from tests.store import buckets
from tests.store.build import ABOUT, folder, ids, opened, reasons

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(
        not (FULL or "EPOCHWISE_S3" in os.environ), reason="`make s3` and `make faults` run it"
    ),
    pytest.mark.skipif(
        buckets.program("weed") is None, reason="SeaweedFS is absent; requirements/s3-servers.txt"
    ),
]
pytest.importorskip("obstore", reason="obstore is not installed here; requirements/s3.txt has it")
RUNS: Final = 72 if FULL else 8
SWEEP: Final = 24 if FULL else 8
"""Runs of a sweep that is killed: few, so that most of the time is kills."""
KILLS: Final = 200 if FULL else 3
COMPACTIONS: Final = 60 if FULL else 2
WRITERS: Final = 4
EACH: Final = 250 if FULL else 12
SERVER_KILLS: Final = 20 if FULL else 1
LOG_KILLS: Final = 100 if FULL else 4
LOG_LIFE_S: Final = 1.0
"""Longest life of a writer of the audit log [s]; an entry takes some 20 ms and its retries."""
SLOW: Final = 0.1
"""Share of requests that the proxy answers 503 SlowDown."""
CUT: Final = 0.05
"""Share whose answer is lost after the server carried it out."""


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[buckets.Server]:
    server = buckets.Server(tmp_path_factory.mktemp("s3-server"))
    yield server
    server.kill()


@pytest.fixture
def proxy(s3: buckets.Server) -> Iterator[buckets.Proxy]:
    between = buckets.Proxy(s3.port, slow=SLOW, cut=CUT)
    yield between
    between.close()


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in buckets.KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(mirrors, "LOOK_S", 0.0)


def write(say: Callable[[str], None], place: Path, sweep: str, first: int, count: int) -> None:
    """The work of a child on another machine that commits runs."""
    os.environ.update(buckets.KEYS)
    campaign.write(say, place, sweep, first, count)


def merge(say: Callable[[str], None], place: Path) -> None:
    """The work of a child that compacts once."""
    os.environ.update(buckets.KEYS)
    campaign.merge(say, place)


def _objects(place: Path) -> dict[str, Object]:
    mirror = mirror_of(place)
    assert mirror is not None
    return {k: o for k, o in mirror.bucket.list("mine").items() if k.endswith(".parquet")}


def _prepared(s3: buckets.Server, place: Path) -> str:
    """Put a set.toml; return the prefix of the place."""
    mirror = mirror_of(place)
    assert mirror is not None
    s3.overwrite(mirror.address.prefix, "mine/set.toml", ABOUT.encode())
    return mirror.address.prefix


def _elsewhere(s3: buckets.Server, prefix: str, cache: Path) -> Store:
    """A store on another machine, which has no copies yet and no proxy before it."""
    return opened(s3.fresh(cache, prefix))


def _took_s(child: Child) -> float:
    """Wait for the end of a child's work; how long it took [s]."""
    began = time.perf_counter()
    assert child.ended() == 0
    return time.perf_counter() - began


def test_a_sweep_killed_again_and_again_is_in_the_bucket_once(
    s3: buckets.Server, proxy: buckets.Proxy, tmp_path: Path
) -> None:
    outcome = Outcome(name="bucket: kill -9 of a writer, throttled")
    kills = sweeps = lost = rewritten = ill = 0
    place = s3.fresh(tmp_path / "whole", endpoint=proxy.endpoint)
    whole_s = _took_s(Child(write, place / "mine", "whole", 0, SWEEP))
    while kills < KILLS:
        sweeps += 1
        place = s3.fresh(tmp_path / f"machine {sweeps}", endpoint=proxy.endpoint)
        prefix, kept, killed = _prepared(s3, place), dict[str, Object](), True
        while killed:
            first = max(0, len(kept) - 2)  # those that were safe are not all committed again
            child = Child(write, place / "mine", f"sweep {sweeps}", first, SWEEP - first)
            rest_s = whole_s * max(0.3, 1 - first / SWEEP)
            killed = child.kill(moments(rest_s)) if kills < KILLS else child.ended() != 0
            kills += killed
            now = _objects(place)
            lost += sum(f"mine/{line.split()[0]}.parquet" not in now for line in child.said[1:])
            rewritten += sum(now.get(name) != each for name, each in kept.items())
            kept = now
        with outcome.step(f"sweep {sweeps}: a look from elsewhere"):
            store = _elsewhere(s3, prefix, tmp_path / f"reader {sweeps}")
        ill += len(reasons(store)) + len(torn(store.folders[0].path / "mine"))
        assert ids(store) == sorted(run_id(case(f"sweep {sweeps}", n)) for n in range(SWEEP))
        assert len(_objects(place)) == SWEEP
    outcome.cases = kills
    outcome.counts |= {
        "sweeps": sweeps, "runs": sweeps * SWEEP, "requests": proxy.requests,
        "answered 503": proxy.throttled, "answers lost": proxy.lost,
    }  # fmt: skip
    for what, count in (("torn", ill), ("lost", lost), ("rewritten", rewritten)):
        if count:
            outcome.differs(f"{count} {what}", count)
    finish(outcome)
    assert kills == KILLS


def test_a_compaction_killed_at_any_moment_loses_and_doubles_nothing_in_the_bucket(
    s3: buckets.Server, proxy: buckets.Proxy, tmp_path: Path
) -> None:
    wanted = sorted(run_id(case("merged", n)) for n in range(RUNS))
    outcome = Outcome(name="bucket: kill -9 of a compaction, throttled")
    kills = between = 0
    whole_s = 0.0
    for turn in itertools.count():
        place = s3.fresh(tmp_path / f"machine {turn}", endpoint=proxy.endpoint)
        prefix = _prepared(s3, place)
        writer = s3.fresh(tmp_path / f"writer {turn}", prefix)
        assert Child(write, writer / "mine", "merged", 0, RUNS).ended() == 0
        child = Child(merge, place / "mine")
        if not whole_s:
            whole_s = _took_s(child)
            continue
        killed = child.kill(moments(whole_s))
        kills += killed
        names = _objects(place)
        between += killed and len(names) > 1 and any("compact-" in n for n in names)
        with outcome.step(f"kill {kills}: a look from elsewhere"):
            store = _elsewhere(s3, prefix, tmp_path / f"reader {turn}")
        assert (ids(store), reasons(store)) == (wanted, {})
        assert Child(merge, place / "mine").ended() == 0
        store.refresh()
        assert (ids(store), len(_objects(place))) == (wanted, 1)
        if kills == COMPACTIONS:
            break
    outcome.cases = kills
    outcome.counts |= {
        "with merged and original files": between, "runs": kills * RUNS,
        "answered 503": proxy.throttled, "answers lost": proxy.lost,
    }  # fmt: skip
    finish(outcome)


def log(say: Callable[[str], None], team: Path, name: str) -> None:
    """The work of a child on another machine that writes entries of the audit log."""
    os.environ.update(buckets.KEYS)
    test_audit.write(say, team, name)


def test_entries_of_the_log_are_in_the_bucket_once_while_their_writers_are_killed(
    s3: buckets.Server, proxy: buckets.Proxy, tmp_path: Path
) -> None:
    outcome = Outcome(name="bucket: audit log, kill -9 of 2 writers, throttled")
    place = s3.fresh(tmp_path / "machine 0", endpoint=proxy.endpoint)
    mirror = mirror_of(place)
    assert mirror is not None
    reader = audit_folder(s3.fresh(tmp_path / "reader", mirror.address.prefix))
    acknowledged: list[str] = []
    before: dict[str, Object] = {}
    while outcome.cases < LOG_KILLS:
        machines = [
            s3.fresh(tmp_path / f"machine {outcome.cases} {n}", mirror.address.prefix,
                     proxy.endpoint)
            for n in range(2)
        ]  # fmt: skip
        writers = [
            Child(log, audit_folder(machine), f"writer {n}") for n, machine in enumerate(machines)
        ]
        for writer in writers:
            assert writer.kill(moments(LOG_LIFE_S))
            acknowledged += writer.said[1:]
        with outcome.case(f"a look after {outcome.cases} kills"):
            found = list(entries(reader))
        outcome.cases += 1
        changed = [each for each in found if isinstance(each, str)]
        lost = set(acknowledged) - {each.id for each in found if isinstance(each, AuditEntry)}
        if changed or lost:
            outcome.differs(f"{changed[:3]} changed, {len(lost)} lost", len(changed) + len(lost))
        now = mirror.bucket.list("audit")
        if any(now.get(key) != each for key, each in before.items()):
            outcome.differs("an entry was rewritten or removed")
        before = now
    outcome.counts |= {
        "entries": len(before), "acknowledged": len(acknowledged),
        "answered 503": proxy.throttled, "answers lost": proxy.lost,
    }  # fmt: skip
    finish(outcome)
    assert acknowledged


def test_writers_of_four_machines_lose_nothing_while_the_server_is_killed(
    s3: buckets.Server, proxy: buckets.Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirrors, "GLANCE_S", 1.0)
    place = s3.fresh(tmp_path / "machine 0", endpoint=proxy.endpoint)
    prefix = _prepared(s3, place)
    machines = [s3.fresh(tmp_path / f"machine {n}", prefix, proxy.endpoint) for n in range(WRITERS)]
    reader = Poll(Store([folder(s3.fresh(tmp_path / "reader", prefix))]))
    outcome = Outcome(name=f"bucket: {WRITERS} writers and a reader, the server killed")
    writers = [
        Child(write, machine / "mine", f"writer {n}", 0, EACH) for n, machine in enumerate(machines)
    ]
    kills = 0
    while any(w.alive for w in writers) or kills < SERVER_KILLS:
        with outcome.case(f"look {reader.looks}"):
            reader.look()
        if kills < SERVER_KILLS and reader.shown >= (kills + 1) * WRITERS * EACH // (
            SERVER_KILLS + 1
        ):
            s3.kill()
            reader.look()
            s3.start()
            kills += 1
    ends = [w.ended() for w in writers]
    reader.look()
    said = sum(line.endswith(" new") for w in writers for line in w.said)
    outcome.counts |= {
        "kills of the server": kills, "runs saved": said, "runs shown": reader.shown,
        "answered 503": proxy.throttled, "answers lost": proxy.lost,
    }  # fmt: skip
    if reader.falls + reader.twice:
        outcome.differs(f"{reader.falls} falls of the count, {reader.twice} doubled",
                        reader.falls + reader.twice)  # fmt: skip
    finish(outcome)
    assert (set(ends), said, reader.shown) == ({0}, WRITERS * EACH, WRITERS * EACH)
    assert (reader.falls, reader.twice, len(_objects(place))) == (0, 0, WRITERS * EACH)
    assert all("gives no answer" in reason for reason in reader.refused)
