"""Measure one case in a fresh child, with energy and load, and return its row."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from planner.runs import Row
from runners.launch.launcher import LOCAL, Launcher
from runners.machine import environment
from runners.machine import facts as machine
from runners.machine.energy import EnergyMeter
from runners.plan import cases
from runners.plan.cases import OF_PROCESSES, Case, waiting
from runners.plan.host import Python
from runners.process.events import Event
from runners.process.supervise import Ended, supervise
from runners.process.supervise import ProcessLimits as RunLimits
from runners.sweep import rows

CHILD: Final = ("-m", "runners.child")
_METER_S: Final = 1.0
"""Interval between readings of the energy meter [s]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Interpreters, folders and limits for measuring cases."""

    pythons: Mapping[str, Python]
    environ: Mapping[str, str]
    """Environment of this process; children get an allow-listed part."""
    cache: Path
    """Folder for samples written as files."""
    timeout_s: float
    memory_share: float
    memory_bytes: int | None = None
    """Memory limit of a run; None means its share of the free memory at the start."""
    child: tuple[str, ...] = CHILD
    """Arguments that start the measuring child in an interpreter."""
    launcher: Launcher = field(default_factory=Launcher)
    """How the processes of runs with several are started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """Callbacks: on each event, about every 50 ms, and whether to stop."""

    on_event: Callable[[Event], None] = lambda _: None
    beat: Callable[[], None] = lambda: None
    stop: Callable[[], bool] = lambda: False


def measure(case: Case, bench: Bench, result_set: str, hooks: Hooks | None = None) -> Row:
    """Return the row of a case, also of a failed run; raise `Stopped` if the hooks stop it."""
    hooks = hooks or Hooks()
    python = bench.pythons[case.backend]
    environ = environment.for_child(
        bench.environ,
        backend=case.backend,
        threads=case.threads,
        device=case.device,
        tuned=case.tuned,
    )
    visible = environ.get("CUDA_VISIBLE_DEVICES")
    if case.launcher != LOCAL:
        environ |= bench.launcher.environment(bench.environ)
    meter = EnergyMeter(device=case.device, devices=case.devices, visible=visible)
    around = _Around(meter=meter)
    around.before()

    def on_event(event: Event) -> None:
        around.seen(event)
        hooks.on_event(event)

    def beat() -> None:
        around.beat()
        hooks.beat()

    share = int(bench.memory_share * machine.memory_limit_bytes())
    limits = RunLimits(timeout_s=bench.timeout_s, memory_bytes=bench.memory_bytes or share)
    ended = supervise(
        [python.path, *_launched(case, bench)],
        {"case": cases.to_json(case), "cache": str(bench.cache)},
        environ,
        limits,
        on_event=on_event,
        beat=beat,
        stop=hooks.stop,
    )
    row = rows.row_of(
        case,
        _cleaned(ended, {**bench.environ, **bench.launcher.host_names()}),
        result_set=result_set,
        recorded_at=datetime.now(UTC),
        facts=_facts(case, bench, python),
        around=around.columns(elsewhere=case.launcher != LOCAL),
    )
    return _with_limit(row, limits) if ended.status == "oom" else row


def _launched(case: Case, bench: Bench) -> tuple[str, ...]:
    if case.strategy not in OF_PROCESSES:
        return bench.child
    server = case.strategy == "parameter server"
    start = bench.launcher.arguments(case.devices, server=server)
    return (*start, *bench.child)


def _with_limit(row: Row, limits: RunLimits) -> Row:
    """Return the row with its memory limit in `extra`; a larger limit allows a retry."""
    extra = {**rows.extra_of(row), "memory_limit_bytes": limits.memory_bytes}
    return {**row, "extra": json.dumps(extra, sort_keys=True)}


_PART: Final = {"stage": "stage", "branch": "branch", "tensor": "shard"}
"""What each device has, by strategy: a part of the name of a system that shares a CPU."""


def _facts(case: Case, bench: Bench, python: Python) -> dict[str, Any]:
    """Return columns of the machine and the planned software, in case the child sends none."""
    columns = machine.facts(
        case.device,
        devices=case.devices,
        folder=bench.cache if case.storage == "storage" else None,
        visible=bench.environ.get("CUDA_VISIBLE_DEVICES"),
        replicas=None if case.strategy == "none" else case.devices,
        slow_share=case.slow_share,
        waiting=waiting(case.wait_s, case.wait_sd_s) if case.wait_s else "",
        part=_PART.get(case.strategy, "replica"),
    )
    version = next((v for k, v in python.versions.items() if k.startswith(case.backend)), None)
    software = {"python_version": python.python_version, "framework_version": version,
                "keras_version": python.versions.get("keras")}  # fmt: skip
    columns["number_of_nodes"] = case.nodes
    if case.nodes > 1:
        columns["accelerators_per_node"] = case.devices // case.nodes
    return {**columns, **software}


def _cleaned(ended: Ended, environ: Mapping[str, str]) -> Ended:
    """Return the end with secrets and machine details removed from its reason."""
    if ended.reason is None:
        return ended
    return replace(ended, reason=environment.clean(ended.reason, environ) or ended.status)


@dataclass(slots=True)
class _Around:
    """Readings around a run: load before and after, energy while it trains, clocks."""

    meter: EnergyMeter
    values: dict[str, Any] = field(default_factory=dict)
    training: bool = False
    read_at_s: float = 0.0

    def before(self) -> None:
        self.values["load_average_before"] = machine.load_average()

    def seen(self, event: Event) -> None:
        if event["event"] == "training":
            self.meter.start()
            self.training, self.read_at_s = True, time.perf_counter()
        if event["event"] in {"timed", "trained", "failed", "result"} and self.training:
            self._stop()

    def beat(self) -> None:
        now_s = time.perf_counter()
        if self.training and now_s - self.read_at_s >= _METER_S:
            self.meter.poll()
            self.read_at_s = now_s
            if clocks := machine.clocks(self.meter.device, visible=self.meter.visible):
                self.values["accelerator_clocks"] = clocks

    def columns(self, *, elsewhere: bool = False) -> dict[str, Any]:
        """Return the readings; none for workers that may be `elsewhere`: they are of this machine.

        A reading of this machine is no reading of its workers' machines.
        """
        if self.training:
            self._stop()
        self.values["load_average_after"] = machine.load_average()
        return {} if elsewhere else self.values

    def _stop(self) -> None:
        energy = self.meter.stop()
        self.training = False
        self.values["energy_kwh"] = energy.energy_kwh
        self.values["energy_source"] = energy.source
        self.values["mean_power_watts"] = energy.mean_power_watts
