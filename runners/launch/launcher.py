"""The launcher of a sweep: how the processes of a run are started, and on which hosts.

    [launch]
    launcher = "command"          # local, command, ray, spark or slurm
    hosts = ["a", "b=10.0.0.2"]   # name, or name=address where the name is not the address
    server_host = "c"             # of chief and parameter server; default: the first of hosts
    prefix = "ssh {host}"         # started before the command of each worker
    ports = "20000-29999"         # of the workers; free ports of other hosts cannot be looked up
    directory = "/srv/epochwise"  # this repository on the hosts
    python = "/srv/venv/bin/python"   # the interpreter on the hosts

The last three have defaults: the range above, and the same places as on this machine. Only
`command` has hosts. The others ask their cluster for places.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from planner.core import Text

LOCAL: Final = "local"
MODULES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        LOCAL: ("-m", "runners.launch"),
        "command": ("-m", "runners.launch"),
        "ray": ("-m", "runners.launch.ray_tasks"),
        "spark": ("-m", "runners.launch.spark_stage"),
        "slurm": ("-m", "runners.launch.slurm", "--srun"),
    }
)
"""Arguments that start each launcher in an interpreter."""
NEEDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "command": ("SSH_AUTH_SOCK",),
        "ray": ("RAY_",),
        "spark": ("SPARK_", "PYSPARK_", "JAVA_HOME", "HADOOP_"),
        "slurm": ("SLURM_", "EPOCHWISE_PORTS"),
    }
)
"""First letters of the variables that a launcher needs beside those of a measured process."""
ROOT: Final = Path(__file__).parents[2]
PORTS: Final = "20000-29999"
"""Below the ports that Linux gives to outgoing connections (32768 and up)."""
FIELDS: Final = ("launcher", "hosts", "server_host", "prefix", "ports", "directory", "python")
_HOST: Final = re.compile(r"[\w.@:-]+(?:=[\w.:-]+)?")
_PORTS: Final = re.compile(r"(\d{4,5})-(\d{4,5})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """How the processes of a run are started; the fields are those of the table above."""

    launcher: str = LOCAL
    hosts: tuple[str, ...] = ()
    server_host: str | None = None
    prefix: str = "ssh {host}"
    ports: str = PORTS
    directory: str = str(ROOT)
    python: str | None = None

    def nodes(self, workers: int) -> int:
        """Return the number of hosts that so many workers use; 1 where a cluster chooses them."""
        return max(1, min(len(self.hosts), workers))

    def arguments(self, workers: int, *, server: bool) -> tuple[str, ...]:
        """Return the arguments that start so many workers; their command follows."""
        options: tuple[str, ...] = ("--server",) if server else ()
        if self.launcher == "command":
            options += ("--hosts", ",".join(self.hosts), "--prefix", self.prefix,
                        "--ports", self.ports, "--directory", self.directory,
                        *(("--server_host", self.server_host) if self.server_host else ()),
                        *(("--python", self.python) if self.python else ()))  # fmt: skip
        return (*MODULES[self.launcher], *options, str(workers))

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the variables of `environ` that this launcher itself needs."""
        starts = NEEDS.get(self.launcher, ())
        return {k: v for k, v in environ.items() if starts and k.startswith(starts)}

    def host_names(self) -> dict[str, str]:
        """Return names and addresses of the hosts, as variables whose values are no public text."""
        named = (*self.hosts, *([self.server_host] if self.server_host else ()))
        parts = (part for host in named for part in host.split("="))
        return {f"HOST_{place}": part for place, part in enumerate(parts)}

    def problems(self, workers: int, *, server: bool) -> Iterator[str]:
        """Yield why so many workers cannot be started, and what to change."""
        nodes = self.nodes(workers)
        if workers % nodes:
            yield Text(
                "devices = {workers} cannot be spread evenly over {nodes} hosts. Take a "
                "multiple of {nodes}, or name fewer hosts.",
                workers=workers,
                nodes=nodes,
            )
        ports, needed = port_range(self.ports) or range(0), workers + 2 * server
        if self.launcher == "command" and len(ports) < needed:
            yield Text(
                "launch.ports: {ports} has {count} ports for {needed} processes. Give a "
                "longer range.",
                ports=self.ports,
                count=len(ports),
                needed=needed,
            )
        if server and self.launcher not in {LOCAL, "command"}:
            yield Text(
                "launcher {launcher} starts synchronous workers only. Set strategy = "
                '"multi-worker mirrored", or launcher = "command".',
                launcher=self.launcher,
            )


