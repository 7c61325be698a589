from __future__ import annotations

import getpass
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pynvml
import pytest

from planner.runs import COLUMNS
from runners.machine import facts, nvidia
from runners.machine import facts as machine
from tests.runners.fake_nvml import Card, FakeNvml, Question

GIB = 2**30
PLANTED = {
    "AWS_SECRET_ACCESS_KEY": "planted/SECRET+value",
    "HF_TOKEN": "hf_plantedplantedplanted",
    "USER": "planted-user",
    "HOSTNAME": "planted-host",
}


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


# -- facts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["cpu", "gpu", "tpu"])
def test_every_fact_is_a_column_of_the_run_record_with_its_type(device: str) -> None:
    columns = {c.name: str(c.type) for c in COLUMNS if c.group in {"system", "software"}}
    kinds = {"string": str, "int64": int, "bool": bool}
    for name, value in machine.facts(device, folder=Path.cwd()).items():
        assert value is None or isinstance(value, kinds[columns[name]]), name


@pytest.mark.parametrize("device", ["cpu", "gpu", "tpu"])
def test_what_a_run_record_requires_is_always_known(device: str) -> None:
    required = {c.name for c in COLUMNS if c.required and c.group == "system"}
    result = machine.facts(device)
    assert all(result[name] for name in required)


