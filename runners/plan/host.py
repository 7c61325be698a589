"""This host: which Python starts which backend on which device, and who launches its cases."""

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from planner.core import Text
from runners.launch.launcher import LOCAL, Launcher
from runners.machine import nvidia
from runners.plan.cases import OF_PROCESSES, Case, Device
from runners.plan.expand import Expanded, Host
from runners.plan.spec import SpecError
from runners.process.supervise import ROOT


def placed(name: str, expanded: Expanded, launcher: Launcher) -> Expanded:
    """Return the cases of sweep `name` as the launcher starts them.

    Cases of one process stay as they are: they run on this machine.

    Raises:
        SpecError: the launcher cannot start some cases, or starts none; it lists all problems.
    """
    if launcher.launcher == LOCAL:
        return expanded
    several = [case for case in expanded.cases if case.strategy in OF_PROCESSES]
    problems = [text for case in several for text in _problems(case, launcher)]
    if not several:
        problems = [
            Text(
                "launcher {launcher} starts runs of several processes; this sweep has none. "
                'Set strategy = "multi-worker mirrored" in some runs.',
                launcher=launcher.launcher,
            )
        ]
    if problems:
        raise SpecError(name, problems)
    cases = tuple(_placed(case, launcher) for case in expanded.cases)
    return replace(expanded, cases=cases)


def _problems(case: Case, launcher: Launcher) -> list[str]:
    server = case.strategy == "parameter server"
    return list(launcher.problems(case.devices, server=server))


def _placed(case: Case, launcher: Launcher) -> Case:
    if case.strategy not in OF_PROCESSES:
        return case
    return replace(case, launcher=launcher.launcher, nodes=launcher.nodes(case.devices))


BACKENDS: Final = ("tensorflow", "jax", "torch")
_QUERY: Final = """
import importlib.metadata as m, importlib.util as u, json, platform
have = [n for n in ("tensorflow", "jax", "torch") if u.find_spec(n) and u.find_spec("keras")]
names = ("tensorflow", "tensorflow-cpu", "tensorflow-tpu", "jax", "jaxlib", "torch", "keras")
installed = {d.metadata["Name"].lower(): d.version for d in m.distributions()}
print(json.dumps({"have": have, "python": platform.python_version(),
                  "versions": {n: installed[n] for n in names if n in installed}}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Python:
    """An interpreter that can run a backend, and its installed packages."""

    path: str
    python_version: str
    versions: Mapping[str, str]


def pythons(named: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, Python]:
    """Return interpreters by backend: the named one, this one, or `.venv-<backend>`.

    The backend of KERAS_BACKEND, if set, comes first, so it is used for `auto`.
    """
    interpreters: dict[str, Python] = {}
    for backend in BACKENDS:
        places = [named[backend]] if backend in named else _places(backend)
        python = next((p for place in places if (p := _interpreter(place, backend))), None)
        if python:
            interpreters[backend] = python
    first = environment.get("KERAS_BACKEND", "")
    return dict(sorted(interpreters.items(), key=lambda item: item[0] != first))


def problems(
    named: Mapping[str, str], environment: Mapping[str, str], available: Mapping[str, Python]
) -> list[str]:
    """Return an error for each requested backend that is unavailable; none is replaced."""
    messages: list[str] = [
        Text(
            "--python {backend}={path}: this does not start {backend} with Keras.",
            backend=backend,
            path=place,
        )
        if backend in BACKENDS
        else Text(
            "--python {backend}={path}: {backend} is not a backend. Backends are {backends}.",
            backend=backend,
            path=place,
            backends=", ".join(BACKENDS),
        )
        for backend, place in named.items()
        if backend not in available
    ]
    first = environment.get("KERAS_BACKEND")
    if first and first not in {*available, *named}:
        messages.append(
            Text(
                "backend {backend} (--backend or KERAS_BACKEND) cannot be started here. "
                "Install it, name its Python with --python {backend}=PATH, or choose one of: "
                "{others}.",
                backend=first,
                others=", ".join(available) or "none is installed",
            )
        )
    return messages


def _places(backend: str) -> Iterable[str]:
    yield sys.executable
    beside = ROOT / f".venv-{backend}" / "bin" / "python"
    if beside.exists():
        yield str(beside)


def _interpreter(place: str, backend: str) -> Python | None:
    have, python_version, versions = _installed(place)
    if backend not in have:
        return None
    return Python(path=place, python_version=python_version, versions=dict(versions))


@lru_cache
def _installed(place: str) -> tuple[frozenset[str], str, tuple[tuple[str, str], ...]]:
    """Return an interpreter's backends, Python version and packages, without importing them."""
    command = [place, "-c", _QUERY]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=ROOT)
        reply = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return frozenset(), "", ()
    return frozenset(reply["have"]), reply["python"], tuple(reply["versions"].items())


def detect(available: Mapping[str, Python], environment: Mapping[str, str]) -> Host:
    """Return the host: its best device, and the backends in order of preference."""
    return Host(device=_device(environment), backends=tuple(available))


def _device(environment: Mapping[str, str]) -> Device:
    cards = nvidia.open_cards(environment.get("CUDA_VISIBLE_DEVICES"))
    try:
        if cards.handles:
            return "gpu"
    finally:
        cards.close()
    if Path("/dev/accel0").exists() or environment.get("TPU_NAME"):
        return "tpu"
    return "cpu"