def from_table(table: Mapping[str, Any]) -> tuple[Launcher, list[str]]:
    """Return the launcher of a table [launch], and the table's problems."""
    unknown = [name for name in table if name not in FIELDS]
    allowed = ", ".join(FIELDS)
    problems: list[str] = [
        Text("launch.{name}: is unknown. Choose from: {allowed}.", name=name, allowed=allowed)
        for name in unknown
    ]
    texts = {n: v for n, v in table.items() if n in FIELDS and n != "hosts"}
    wrong = [name for name, value in texts.items() if not isinstance(value, str)]
    problems += [
        Text("launch.{name}: is {value!r}; it must be text.", name=name, value=texts[name])
        for name in wrong
    ]
    hosts = table.get("hosts", [])
    hosts = hosts.split(",") if isinstance(hosts, str) else hosts
    if not isinstance(hosts, Sequence) or not all(isinstance(h, str) for h in hosts):
        wrong_hosts = Text("launch.hosts: is {hosts!r}; it must be a list of names.", hosts=hosts)
        return Launcher(), [*problems, wrong_hosts]
    if problems:
        return Launcher(), problems
    launcher = Launcher(**texts, hosts=tuple(h.strip() for h in hosts if h.strip()))
    return launcher, list(_problems(launcher))


def _problems(launcher: Launcher) -> Iterator[str]:
    name = launcher.launcher
    if name not in MODULES:
        yield Text(
            "launch.launcher: {name!r} is unknown. Choose from: {allowed}.",
            name=name,
            allowed=", ".join(MODULES),
        )
    yield from _host_problems(launcher)
    if not launcher.prefix.strip() or not _splits(launcher.prefix):
        yield Text(
            "launch.prefix: {prefix!r} is not a command, as ssh {{host}}.", prefix=launcher.prefix
        )
    if not port_range(launcher.ports):
        yield Text(
            "launch.ports: {ports!r} is not a range of ports, as {example}.",
            ports=launcher.ports,
            example=PORTS,
        )
    for field in ("directory", "python"):
        place = getattr(launcher, field)
        if place is not None and shlex.quote(place) != place:  # ssh hands it to a shell
            yield Text(
                "launch.{field}: {place!r} contains characters that a shell changes.",
                field=field,
                place=place,
            )


def _host_problems(launcher: Launcher) -> Iterator[str]:
    name = launcher.launcher
    if name == "command" and not launcher.hosts:
        yield "launch.hosts: is missing. Name the hosts of the workers, as a,b."
    if name != "command" and (launcher.hosts or launcher.server_host):
        yield Text(
            'launch.hosts: launcher {name} takes no hosts. Set launcher = "command".', name=name
        )
    if len(set(launcher.hosts)) < len(launcher.hosts):
        yield "launch.hosts: a host is named twice. Workers are spread over distinct hosts."
    for host in (*launcher.hosts, *([launcher.server_host] if launcher.server_host else ())):
        if not _HOST.fullmatch(host):
            yield Text("launch.hosts: {host!r} is not a name or name=address.", host=host)


def _splits(text: str) -> bool:
    try:
        return bool(shlex.split(text))
    except ValueError:  # an open quote
        return False


def port_range(text: str) -> range | None:
    """Return the ports of a range, as 20000-29999; None for another text."""
    match = _PORTS.fullmatch(text)
    if not match:
        return None
    ports = range(int(match[1]), int(match[2]) + 1)
    return ports if ports and ports[0] >= 1024 and ports[-1] < 65536 else None
