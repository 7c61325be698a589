"""Everything a command needs to know before it starts: the sweep, the machine, the folders."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from planner.runs import Row
from planner.store.disk.files import write_once
from planner.store.disk.folders import folders_from_environment
from planner.store.disk.sweeps import state_folder
from planner.store.summaries import summaries
from runners.machine import facts as machine
from runners.machine.identity import identity
from runners.plan import spec
from runners.plan.cases import Case, Device
from runners.plan.expand import Expanded, Host, expand
from runners.plan.host import (
    Python,
    detect,
    problems,
    pythons,
)
from runners.plan.spec import Spec, SpecError
from runners.process.supervise import ROOT
from runners.sweep.measure import Bench, Hooks, measure
from runners.sweep.result_set import OWNERS, describe
from runners.sweep.sweep import Measure, slug


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """A sweep on this machine: what is to be measured, with what, and where it is kept."""

    spec: Spec
    host: Host
    pythons: Mapping[str, Python]
    expanded: Expanded
    results: Path
    folder: Path
    """The result set's folder."""
    state: Path
    facts: Mapping[str, Any]
    environ: Mapping[str, str]
    memory_bytes: int | None
    licence: str
    retry_failed: bool = False
    """Whether runs that did not end well are measured again."""

    @property
    def system_name(self) -> str:
        """What this machine, or its card, is called in the results."""
        return str(self.facts["system_name"])

    def system_of(self, device: Device) -> str:
        """What rows of a device of this machine are called."""
        visible = self.environ.get("CUDA_VISIBLE_DEVICES")
        return self.system_name if device == self.host.device else _name_of(device, visible)


@cache
def _name_of(device: Device, visible: str | None) -> str:
    return str(machine.facts(device, devices=1, visible=visible)["system_name"])


def context(asked: argparse.Namespace) -> Context:
    """Read and expand the sweep a command was asked for; SpecError tells all that is wrong."""
    read = spec.read(spec.find(asked.spec))
    environ = dict(os.environ)
    if asked.backend:
        environ["KERAS_BACKEND"] = asked.backend
    named = named_pythons(asked.python)
    found = pythons(named, environ)
    if told := problems(named, environ, found):
        raise SpecError("what was asked of this machine", told)
    host = detect(found, environ)
    if asked.device:
        host = Host(device=asked.device, backends=host.backends)
    facts = machine.facts(host.device, devices=1, visible=environ.get("CUDA_VISIBLE_DEVICES"))
    results = results_folder(asked)
    limit = getattr(asked, "memory_limit", None)
    return Context(
        spec=read,
        host=host,
        pythons=found,
        expanded=expand(read, host),
        results=results,
        folder=results / slug(asked.name or f"{read.name} {facts['system_name']}"),
        state=state_folder(environ),
        facts=facts,
        environ=environ,
        memory_bytes=int(limit * 1e9) if limit else None,
        licence=getattr(asked, "licence", None) or OWNERS,  # plan asks for none
        retry_failed=getattr(asked, "retry_failed", False),
    )


def results_folder(asked: argparse.Namespace) -> Path:
    """Where result sets go; a relative folder begins at the repository."""
    return (ROOT / Path(asked.results).expanduser()).resolve()


def named_pythons(given: list[str]) -> dict[str, str]:
    """BACKEND=PATH of the command line."""
    wrong = [g for g in given if "=" not in g]
    if wrong:
        raise SpecError("--python", [f"{g!r} is not BACKEND=PATH." for g in wrong])
    return dict(g.split("=", 1) for g in given)


def measurer(known: Context, *, timeout_s: float | None = None) -> Measure:
    """What measures a case of this sweep: a fresh child with the sweep's limits."""
    limit_s = known.spec.limits.timeout_s
    bench = Bench(
        pythons=known.pythons,
        environ=known.environ,
        cache=known.state / "cache",
        timeout_s=limit_s if timeout_s is None else min(timeout_s, limit_s),
        memory_share=known.spec.limits.memory_share,
        memory_bytes=known.memory_bytes,
    )

    told = {"licence": known.licence, **identity(known.state)}

    def of(case: Case, hooks: Hooks) -> Row:
        return {**measure(case, bench, known.folder.name, hooks), **told}

    return of


def known_rows(known: Context) -> list[Row]:
    """Summaries of all runs in this user's folders and in the one results go to.

    Not of the shipped ones: a machine of the same name elsewhere is not this machine.
    """
    own = [f for f in folders_from_environment(ROOT, known.environ) if f.kind != "shipped"]
    places = [*(f.path for f in own), known.results]
    folders = {p for place in dict.fromkeys(places) if place.is_dir() for p in place.iterdir()}
    return [row for folder in sorted(folders) if folder.is_dir() for row in summaries(folder)]


def name_result_set(known: Context) -> None:
    """Write the set's set.toml, unless it has one."""
    facts = {**known.facts, "licence": known.licence}
    text = describe(known.spec.name, known.spec.title, known.spec.about, facts)
    write_once(known.folder / "set.toml", text)
