"""The command `links`: step times over links of a set rate, beside their prediction.

Two workers train in two network namespaces of this machine (Linux, root). Each has one end of a
veth pair; `tc` limits both ends with a token bucket (tbf). The namespaces are deleted at the end,
also after an error. The prediction adds the transfer of the
gradients and the link's latency to the step over the unlimited link (`planner.scaling._uneven`).

With `--server` 1, 2 and 4 asynchronous workers are in one namespace and their parameter server in
the other one. The prediction is that of `planner.scaling._uneven`: a worker takes the weights and
sends its gradients, and the link of the server limits all workers together.
"""

import argparse
import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from planner.core import Text, plain, slug
from planner.runs import Row
from planner.scaling import Workers, asynchronous, ring_step_s, server_limit
from planner.store.disk.files import write_once
from planner.store.disk.sweeps import state_folder
from runners.commands.console import FAILED, OK, Stop, refuse, say
from runners.launch.launcher import Launcher
from runners.machine import facts
from runners.plan.cases import Case
from runners.plan.expand import Expanded
from runners.plan.host import Python, placed, pythons
from runners.sweep.measure import Bench, Hooks, measure
from runners.sweep.rows import SetFolder, describe, extra_of

_FOLDERS: Final = os.pathsep.join((os.defpath, "/usr/sbin", "/sbin"))
"""Folders of ip and tc, which an ordinary user's PATH may lack."""
_LEAST_BURST_BYTES: Final = 16_000
_BURST_S: Final = 1e-3
"""Time of traffic that may pass at once [s]: short beside a step at low rates."""
_QUEUE: Final = "100ms"
"""Longest wait in the queue of a link; packets beyond are dropped."""


class NotPossibleError(Exception):
    """This machine has no network namespaces for this user; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPair:
    """Two connected namespaces; each is its name and the address of its end."""

    names: tuple[str, str]
    addresses: tuple[str, str]

    @property
    def hosts(self) -> tuple[str, ...]:
        """The namespaces as hosts of a launcher: name=address."""
        pairs = zip(self.names, self.addresses, strict=True)
        return tuple(f"{name}={address}" for name, address in pairs)

    @property
    def prefix(self) -> str:
        """The command prefix that runs a program in a namespace."""
        return " ".join((_program("ip"), "netns", "exec", "{host}"))

    def unlimit(self) -> None:
        """Take the limit off the link."""
        for name in self.names:
            with contextlib.suppress(NotPossibleError):  # it has none
                _call("ip", "netns", "exec", name, _program("tc"), "qdisc", "delete", "dev",
                      "veth0", "root")  # fmt: skip

    def shape(self, rate_bits_per_s: float) -> None:
        """Limit the link to a rate in each direction [bit/s]."""
        burst = max(_LEAST_BURST_BYTES, int(rate_bits_per_s / 8 * _BURST_S))
        for name in self.names:
            _call("ip", "netns", "exec", name, _program("tc"), "qdisc", "replace", "dev", "veth0",
                 "root", "tbf", "rate", f"{rate_bits_per_s:.0f}bit", "burst", str(burst),
                 "latency", _QUEUE)  # fmt: skip


@contextlib.contextmanager
def pair() -> Iterator[LinkPair]:
    """Make two connected namespaces and delete them at the end.

    Raises:
        NotPossibleError: programs or rights are missing.
    """
    own = os.getpid()
    made = LinkPair(
        names=(f"epochwise-{own}-a", f"epochwise-{own}-b"), addresses=("10.77.0.1", "10.77.0.2")
    )
    try:
        _make(made)
        yield made
    finally:
        for name in made.names:
            with contextlib.suppress(NotPossibleError):  # it was not made
                _call("ip", "netns", "delete", name)


def _make(made: LinkPair) -> None:
    for name in made.names:
        _call("ip", "netns", "add", name)
    first, second = made.names
    _call("ip", "link", "add", "veth0", "netns", first, "type", "veth", "peer", "name", "veth0",
         "netns", second)  # fmt: skip
    for name, address in zip(made.names, made.addresses, strict=True):
        _call("ip", "-n", name, "address", "add", f"{address}/24", "dev", "veth0")
        for device in ("lo", "veth0"):
            _call("ip", "-n", name, "link", "set", device, "up")
    made.shape(10e9)  # a kernel without tbf is noticed before a run


def _program(name: str) -> str:
    path = shutil.which(name) or shutil.which(name, path=_FOLDERS)
    if not path:
        raise NotPossibleError(Text("The program {name} is missing. Install iproute2.", name=name))
    return path


def _call(program: str, *arguments: str) -> None:
    """Run ip or tc; NotPossibleError has its message."""
    command = [_program(program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        reason = lines[0] if lines else Text("exit code {returncode}", returncode=done.returncode)
        raise NotPossibleError(
            Text(
                "{program} {arguments}: {reason}. It needs root and CAP_NET_ADMIN.",
                program=program,
                arguments=" ".join(arguments[:2]),
                reason=reason,
            )
        )


RATES: Final = (10e9, 1e9, 100e6)
"""Rates of the link [bit/s]."""
BAR_RATE: Final = 100e6
"""The rate at which the error is judged [bit/s]: there the transfer is most of the step."""
BAR: Final = 0.15
"""Largest error there, as a share of the measured step."""
STEPS: Final = 40
"""Steps of an epoch; their median is the step time."""
WORKERS: Final = (1, 2, 4)
"""Numbers of asynchronous workers across the link from their server."""
UPDATES: Final = 32
"""Updates of an epoch and worker."""
_TIMEOUT_S: Final = 300.0
_MEMORY_SHARE: Final = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A run over a link; rate None is the unlimited link, `predicted_s` is None there."""

    rate_bits_per_s: float | None
    step_s: float
    predicted_s: float | None
    latency_s: float
    all_reduce_bits_per_s: float
    gradient_bytes: int

    @property
    def error(self) -> float | None:
        """Error of the prediction, as a share of the measured step."""
        return None if self.predicted_s is None else self.predicted_s / self.step_s - 1.0

    @property
    def misses_bar(self) -> bool:
        """Whether this is the judged rate, and the error is larger than the bar."""
        judged = self.rate_bits_per_s == BAR_RATE and self.error is not None
        return judged and abs(self.error or 0.0) > BAR


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedRun:
    """A run with its server across a link; rate None is the unlimited link.

    `updates_per_s` are those of all workers; `predicted_per_s` is None on the unlimited link.
    """

    workers: int
    rate_bits_per_s: float | None
    updates_per_s: float
    predicted_per_s: float | None
    server_limits: bool
    parameter_bytes: int

    @property
    def error(self) -> float | None:
        """Error of the prediction, as a share of the measured updates."""
        if self.predicted_per_s is None:
            return None
        return self.predicted_per_s / self.updates_per_s - 1.0


