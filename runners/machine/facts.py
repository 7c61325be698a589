"""Facts of this machine, under the names of the run record, without any framework.

An allow-list (docs/facts.md): no environment, user, home, host name, address, serial number or
UUID. Unknown values are None; nothing here raises or takes over 2 s.

Limits of the control groups around this process, as set by containers and batch systems.

Reads versions 2 and 1 of the kernel's interface; a machine without them (macOS) has no limits.
`root` is the root of the file system; tests pass their own.
"""

import math
import os
import platform
import re
import socket
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import psutil

from planner.core import Text
from runners.machine import nvidia

CGROUPS_ROOT = Path("/")


def processors(root: Path = CGROUPS_ROOT) -> Iterator[float]:
    """Yield the processor limit of each group: quota over period, 1.5 for "150000 100000"."""
    for group in _groups(root, ""):
        quota, _, period = read(group / "cpu.max").strip().partition(" ")
        if quota.isdecimal() and period.isdecimal() and int(period):  # "max": no limit
            yield int(quota) / int(period)
    for group in _groups(root, "cpu"):
        most, every = _number(group / "cpu.cfs_quota_us"), _number(group / "cpu.cfs_period_us")
        if most and every:  # -1 (no limit) gives None
            yield most / every


def memory_left_bytes(root: Path = CGROUPS_ROOT) -> Iterator[int]:
    """Yield the free memory of each group [bytes]; cached file pages count as free."""
    for group in _groups(root, ""):
        yield from _left(group, "memory.max", "memory.current", "inactive_file")
    for group in _groups(root, "memory"):
        yield from _left(
            group, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
        )


def _left(group: Path, limit: str, used: str, cached: str) -> Iterator[int]:
    most, now = _number(group / limit), _number(group / used)
    if most is not None:
        yield most - (now or 0) + _statistics(group / "memory.stat").get(cached, 0)


def _groups(root: Path, controller: str) -> Iterator[Path]:
    """Yield the folders of the groups around this process, innermost first; "" is version 2.

    In a container the paths may be those of the host; missing ones read as empty.
    """
    for line in read(root / "proc" / "self" / "cgroup").splitlines():
        _, names, path = [*line.split(":", 2), "", ""][:3]
        if controller in names.split(","):
            mount = root / "sys" / "fs" / "cgroup" / controller
            inner = Path(path.lstrip("/"))
            yield from (mount / part for part in (inner, *inner.parents))


def _statistics(path: Path) -> Mapping[str, int]:
    """Return the numbers of a file with lines "name number"."""
    pairs = [line.split() for line in read(path).splitlines()]
    return {p[0]: int(p[1]) for p in pairs if len(p) == 2 and p[1].isdecimal()}


def _number(path: Path) -> int | None:
    text = read(path).strip()
    return int(text) if text.isdecimal() else None


def read(path: Path) -> str:
    """Return the text of a small kernel file; empty if it is missing or unreadable."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


REPOSITORY: Final = Path(__file__).parents[2]
ROOT: Final = Path("/")
_SAME: Final = MappingProxyType(
    {"tensorflow": ("tensorflow", "tensorflow-cpu", "tensorflow-macos", "tf-nightly")}
)
"""Distribution names of packages that have several."""
_NOISE: Final = re.compile(
    r"\((?:R|TM)\)| CPU\b| @ .*$|\b\d+-Core\b|\bProcessor\b| with Radeon .*$", re.IGNORECASE
)
"""Additions of vendors to a processor's name."""


