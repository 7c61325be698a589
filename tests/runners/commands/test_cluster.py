"""`run --engine ray` where there is no Ray or no cluster: what is wrong and what to do."""

from __future__ import annotations

import io
import socket
import sys
import zipfile
from pathlib import Path

import pytest

from planner.store.disk.sweeps import STATE, NodeStatus, write_status
from runners.cluster.connection import archive
from runners.commands import cli
from runners.plan.expand import Host
from runners.plan.spec import SpecError
from runners.process.supervise import ROOT
from runners.sweep.context import read_context
from tests.runners.stubs import status

pytestmark = pytest.mark.usefixtures("signals_as_they_were")

SPEC = """
title = "On a V100"
[[runs]]
workload = "mlp"
dataset = "digits"
batch = 32
accelerator = "v100"
"""


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EPOCHWISE_RESULTS", str(tmp_path / "results"))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    (tmp_path / "mine.toml").write_text(SPEC, encoding="utf-8")
    return tmp_path / "mine.toml"


def refused(spec: Path, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    """What is printed on standard error by a command that is refused."""
    assert cli.main(["run", str(spec), "--yes", *more]) == 2
    error = capsys.readouterr().err
    assert "Traceback" not in error
    assert not (spec.parent / "results").exists()
    return error


def test_the_status_names_the_nodes_and_who_stores_their_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(STATE, str(tmp_path))
    nodes = (
        NodeStatus(name="alpha", accelerators="8 x v100", system="V100", finished=3,
                   stored_by="node in folder"),
        NodeStatus(name="beta", accelerators="", system="EPYC", finished=1, stored_by="start"),
        NodeStatus(name="gamma", accelerators="", system="EPYC"),
    )  # fmt: skip
    write_status(tmp_path, status(phase="running", nodes=nodes))
    assert cli.main(["status"]) == 0
    text = capsys.readouterr().out
    assert "alpha: 8 x v100, 3 runs; free; stored by the node, in the results folder" in text
    assert "beta: EPYC, 1 runs; free; stored by the starting process" in text
    assert "gamma: EPYC, 0 runs; free" in text


def test_without_ray_the_requirements_file_is_named(
    spec: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    text = refused(spec, capsys, "--engine", "ray")
    assert "Ray is not installed here" in text
    assert "requirements/ray.txt" in text
    assert (ROOT / "requirements" / "ray.txt").is_file()


def test_where_no_cluster_answers_its_address_and_the_next_step_are_named(
    spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ray", reason="Ray is not installed here; requirements/ray.txt has it")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    text = refused(spec, capsys, "--engine", "ray", "--address", f"127.0.0.1:{port}")
    assert f"No Ray cluster answers at 127.0.0.1:{port}" in text
    assert "ray start --head" in text


@pytest.mark.parametrize("address", ["here", "ray://10.0.0.1:10001", ":1", "a:b", "a:99999"])
def test_what_is_no_address_is_refused(
    spec: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ray", reason="Ray is not installed here; requirements/ray.txt has it")
    text = refused(spec, capsys, "--engine", "ray", "--address", address)
    assert "is not an address of a cluster. Give HOST:PORT." in text


def test_an_accelerator_in_a_local_sweep_is_refused_with_the_engine_that_has_them(
    spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = refused(spec, capsys)
    assert "accelerator = 'v100' chooses a node of a cluster. Add --engine ray" in text


def test_a_launcher_beside_ray_is_refused(spec: Path) -> None:
    args = cli._parser().parse_args(["run", str(spec), "--engine", "ray", "--launcher", "slurm"])
    with pytest.raises(SpecError, match="launcher slurm and --engine ray exclude each other"):
        read_context(args, Host(device="cpu", backends=("tensorflow",)))


def test_the_program_for_the_nodes_is_whole_and_the_same_each_time() -> None:
    data = archive()
    assert data == archive()
    names = set(zipfile.ZipFile(io.BytesIO(data)).namelist())
    code = {
        p.relative_to(ROOT).as_posix() for room in ("planner", "runners")
        for p in (ROOT / room).rglob("*.py")
    }  # fmt: skip
    assert code <= names
    assert "planner/networks/networks.csv" in names
    assert not [n for n in names if "__pycache__" in n or n.startswith("tests")]