class FailedRunError(Exception):
    """A run did not end well; the text has its status and reason."""


def links_command(args: argparse.Namespace, stop: Stop) -> int:
    """Print measured and predicted step times; 2 without namespaces, 1 above the bar."""
    python = pythons({}, os.environ).get("tensorflow")
    if python is None:
        return refuse(args, [text := "Not run: TensorFlow is not installed here."], text)
    rows: list[Row] = []
    served: list[ServedRun] = []
    measured: list[Measured] = []
    try:
        with pair() as namespaces:
            if args.server:
                served = served_over(namespaces, python, RATES[1:], stop=stop, keep=rows.append)
            else:
                measured = compared(namespaces, python, RATES, stop=stop, keep=rows.append)
    except NotPossibleError as error:
        text = Text("Not run: this machine has no network namespaces for you. {error}", error=error)
        return refuse(args, [text], text)
    except FailedRunError as error:
        refuse(args, [str(error)], str(error))
        return FAILED
    missed = any(link.misses_bar for link in measured)
    if args.results:
        _store(args, rows)
    if args.json:
        body = {"links": [_as_json(link) for link in measured], "within_bar": not missed}
        say(json.dumps({"served": [_as_json(link) for link in served]} if args.server else body))
    elif args.server:
        _print_served(served)
    else:
        _print(measured, missed=missed)
    return FAILED if missed else OK


def compared(
    namespaces: LinkPair, python: Python, rates: Sequence[float], *, steps: int = STEPS,
    stop: Stop = lambda: False, keep: Callable[[Row], None] = lambda _: None,
) -> list[Measured]:  # fmt: skip
    """Return the runs over the unlimited link and each rate [bit/s], in this order.

    `keep` is called with the row of each run.

    Raises:
        FailedRunError: a run did not end well.
        Stopped: `stop` is true.
    """
    launcher = Launcher(launcher="command", hosts=namespaces.hosts, prefix=namespaces.prefix)
    namespaces.unlimit()
    free = _measured(launcher, python, steps, stop)
    keep(_named(free, None))
    links = [_compared(free, None, free)]
    for rate in rates:
        namespaces.shape(rate)
        row = _measured(launcher, python, steps, stop)
        keep(_named(row, rate))
        links.append(_compared(row, rate, free))
    return links


