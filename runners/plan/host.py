"""What can be measured here: which Python starts which backend, and on which device."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from runners.machine import nvidia
from runners.plan.cases import Device
from runners.plan.expand import Host
from runners.process.supervise import ROOT

BACKENDS: Final = ("tensorflow", "jax", "torch")
_ASK: Final = """
import importlib.metadata as m, importlib.util as u, json, platform
have = [n for n in ("tensorflow", "jax", "torch") if u.find_spec(n) and u.find_spec("keras")]
names = ("tensorflow", "tensorflow-cpu", "tensorflow-tpu", "jax", "jaxlib", "torch", "keras")
found = {d.metadata["Name"].lower(): d.version for d in m.distributions()}
print(json.dumps({"have": have, "python": platform.python_version(),
                  "versions": {n: found[n] for n in names if n in found}}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Python:
    """An interpreter that can run a backend, and what is installed beside it."""

    path: str
    python_version: str
    versions: Mapping[str, str]


def pythons(named: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, Python]:
    """Backend -> interpreter: the one named, this one, or `.venv-<backend>` of the repository.

    KERAS_BACKEND, where it is set, comes first and so is what `auto` means.
    """
    found: dict[str, Python] = {}
    for backend in BACKENDS:
        places = [named[backend]] if backend in named else _places(backend)
        python = next((p for place in places if (p := _asked(place, backend))), None)
        if python:
            found[backend] = python
    first = environment.get("KERAS_BACKEND", "")
    return dict(sorted(found.items(), key=lambda item: item[0] != first))


def problems(
    named: Mapping[str, str], environment: Mapping[str, str], found: Mapping[str, Python]
) -> list[str]:
    """What was asked for by name and cannot be had: nothing else is taken in its place."""
    told = [
        f"--python {backend}={place}: "
        + (f"this does not start {backend} with Keras." if backend in BACKENDS else
           f"{backend} is no backend. Backends are {', '.join(BACKENDS)}.")
        for backend, place in named.items()
        if backend not in found
    ]  # fmt: skip
    first = environment.get("KERAS_BACKEND")
    if first and first not in {*found, *named}:
        told.append(
            f"backend {first} (--backend or KERAS_BACKEND) cannot be started here. Install it, "
            f"name its Python with --python {first}=PATH, or ask for one of: "
            f"{', '.join(found) or 'none is installed'}."
        )
    return told


def _places(backend: str) -> Iterable[str]:
    yield sys.executable
    beside = ROOT / f".venv-{backend}" / "bin" / "python"
    if beside.exists():
        yield str(beside)


def _asked(place: str, backend: str) -> Python | None:
    have, python_version, versions = _ask(place)
    if backend not in have:
        return None
    return Python(path=place, python_version=python_version, versions=dict(versions))


@lru_cache
def _ask(place: str) -> tuple[frozenset[str], str, tuple[tuple[str, str], ...]]:
    """What an interpreter has, asked of itself without importing any of it."""
    command = [place, "-c", _ASK]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=ROOT)
        told = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return frozenset(), "", ()
    return frozenset(told["have"]), told["python"], tuple(told["versions"].items())


def detect(found: Mapping[str, Python], environment: Mapping[str, str]) -> Host:
    """The host as sweeps see it: its best device, and the backends in the order of choice."""
    return Host(device=_device(environment), backends=tuple(found))


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