def facts(
    device: str = "cpu",
    *,
    devices: int | None = None,
    folder: Path | None = None,
    visible: str | None = None,
    replicas: int | None = None,
    slow_share: float = 0.0,
    waiting: str = "",
    part: str = "replica",
) -> dict[str, Any]:
    """Return the system columns, `python_version` and `git_describe`; None means unknown.

    `devices` accelerators are used, from the first that CUDA_VISIBLE_DEVICES=`visible` shows
    (None: all); the data lies in `folder`. `replicas` are copies of the network that share a CPU,
    or its parts, as `part` says; None without a distribution strategy. One of them is stopped for
    `slow_share` of the time, or each has a random wait a step, in words `waiting`: then the system
    has another name. Only NVIDIA's GPUs are detected here;
    the framework in the measured process reports others and TPUs.
    """
    on_cpu = device == "cpu"
    accelerator = (
        _cpu(replicas, slow_share, waiting, part)
        if on_cpu
        else _accelerator(device, devices, visible)
    )
    return {
        "device_kind": device,
        "number_of_nodes": 1,
        **accelerator,
        "host_processor_model_name": processor(),
        "host_processors_per_node": sockets(),
        "host_processor_core_count": usable_cores(),
        "host_memory_bytes": psutil.virtual_memory().total,
        "host_storage_type": storage_type(folder) if folder is not None else None,
        "operating_system": operating_system(),
        "python_version": platform.python_version(),
        "git_describe": git_describe(),
    }


def _cpu(
    replicas: int | None = None, slow_share: float = 0.0, waiting: str = "", part: str = "replica"
) -> dict[str, Any]:
    system = Text("{part} on a {machine}", part=part, machine=_host_name())
    if slow_share:
        system = Text("{system}, one stopped {share:g} % of the time",
                      system=system, share=100.0 * slow_share)  # fmt: skip
    if waiting:
        system = Text("{system}, each waiting {waiting} a step", system=system, waiting=waiting)
    return {
        "system_name": _host_name() if replicas is None else system,
        "accelerator_model_name": None,
        "accelerators_per_node": replicas or 1,
        "accelerator_memory_bytes": None,
        "accelerator_interconnect": None,
        "peer_to_peer": None,
        "accelerator_host_interconnect": None,
        "accelerator_driver_version": None,
        "accelerator_clocks": None,
    }


def _accelerator(device: str, devices: int | None, visible: str | None) -> dict[str, Any]:
    """Return the columns of `_cpu` for an accelerator; unnamed ones are named by their host."""
    unnamed = f"{device.upper()} of a {_host_name()}"
    if device != "gpu":
        return {**_cpu(), "system_name": unnamed, "accelerators_per_node": devices}
    with closing(nvidia.open_cards(visible, devices)) as cards:
        name = cards.name()
        return {
            "system_name": name or unnamed,
            "accelerator_model_name": name,
            "accelerators_per_node": len(cards.handles) or devices,
            "accelerator_memory_bytes": cards.memory_bytes(),
            **_links(visible),
            "accelerator_host_interconnect": cards.host_link(),
            "accelerator_driver_version": cards.driver(),
            "accelerator_clocks": cards.clocks(),
        }


def _links(visible: str | None) -> dict[str, Any]:
    """Return the links between the cards of this machine, even if a run uses only one."""
    with closing(nvidia.open_cards(visible)) as every:
        return {
            "accelerator_interconnect": every.interconnect(),
            "peer_to_peer": every.peer_to_peer(),
        }


def clocks(device: str, *, visible: str | None = None) -> str | None:
    """Return the current `accelerator_clocks`; call it during a run, idle clocks are lower."""
    if device != "gpu":
        return None
    with closing(nvidia.open_cards(visible, 1)) as cards:
        return cards.clocks()


def load_average() -> float | None:
    """Return the 1-minute load average; None if the system has none."""
    try:
        return os.getloadavg()[0]
    except (OSError, AttributeError):
        return None


def versions(names: Iterable[str]) -> dict[str, str]:
    """Return the versions of the installed packages among `names`, without importing any."""
    installed = {name: _version(name) for name in names}
    return {name: version for name, version in installed.items() if version is not None}


def _version(name: str) -> str | None:
    for shipped in _SAME.get(name, (name,)):
        try:
            return metadata.version(shipped)
        except metadata.PackageNotFoundError:
            continue
    return None