def served_over(
    namespaces: LinkPair, python: Python, rates: Sequence[float], *,
    counts: Sequence[int] = WORKERS, updates: int = UPDATES, stop: Stop = lambda: False,
    keep: Callable[[Row], None] = lambda _: None,
) -> list[ServedRun]:  # fmt: skip
    """Return the runs of each number of workers over the unlimited link and each rate [bit/s].

    `keep` is called with the row of each run. Raises as `compared`.
    """
    server, workers = namespaces.hosts
    launcher = Launcher(launcher="command", hosts=(workers,), server_host=server,
                        prefix=namespaces.prefix)  # fmt: skip
    links = []
    for count in counts:
        namespaces.unlimit()
        free = _run(_served_case(count, updates), launcher, python, stop)
        keep(_named(free, None, server=True))
        links.append(_served(free, None, free, count))
        for rate in rates:
            namespaces.shape(rate)
            row = _run(_served_case(count, updates), launcher, python, stop)
            keep(_named(row, rate, server=True))
            links.append(_served(row, rate, free, count))
    return links


def _served(row: Row, rate: float | None, free: Row, workers: int) -> ServedRun:
    """Return a run beside the prediction from the run over the unlimited link."""
    size = int(extra_of(row)["gradient_bytes"])
    bytes_per_s = (rate or float("inf")) / 8.0
    step_s = workers / _updates_per_s(free)
    made = asynchronous(
        Workers(batch=1.0, times_s=np.full(workers, step_s)),
        server_limit(size, 1, 2.0 * bytes_per_s),
    )
    return ServedRun(
        workers=workers,
        rate_bits_per_s=rate,
        updates_per_s=_updates_per_s(row),
        predicted_per_s=None if rate is None else made.updates_per_s,
        server_limits=made.server_limits,
        parameter_bytes=size,
    )


def _updates_per_s(row: Row) -> float:
    """Return the updates of all workers in a second: each has its part of the global batch."""
    return float(row["throughput"]) / float(row["per_device_batch_size"])


UNLIMITED: Final = "an unlimited link"


def _named(row: Row, rate: float | None, *, server: bool = False) -> Row:
    """Return a row whose system names its link: another link is another system.

    The speed that a virtual interface states is not that of its link, so the rate replaces it.
    """
    link = UNLIMITED if rate is None else Text("a link of {rate}", rate=_rate(rate))
    system = row["system_name"]
    name = (
        Text("{system}, the parameter server behind {link}", system=system, link=link)
        if server
        else Text("{system}, two namespaces with {link}", system=system, link=link)
    )
    extra = {**extra_of(row), "network_bits_per_s": rate}
    stated = {name: value for name, value in extra.items() if value is not None}
    return {**row, "system_name": name,
            "host_networking": rate and Text("{rate}, limited by tc", rate=_rate(rate)),
            "extra": json.dumps(stated, sort_keys=True)}  # fmt: skip


_SET: Final = (
    "links",
    "Workers over links of a set rate",
    "Two synchronous workers in network namespaces, over links limited by tc.",
)
_SERVER_SET: Final = (
    "links-server",
    "A parameter server behind links of a set rate",
    "Asynchronous workers in one network namespace and their parameter server in another, over "
    "links limited by tc.",
)


def _store(args: argparse.Namespace, rows: Sequence[Row]) -> None:
    here = facts.facts()
    sweep, title, about = _SERVER_SET if args.server else _SET
    folder = args.results / slug(args.name or f"{sweep} {here['system_name']}")
    text = describe(sweep, title, about, {**here, "licence": args.licence})
    write_once(folder / "set.toml", text)
    for row in rows:
        licensed = {**row, "licence": args.licence} if args.licence else row
        SetFolder(folder).put({**licensed, "result_set": folder.name})
    if not args.json:
        say(Text("{count} runs are in {folder}.", count=len(rows), folder=folder))


def _measured(launcher: Launcher, python: Python, steps: int, stop: Stop) -> Mapping[str, Any]:
    """Return the row of two workers on the link as it is now."""
    return _run(_case(steps), launcher, python, stop)


def _case(steps: int) -> Case:
    return Case(
        sweep="links", workload="mlp", options=(("units", 512),), dataset="digits",
        train_samples=32 * steps, validation_samples=0, batch=32, epochs=2, threads=1,
        strategy="multi-worker mirrored", devices=2,
    )  # fmt: skip


