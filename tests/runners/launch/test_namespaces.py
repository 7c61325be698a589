"""Two workers in two network namespaces: a limited link really limits them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import pytest

from planner.runs import Row
from planner.scaling import ring_traffic_bytes
from planner.store.summaries import summaries
from runners.commands import links
from runners.commands.links import LinkPair, NotPossibleError, pair
from runners.plan.host import Python
from runners.process.supervise import ROOT
from tests.faults.outcomes import FULL
from tests.runners.networks import python


@pytest.fixture
def namespaces() -> Iterator[LinkPair]:
    """Two namespaces, or the reason why this machine has none."""
    try:
        with pair() as made:
            yield made
    except NotPossibleError as error:
        pytest.skip(str(error))


def _left() -> list[str]:
    """Namespaces of this process."""
    done = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if f"epochwise-{os.getpid()}-" in line]


def test_namespaces_are_deleted_after_an_error() -> None:
    try:
        with pair():
            assert len(_left()) == 2
            raise ZeroDivisionError  # noqa: TRY301 - the error of a caller
    except NotPossibleError as error:
        pytest.skip(str(error))
    except ZeroDivisionError:
        pass
    assert _left() == []


@pytest.mark.skipif(not FULL, reason="`make links` and `make faults` run it")
def test_a_link_of_100_mbit_s_limits_two_workers(
    namespaces: LinkPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EPOCHWISE_STATE", str(tmp_path))
    here = Python(path=python("tensorflow"), python_version="3.11", versions={})
    rows: list[Row] = []
    free, limited = links.compared(namespaces, here, (100e6,), steps=8, keep=rows.append)
    assert (free.rate_bits_per_s, free.predicted_s, free.error) == (None, None, None)
    assert free.gradient_bytes == limited.gradient_bytes == 1_204_264
    # A load of the machine makes steps longer, never shorter than the transfer.
    transfer_s = 8.0 * ring_traffic_bytes(2, limited.gradient_bytes) / 100e6
    assert limited.step_s > 0.9 * transfer_s
    assert limited.all_reduce_bits_per_s < 1.05 * 100e6
    assert limited.predicted_s
    assert limited.predicted_s >= free.step_s + transfer_s
    links._store(
        Namespace(results=tmp_path, name="over links", licence="CC0 1.0", json=False, server=False),
        rows,
    )
    stored = list(summaries(tmp_path / "over-links"))
    assert {(row.get("host_networking"), row["licence"]) for row in stored} == {
        (None, "CC0 1.0"), ("100 Mbit/s, limited by tc", "CC0 1.0")}  # fmt: skip
    assert len({row["system_name"] for row in stored}) == 2
    # A veth pair states 10 Gbit/s at every rate, so the row has the rate of the link.
    speeds = {json.loads(row["extra"]).get("network_bits_per_s") for row in stored}
    assert speeds == {None, 100e6}
    body = json.loads(json.dumps(links._as_json(limited)))
    assert body["error"] == pytest.approx(limited.predicted_s / limited.step_s - 1.0)


def test_the_end_of_a_link_has_a_network_speed(namespaces: LinkPair) -> None:
    """A veth pair states 10 Gbit/s, whatever tc lets through."""
    own = namespaces.addresses[0]
    program = f"from runners.machine.facts import network_speed; print(network_speed('{own}'))"
    prefix = namespaces.prefix.replace("{host}", namespaces.names[0]).split()
    done = subprocess.run(
        [*prefix, sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True
    )
    assert done.stdout.strip() == str(10**10)


def test_the_bar_is_for_the_slowest_link_alone() -> None:
    def at(rate: float | None, predicted_s: float | None) -> links.Measured:
        return links.Measured(
            rate_bits_per_s=rate, step_s=0.1, predicted_s=predicted_s, latency_s=0.001,
            all_reduce_bits_per_s=1e9, gradient_bytes=1,
        )  # fmt: skip

    assert not at(100e6, 0.1149).misses_bar
    assert at(100e6, 0.1151).misses_bar
    assert at(100e6, 0.0849).misses_bar
    assert not at(1e9, 0.2).misses_bar
    assert not at(None, None).misses_bar


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None or shutil.which("ip") is None,
    reason="taking CAP_NET_ADMIN away needs root, setpriv and ip",
)
def test_without_the_rights_it_is_not_run_and_says_so() -> None:
    command = ["setpriv", "--bounding-set=-net_admin", sys.executable, "-m", "runners", "links"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("Not run: this machine has no network namespaces for you. ip ")
    assert "It needs root and CAP_NET_ADMIN." in done.stderr
    assert done.stdout == ""


@pytest.mark.skipif(not FULL, reason="`make links` and `make faults` run it")
def test_a_link_of_100_mbit_s_limits_the_updates_of_a_parameter_server(
    namespaces: LinkPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EPOCHWISE_STATE", str(tmp_path))
    here = Python(path=python("tensorflow"), python_version="3.11", versions={})
    rows: list[Row] = []
    free, limited = links.served_over(
        namespaces, here, (100e6,), counts=(2,), updates=16, keep=rows.append
    )
    assert (free.predicted_per_s, free.error) == (None, None)
    # The link passes the weights down and the gradients up once an update, in each direction.
    most = 100e6 / 8.0 / limited.parameter_bytes
    assert limited.updates_per_s < 1.05 * most
    assert limited.predicted_per_s
    assert limited.predicted_per_s <= most
    assert {row["number_of_nodes"] for row in rows} == {1}
    assert [json.loads(row["extra"]).get("network_bits_per_s") for row in rows] == [None, 100e6]