def test_this_machine_is_reported_as_its_own_kernel_reports_it(tmp_path: Path) -> None:
    result = machine.facts(folder=tmp_path)
    assert result["host_memory_bytes"] == psutil.virtual_memory().total
    assert 1 <= result["host_processor_core_count"] <= (os.cpu_count() or 1)
    assert result["host_storage_type"]
    assert result["system_name"].startswith(f"{result['host_processor_core_count']}-core ")
    assert result["python_version"] == ".".join(map(str, sys.version_info[:3]))


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_no_fact_names_a_user_a_host_a_folder_or_a_secret(
    device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in PLANTED.items():
        monkeypatch.setenv(name, value)
    result = json.dumps(machine.facts(device, folder=tmp_path))
    private = [*PLANTED.values(), str(Path.home()), str(tmp_path), str(Path.cwd())]
    names = [getpass.getuser(), socket.gethostname()]  # as words: a host may be called "vm"
    assert [p for p in private if p in result] == []
    assert [n for n in names if re.search(rf"\b{re.escape(n)}\b", result)] == []
    assert "planted" not in result


def test_facts_need_no_framework_and_no_database() -> None:
    program = (
        "import sys; from runners.machine import energy, environment, facts; facts.facts('gpu');"
        "print(*{m.split('.')[0] for m in sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    heavy = {"tensorflow", "keras", "jax", "torch", "duckdb", "pyarrow", "numpy"}
    assert heavy & set(done.stdout.split()) == set()


@pytest.mark.parametrize(
    ("vendor", "said"),
    [
        ("AMD EPYC", "AMD EPYC"),
        ("Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", "Intel Xeon E5-2680 v4"),
        ("AMD Ryzen 9 5950X 16-Core Processor", "AMD Ryzen 9 5950X"),
        ("13th Gen Intel(R) Core(TM) i7-13700K", "13th Gen Intel Core i7-13700K"),
        ("AMD Ryzen 7 PRO 5850U with Radeon Graphics", "AMD Ryzen 7 PRO 5850U"),
        ("Apple M2", "Apple M2"),
    ],
)
def test_a_system_is_called_what_a_person_would_say(
    vendor: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "processor", lambda: vendor)
    monkeypatch.setattr(machine, "usable_cores", lambda: 8)
    assert machine.facts()["system_name"] == f"8-core {said}"


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS tells it by sysctl")
def test_sockets_are_counted_once_however_many_cores_they_have(tmp_path: Path) -> None:
    core = "model name\t: Some Processor\nphysical id\t: {}\n\n"
    write(tmp_path, {"proc/cpuinfo": core.format(0) * 4 + core.format(1) * 4})
    assert (machine.processor(tmp_path), machine.sockets(tmp_path)) == ("Some Processor", 2)


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS tells it by sysctl")
def test_a_kernel_that_names_no_processor_leaves_it_unknown(tmp_path: Path) -> None:
    write(tmp_path, {"proc/cpuinfo": "processor\t: 0\nCPU implementer\t: 0x41\n"})
    assert (machine.processor(tmp_path), machine.sockets(tmp_path)) == (None, None)


def test_the_file_system_of_a_folder_is_that_of_the_innermost_mount(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path.resolve() / "data"
    mounts = [("/", "ext4"), (str(inner), "hidden"), (str(inner), "nfs4"), ("/nowhere", "xfs")]
    parts = [SimpleNamespace(mountpoint=m, fstype=t) for m, t in mounts]
    monkeypatch.setattr(psutil, "disk_partitions", lambda **_: parts)
    assert machine.storage_type(inner / "images") == "nfs4"
    assert machine.storage_type(tmp_path) == "ext4"


def test_where_no_mounts_are_listed_the_file_system_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(**_: object) -> None:
        raise OSError

    monkeypatch.setattr(psutil, "disk_partitions", refused)
    assert machine.storage_type(tmp_path) is None


# -- versions --------------------------------------------------------------------------------------


def test_versions_come_without_importing_and_missing_packages_are_left_out() -> None:
    result = machine.versions(["psutil", "no-such-package-here"])
    assert result == {"psutil": psutil.__version__}


def test_the_code_knows_its_own_version_in_its_repository_and_nowhere_else(tmp_path: Path) -> None:
    assert machine.git_describe(tmp_path) is None
    if (machine.REPOSITORY / ".git").exists():
        assert re.search(r"[0-9a-f]{7}", machine.git_describe() or "")


def test_a_missing_or_hanging_git_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    for error in (FileNotFoundError("git"), subprocess.TimeoutExpired("git", 2)):

        def fail(*_: object, error: Exception = error, **__: object) -> None:
            raise error

        monkeypatch.setattr(subprocess, "run", fail)
        assert machine.git_describe(tmp_path) is None


def test_the_load_is_none_where_the_system_keeps_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (machine.load_average() or 0.0) >= 0

    def fail() -> None:
        raise OSError

    monkeypatch.setattr(os, "getloadavg", fail)
    assert machine.load_average() is None


# -- control groups --------------------------------------------------------------------------------

V2 = {"proc/self/cgroup": "0::/slice/job\n"}
V1 = {"proc/self/cgroup": "5:cpu,cpuacct:/job\n4:memory:/job\n0::/\n"}


def test_here_a_process_may_use_something_and_not_more_than_there_is() -> None:
    assert 0 < machine.memory_limit_bytes() <= psutil.virtual_memory().total


@pytest.mark.parametrize(
    ("quota", "processors"),
    [("max 100000", []), ("150000 100000", [1.5]), ("", []), ("what is this", []), ("5 0", [])],
)
def test_a_quota_of_version_2_is_processors(
    quota: str, processors: list[float], tmp_path: Path
) -> None:
    write(tmp_path, V2 | {"sys/fs/cgroup/slice/job/cpu.max": quota})
    assert list(facts.processors(tmp_path)) == processors


def test_the_narrowest_of_all_groups_around_a_process_counts(tmp_path: Path) -> None:
    inner, outer = "sys/fs/cgroup/slice/job/", "sys/fs/cgroup/slice/"
    write(
        tmp_path,
        V2
        | {inner + "cpu.max": "max 100000", outer + "cpu.max": "50000 100000"}
        | {inner + "memory.max": "max", outer + "memory.max": str(GIB // 4)}
        | {outer + "memory.current": str(GIB // 8)}
        | {outer + "memory.stat": f"anon 1\ninactive_file {GIB // 16}\n"},
    )
    assert machine.usable_cores(tmp_path) == 1
    assert machine.memory_limit_bytes(tmp_path) == GIB // 4 - GIB // 8 + GIB // 16


def test_version_1_is_read_where_it_is_mounted(tmp_path: Path) -> None:
    write(
        tmp_path,
        V1
        | {"sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "250000\n"}
        | {"sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000\n"}
        | {"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n"}
        | {"sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}
        | {"sys/fs/cgroup/memory/job/memory.limit_in_bytes": str(GIB // 4)}
        | {"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712"},
    )
    assert list(facts.processors(tmp_path)) == [2.5]
    assert machine.memory_limit_bytes(tmp_path) == GIB // 4


def test_a_group_that_is_overfull_leaves_nothing_rather_than_less(tmp_path: Path) -> None:
    folder = "sys/fs/cgroup/slice/job/"
    write(tmp_path, V2 | {folder + "memory.max": "1000", folder + "memory.current": "2000"})
    assert machine.memory_limit_bytes(tmp_path) == 0


def test_without_control_groups_the_machine_is_the_limit(tmp_path: Path) -> None:
    assert list(facts.processors(tmp_path)) == list(facts.memory_left_bytes(tmp_path)) == []
    assert machine.usable_cores(tmp_path) >= 1


# -- cards: against a stand-in, because no card exists where these tests run -----------------------

Install = Callable[..., FakeNvml]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put the stand-in in the package's place."""

    def put(*cards: Card, **result: Any) -> FakeNvml:  # noqa: ANN401
        fake = FakeNvml(cards, **result)
        monkeypatch.setitem(sys.modules, "pynvml", fake)
        return fake

    return put


def test_every_name_asked_of_nvml_exists_in_the_real_package() -> None:
    source = Path(nvidia.__file__).read_text(encoding="utf-8")
    asked = set(re.findall(r"\bnvml[A-Z]\w+|\bNVML_\w+|\bNVMLError\w*", source))
    assert len(asked) > 25
    assert {n for n in asked if not hasattr(pynvml, n)} == set()


def test_every_answer_of_the_stand_in_is_a_question_of_the_real_package() -> None:
    fake = FakeNvml(())
    answers = {n for n in dir(fake) if n.lower().startswith("nvml")}
    assert {n for n in answers if not hasattr(pynvml, n)} == set()
    for name in ("NVML_CLOCK_SM", "NVML_CLOCK_MEM", *nvidia.REASONS):
        assert getattr(fake, name) == getattr(pynvml, name)


def test_direct_reads_between_cards_are_asked_by_the_number_nvml_gives_them() -> None:
    assert pynvml.NVML_P2P_CAPS_INDEX_READ in (nvidia._P2P_READ, (nvidia._P2P_READ,))
    assert pynvml.NVML_P2P_STATUS_OK == 0
    assert pynvml.NVML_DEVICE_MIG_ENABLE == 1


def test_here_the_real_package_answers_or_keeps_silent_and_never_raises() -> None:
    cards = nvidia.open_cards(None)
    result = [cards.name(), cards.driver(), cards.host_link(), cards.clocks(), cards.peer_to_peer()]
    assert bool(cards.handles) or result == [None] * 5
    cards.close()


def test_a_machine_without_the_package_has_no_known_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert nvidia.open_cards(None).handles == ()
    assert machine.facts("gpu")["accelerator_model_name"] is None


def test_one_card_is_reported_with_memory_link_driver_and_clocks(install: Install) -> None:
    fake = install(Card())
    result = machine.facts("gpu")
    assert result["system_name"] == result["accelerator_model_name"] == "NVIDIA H200"
    assert result["accelerator_memory_bytes"] == 141 * GIB
    assert result["accelerator_host_interconnect"] == "PCIe 5.0 x16"
    assert result["accelerator_driver_version"] == "570.86.15, CUDA 12.8"
    assert (
        result["accelerator_clocks"] == "SM 1980 MHz, memory 3201 MHz, limit 700 W, not held back"
    )
    assert result["accelerators_per_node"] == 1
    assert result["peer_to_peer"] is result["accelerator_interconnect"] is None
    assert fake.opened == 0, "NVML is given back"


def test_cards_never_tell_their_uuid(install: Install) -> None:
    install(Card(uuid="GPU-12345678-aaaa"), Card(uuid="GPU-87654321-bbbb"))
    result = json.dumps(machine.facts("gpu", visible="GPU-12345678-aaaa"))
    assert "GPU-" not in result
    assert "12345678" not in result


@pytest.mark.parametrize(
    ("links", "p2p", "result"),
    [(18, 0, ("NVLink, 18 links", True)), (0, 0, ("PCIe", True)), (0, 1, ("PCIe", False))],
)
def test_the_link_between_cards_is_reported(
    links: int, p2p: int, result: tuple[str, bool], install: Install
) -> None:
    install(Card(links=links), Card(links=links), p2p=p2p)
    facts = machine.facts("gpu")
    assert (facts["accelerator_interconnect"], facts["peer_to_peer"]) == result
    assert facts["accelerators_per_node"] == 2
    alone = machine.facts("gpu", devices=1)
    assert (alone["accelerator_interconnect"], alone["peer_to_peer"]) == result
    assert alone["accelerators_per_node"] == 1


def test_only_the_cards_in_use_are_counted(install: Install) -> None:
    install(*[Card()] * 8)
    assert machine.facts("gpu", devices=2)["accelerators_per_node"] == 2


@pytest.mark.parametrize(
    ("visible", "names"),
    [
        (None, "A + B + C"),
        ("2,0", "C + A"),
        ("1,7,0", "B"),
        ("1,-1,0", "B"),
        ("-1", None),
        ("", None),
        ("GPU-bb", "B"),
        ("GPU-", None),
        ("bb", None),
        ("MIG-cc-part", "C"),
        ("no such card", None),
    ],
)
def test_cards_are_chosen_as_cuda_chooses_them(
    visible: str | None, names: str | None, install: Install
) -> None:
    install(*(Card(name=n, uuid=f"GPU-{n.lower() * 2}") for n in "ABC"), parts={"MIG-cc-part": 2})
    assert nvidia.open_cards(visible).name() == names


def test_throttling_is_reported_in_words(install: Install) -> None:
    install(Card(reasons=pynvml.nvmlClocksThrottleReasonSwPowerCap | 64))
    assert (machine.clocks("gpu") or "").endswith("held back by power cap, heat (hardware)")


def test_drivers_that_know_only_the_older_name_of_throttling_are_understood(
    install: Install,
) -> None:
    install(Card(reasons=4), deaf={"nvmlDeviceGetCurrentClocksEventReasons"})
    assert (machine.clocks("gpu") or "").endswith("held back by power cap")


def test_a_part_of_a_card_has_no_memory_or_energy_of_the_whole(install: Install) -> None:
    install(Card(mig=1))
    part = nvidia.open_cards(None)
    assert part.name() == "NVIDIA H200, a part of it (MIG)"
    assert part.memory_bytes() is None
    assert part.energy_joules() is None
    assert part.power_watts() is None


def test_names_in_bytes_are_text(install: Install) -> None:
    install(Card(name=b"Tesla T4"))
    assert machine.facts("gpu")["system_name"] == "Tesla T4"


@pytest.mark.parametrize("question", FakeNvml.questions(), ids=lambda q: q.name)
def test_no_question_that_nvml_refuses_or_lacks_stops_the_facts(
    question: Question, install: Install
) -> None:
    install(Card(), Card(), deaf={question.name})
    refused = machine.facts("gpu")
    install(Card(), Card(), lacking={question.name})
    assert machine.facts("gpu") == refused
    assert refused["system_name"]


def test_loopback_and_an_unknown_host_have_no_network_speed() -> None:
    assert machine.network_speed("127.0.0.1") is None
    assert machine.network_speed("a" * 64) is None  # no name of a host