def _served_case(workers: int, updates: int) -> Case:
    """Return asynchronous workers with a batch of 32 each."""
    return Case(
        sweep="links-server", workload="mlp", options=(("units", 512),), dataset="digits",
        train_samples=32 * updates, validation_samples=0, batch=32 * workers, epochs=3,
        threads=1, drop_remainder=True,
        strategy="parameter server", devices=workers,
    )  # fmt: skip


def _run(case: Case, launcher: Launcher, python: Python, stop: Stop) -> Row:
    """Return the row of a case; FailedRunError if it did not end well."""
    [case] = placed("links", Expanded(cases=(case,)), launcher).cases
    bench = Bench(
        pythons={"tensorflow": python}, environ=dict(os.environ),
        cache=state_folder(os.environ) / "cache", timeout_s=_TIMEOUT_S,
        memory_share=_MEMORY_SHARE, launcher=launcher,
    )  # fmt: skip
    row = measure(case, bench, "links", Hooks(stop=stop))
    if row["status"] != "ok":
        raise FailedRunError(
            Text(
                "A run over the link ended: {status}, {status_reason}",
                status=row["status"],
                status_reason=row["status_reason"],
            )
        )
    return row


def _compared(row: Mapping[str, Any], rate: float | None, free: Mapping[str, Any]) -> Measured:
    """Return a run beside the prediction from the run over the unlimited link."""
    extra, alone = extra_of(row), extra_of(free)
    more_s = max(0.0, extra["link_latency_s"] - alone["link_latency_s"])
    size = extra["gradient_bytes"]
    return Measured(
        rate_bits_per_s=rate,
        step_s=row["step_p50_s"],
        predicted_s=None
        if rate is None
        else ring_step_s(free["step_p50_s"], 2, size, rate, more_s),
        latency_s=extra["link_latency_s"],
        all_reduce_bits_per_s=8.0 * extra["link_4_mb_bytes_per_s"],
        gradient_bytes=size,
    )


def _as_json(link: Measured | ServedRun) -> dict[str, Any]:
    return {**asdict(link), "error": link.error}


def _print(links: Sequence[Measured], *, missed: bool) -> None:
    size = links[0].gradient_bytes / 1e6
    say(
        Text(
            "Two workers, {size:.2f} MB of gradients a step. Median step times, and the "
            "prediction from the unlimited link:",
            size=size,
        )
    )
    say(
        f"{'link':>13} {'measured':>10} {'predicted':>10} {'error':>7} {'latency':>9} "
        f"{'all-reduce':>13}"
    )
    for link in links:
        rate = "unlimited" if link.rate_bits_per_s is None else _rate(link.rate_bits_per_s)
        predicted = "" if link.predicted_s is None else f"{1e3 * link.predicted_s:.1f} ms"
        error = "" if link.error is None else f"{100 * link.error:+.0f} %"
        say(
            Text(
                "{rate:>13} {step_ms:>7.1f} ms {predicted:>10} {error:>7} {latency_ms:>6.1f} ms "
                "{all_reduce:>13}",
                rate=rate,
                step_ms=1e3 * link.step_s,
                predicted=predicted,
                error=error,
                latency_ms=1e3 * link.latency_s,
                all_reduce=_rate(link.all_reduce_bits_per_s),
            )
        )
    judged = "above" if missed else "within"
    say(
        Text(
            "At {rate} the error is {judged} {percent:.0f} %.",
            rate=_rate(BAR_RATE),
            judged=judged,
            percent=100 * BAR,
        )
    )


def _print_served(links: Sequence[ServedRun]) -> None:
    size = links[0].parameter_bytes / 1e6
    say(
        Text(
            "Asynchronous workers and their parameter server, {size:.2f} MB of weights. Updates "
            "in a second, and the prediction from the unlimited link:",
            size=size,
        )
    )
    say(f"{'link':>13} {'workers':>8} {'measured':>10} {'predicted':>10} {'error':>7}  limit")
    for link in links:
        rate = "unlimited" if link.rate_bits_per_s is None else _rate(link.rate_bits_per_s)
        predicted = "" if link.predicted_per_s is None else f"{link.predicted_per_s:.1f}"
        error = "" if link.error is None else f"{100 * link.error:+.0f} %"
        limit = "server" if link.server_limits else ""
        say(
            f"{rate:>13} {link.workers:>8} {link.updates_per_s:>10.1f} {predicted:>10} {error:>7}  "
            f"{limit}"
        )


def _rate(bits_per_s: float) -> str:
    """'10 Gbit/s', '94.3 Mbit/s'."""
    size, unit = (1e9, "Gbit/s") if bits_per_s >= 1e9 else (1e6, "Mbit/s")
    return f"{plain(bits_per_s / size, 3)} {unit}"