def git_describe(repository: Path = REPOSITORY) -> str | None:
    """Return the version of the measuring code; None without git or outside its repository."""
    if not (repository / ".git").exists():  # git would use an outer repository
        return None
    command = ["git", "-C", str(repository), "--no-optional-locks", "describe"]
    return _output([*command, "--always", "--dirty"])


def _output(command: list[str]) -> str | None:
    """Return the first line that a program prints within 2 s; None if it fails."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=2, env=clean)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    lines = done.stdout.splitlines()
    return lines[0].strip() if done.returncode == 0 and lines else None


# -- the host --------------------------------------------------------------------------------------


def _host_name() -> str:
    """Return a descriptive name of the machine; never its network name."""
    model = processor() or platform.machine() or "unknown processor"
    short = " ".join(_NOISE.sub(" ", model).split())
    return f"{usable_cores()}-core {short}"


def processor(root: Path = ROOT) -> str | None:
    """Return the processor's model name; None if the kernel has none (many ARM machines)."""
    if platform.system() == "Darwin":
        return _output(["sysctl", "-n", "machdep.cpu.brand_string"])
    return next(_cpuinfo(root, "model name"), None)


def sockets(root: Path = ROOT) -> int | None:
    """Return the number of processor packages; None if unknown."""
    if platform.system() == "Darwin":
        text = _output(["sysctl", "-n", "hw.packages"])
        return int(text) if text and text.isdecimal() else None
    return len(set(_cpuinfo(root, "physical id"))) or None


def _cpuinfo(root: Path, name: str) -> Iterator[str]:
    """Yield the values of one key of /proc/cpuinfo, once for each logical processor."""
    for line in read(root / "proc" / "cpuinfo").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name and value.strip():
            yield value.strip()


def operating_system() -> str:
    """Return the distribution and kernel, as "Debian GNU/Linux 12 (bookworm), Linux 6.1.0"."""
    kernel = f"{platform.system()} {platform.release()}"
    if platform.system() == "Darwin":
        return f"macOS {platform.mac_ver()[0]}, {kernel}"
    try:
        return f"{platform.freedesktop_os_release()['PRETTY_NAME']}, {kernel}"
    except (OSError, KeyError):
        return kernel


def storage_type(folder: Path) -> str | None:
    """Return the type of the file system a folder lies on (ext4, overlay, nfs4 ...)."""
    there = folder.resolve()
    try:
        mounts = psutil.disk_partitions(all=True)
    except OSError:
        return None
    around = [m for m in mounts if there.is_relative_to(m.mountpoint)]
    around.sort(key=lambda m: len(Path(m.mountpoint).parts))  # the last of equals is on top
    return str(around[-1].fstype) or None if around else None


def network_speed(host: str) -> int | None:
    """Return the speed of the interface that has this host's address [bit/s]; None if unknown.

    Loopback and most virtual interfaces have none.
    """
    try:
        address = socket.gethostbyname(host)
    except (OSError, UnicodeError):
        return None
    names = [
        name
        for name, addresses in psutil.net_if_addrs().items()
        if address in {a.address for a in addresses}
    ]
    stats = psutil.net_if_stats()
    return next((stats[n].speed * 10**6 for n in names if n in stats and stats[n].speed), None)


# -- limits of this process ------------------------------------------------------------------------


def usable_cores(root: Path = ROOT) -> int:
    """Return the logical processors that affinity and cgroups allow this process."""
    try:
        allowed = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS has none
        allowed = os.cpu_count() or 1
    return max(1, min([allowed, *(math.ceil(q) for q in processors(root))]))


def memory_limit_bytes(root: Path = ROOT) -> int:
    """Return the memory available to a new process [bytes]: the minimum of free and cgroups'.

    Cached file pages count as free: the kernel drops them first.
    """
    free = int(psutil.virtual_memory().available)
    return max(0, min([free, *memory_left_bytes(root)]))
