"""Inputs of a command: the sweep, the machine, the folders; the same ones for a resume.

`auto` may mean another backend or device once the environment has changed, which would change
every case. The settings chosen at the start are stored with the sweep's status.
"""

import argparse
import itertools
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeVar

from planner.core import Text
from planner.runs import Row
from planner.store.disk.files import write_once
from planner.store.disk.folders import folders_from_environment
from planner.store.disk.sweeps import SweepStatus, read_statuses, state_folder
from planner.store.sealed.accept import fetch
from planner.store.summaries import summaries
from runners.launch.launcher import FIELDS, LOCAL, Launcher, from_table
from runners.machine import facts as machine
from runners.machine.identity import identity
from runners.plan import spec
from runners.plan.cases import Case, Device
from runners.plan.expand import Expanded, Host, expand
from runners.plan.host import Python, detect, placed, problems, pythons
from runners.plan.spec import Spec, SpecError
from runners.process.supervise import ROOT
from runners.sweep.measure import Bench, Hooks, measure
from runners.sweep.push import server_problems
from runners.sweep.rows import OWNERS, describe
from runners.sweep.sweep import MeasuresCase, slug

_T = TypeVar("_T")

CLUSTER: Final = "cluster"
"""In place of a system in the name of a result set that several machines measure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """A sweep on this machine or a cluster: its cases, interpreters and folders."""

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
    launcher: Launcher = field(default_factory=Launcher)
    retry_failed: bool = False
    """Whether failed runs are measured again."""
    without: frozenset[str] = frozenset()
    """Result sets that forecasts leave out."""

    @property
    def system_name(self) -> str:
        """Name of this machine or its GPU in the results."""
        return str(self.facts["system_name"])

    def system_of(self, device: Device) -> str:
        """Return the system name in rows of a device of this machine."""
        visible = self.environ.get("CUDA_VISIBLE_DEVICES")
        return self.system_name if device == self.host.device else _name_of(device, visible)


@cache
def _name_of(device: Device, visible: str | None) -> str:
    return str(machine.facts(device, devices=1, visible=visible)["system_name"])


def read_context(args: argparse.Namespace, cluster: Host | None = None) -> Context:
    """Return the sweep that a command names, read and expanded for this machine or a cluster.

    Raises:
        SpecError: the sweep or a requested backend is invalid; it lists all problems.
    """
    environ = dict(os.environ)
    if args.backend:
        environ["KERAS_BACKEND"] = args.backend
    errors: list[SpecError] = []
    if (to := getattr(args, "push", None)) and (wrong := server_problems(to, args.token_file)):
        errors.append(SpecError("--push", wrong))
    read = _tried(lambda: spec.read(spec.find(args.spec)), errors)
    named = _tried(lambda: named_pythons(args.python), errors) or {}
    here = _tried(lambda: _host(args, cluster, named, environ), errors)
    launcher = _tried(lambda: _launcher(args, read, cluster), errors)
    planned = read or next((error.rest for error in errors if error.rest), None)
    cases = _tried(lambda: expand(planned, here[1]), errors) if planned and here else None
    expanded = None
    if read and launcher and cases:
        expanded = _tried(lambda: placed(read.name, cases, launcher), errors)
    if errors or not (read and here and launcher and expanded):
        name = read.name if read else errors[0].name
        raise SpecError(name, [text for error in errors for text in error.problems])
    interpreters, host = here
    if cluster is None:
        facts = machine.facts(host.device, devices=1, visible=environ.get("CUDA_VISIBLE_DEVICES"))
    else:
        facts = {"system_name": f"a {CLUSTER}", "git_describe": machine.git_describe()}
    results = results_folder(args)
    place = facts["system_name"] if cluster is None else CLUSTER
    limit = getattr(args, "memory_limit", None)
    without = frozenset(getattr(args, "without", ()))
    return Context(
        spec=read,
        host=host,
        pythons=interpreters,
        expanded=expanded,
        results=results,
        folder=results / (slug(args.name) if args.name else _free(f"{read.name} {place}", without)),
        state=state_folder(environ),
        facts=facts,
        environ=environ,
        memory_bytes=int(limit * 1e9) if limit else None,
        licence=getattr(args, "licence", None) or OWNERS,  # plan has no such option
        launcher=launcher,
        retry_failed=getattr(args, "retry_failed", False),
        without=without,
    )


def _free(usual: str, without: frozenset[str]) -> str:
    """Return the usual name of a result set, with a number where that set is left out."""
    names = itertools.chain([usual], (f"{usual} {n}" for n in itertools.count(2)))
    return next(name for text in names if (name := slug(text)) not in without)


def _tried(read: Callable[[], _T], errors: list[SpecError]) -> _T | None:
    """Return what `read` returns; None, with its error in `errors`, if that is a SpecError."""
    try:
        return read()
    except SpecError as error:
        errors.append(error)
        return None


def _host(
    args: argparse.Namespace,
    cluster: Host | None,
    named: Mapping[str, str],
    environ: Mapping[str, str],
) -> tuple[Mapping[str, Python], Host]:
    """Return the interpreters and the host: this machine, or the cluster (no interpreters)."""
    if cluster is not None:
        return {}, _chosen(cluster, args.backend, args.device)
    interpreters = pythons(named, environ)
    if messages := problems(named, environ, interpreters):
        raise SpecError("the requested backends", messages)
    host = detect(interpreters, environ)
    return interpreters, Host(device=args.device, backends=host.backends) if args.device else host


def _launcher(args: argparse.Namespace, read: Spec | None, cluster: Host | None) -> Launcher:
    """Return the launcher of the spec, with the options of the command line in its place."""
    options = {name: value for name in FIELDS if (value := getattr(args, OPTION[name], None))}
    own = asdict(read.launch if read else Launcher())
    table = {name: value for name, value in own.items() if value is not None}
    if options.get("launcher") not in {None, "command"}:  # only that one has hosts
        del table["hosts"]
        table.pop("server_host", None)
    launcher, problems = from_table({**table, **options})
    if launcher.launcher != LOCAL and cluster is not None:
        text = Text(
            "launcher {launcher} and --engine ray exclude each other: Ray places whole runs. "
            "Leave one of them out.",
            launcher=launcher.launcher,
        )
        problems = [*problems, text]
    if problems:
        raise SpecError("the launcher", problems)
    return launcher


def _chosen(cluster: Host, backend: str | None, device: Device | None) -> Host:
    """Return the host of a cluster with the backend and device that a command sets for auto."""
    if backend and backend not in cluster.backends:
        raise SpecError(
            "the requested backends",
            [Text("No node can start the backend {backend}.", backend=backend)],
        )

    def chosen(host: Host) -> Host:
        ordered = sorted(host.backends, key=lambda name: name != backend)
        return replace(host, device=device or host.device, backends=tuple(ordered))

    by_type = {name: chosen(host) for name, host in (cluster.accelerators or {}).items()}
    return replace(chosen(cluster), accelerators=by_type)


def results_folder(args: argparse.Namespace) -> Path:
    """Return the folder of result sets; a relative path starts at the repository."""
    return (ROOT / Path(args.results).expanduser()).resolve()


OPTION: Final = MappingProxyType(
    {
        "launcher": "launcher", "hosts": "hosts", "prefix": "prefix", "ports": "ports",
        "server_host": "server_host",
        "directory": "host_directory", "python": "host_python",
    }
)  # fmt: skip
"""Options of the command line by the fields of [launch]."""


def named_pythons(pairs: list[str]) -> dict[str, str]:
    """Return interpreter paths by backend, from BACKEND=PATH arguments."""
    wrong = [g for g in pairs if "=" not in g]
    if wrong:
        raise SpecError(
            "--python", [Text("--python: {given!r} is not BACKEND=PATH.", given=g) for g in wrong]
        )
    return dict(g.split("=", 1) for g in pairs)


def measurer(context: Context, *, timeout_s: float | None = None) -> MeasuresCase:
    """Return a function that measures a case in a fresh child with the sweep's limits."""
    limit_s = context.spec.limits.timeout_s
    bench = Bench(
        pythons=context.pythons,
        environ=context.environ,
        cache=context.state / "cache",
        timeout_s=limit_s if timeout_s is None else min(timeout_s, limit_s),
        memory_share=context.spec.limits.memory_share,
        memory_bytes=context.memory_bytes,
        launcher=context.launcher,
    )

    columns = {"licence": context.licence, **identity(context.state)}

    def of(case: Case, hooks: Hooks) -> Row:
        return {**measure(case, bench, context.folder.name, hooks), **columns}

    return of


def own_rows(context: Context) -> list[Row]:
    """Return the summaries of all runs in this user's folders and in the results folder.

    Shipped results are left out: a machine of the same name elsewhere is not this machine. So are
    the sets of `context.without`.
    """
    own = [f for f in folders_from_environment(ROOT, context.environ) if f.kind != "shipped"]
    places = [*(f.path for f in own), context.results]
    for place in places:
        fetch(place)
    folders = {p for place in dict.fromkeys(places) if place.is_dir() for p in place.iterdir()}
    kept = sorted(p for p in folders if p.is_dir() and p.name not in context.without)
    return [row for folder in kept for row in summaries(folder)]


@cache
def shipped_rows(sweep: str) -> tuple[Row, ...]:
    """Return the summaries of the shipped runs of a sweep, which other machines measured."""
    [place] = (f.path for f in folders_from_environment(ROOT, {}) if f.kind == "shipped")
    folders = sorted(p for p in place.iterdir() if p.is_dir()) if place.is_dir() else []
    return tuple(r for path in folders for r in summaries(path) if r.get("sweep") == sweep)


def name_result_set(context: Context) -> None:
    """Write the set's set.toml, unless it exists."""
    facts = {**context.facts, "licence": context.licence}
    text = describe(context.spec.name, context.spec.title, context.spec.about, facts)
    write_once(context.folder / "set.toml", text)


_KEPT: Final = ("name", "python", "memory_limit", "licence", "price_per_hour", *OPTION.values())
_OF_CLUSTER: Final = ("engine", "address", "backend", "device")


def settings_of_start(args: argparse.Namespace, context: Context) -> dict[str, Any]:
    """Return the settings to store for a resume, with the values that `auto` stood for."""
    kept = {name: value for name in _KEPT if (value := getattr(args, name, None))}
    decided: dict[str, Any]
    if context.host.accelerators is None:
        decided = {"backend": context.host.backends[0], "device": context.host.device}
    else:
        options = {name: value for name in _OF_CLUSTER if (value := getattr(args, name, None))}
        decided = {**options, "of_nodes": asdict(context.host)}
    return {**kept, **decided, "name": context.folder.name}


def cluster_at_start(args: argparse.Namespace) -> Host | None:
    """Return what the nodes of a cluster could measure when the sweep started; None without one."""
    return _host_of(args.of_nodes) if args.of_nodes else None


def _host_of(body: Mapping[str, Any]) -> Host:
    by_type = {name: _host_of(inner) for name, inner in (body["accelerators"] or {}).items()}
    return Host(
        device=body["device"],
        backends=tuple(body["backends"]),
        memory_bytes=body["memory_bytes"],
        accelerators=by_type,
    )


def start_with_ticket(state: Path, ticket: str) -> SweepStatus | None:
    """Return the status of the sweep with this ticket; None if there is none."""
    return next((s for s in read_statuses(state) if s.ticket == ticket), None)


def newest_start(state: Path, sweep: str, results: Path, name: str | None) -> SweepStatus | None:
    """Return the latest start of a sweep in a results folder, optionally under one name."""
    statuses = read_statuses(state)
    return next(
        (
            s
            for s in statuses
            if (s.sweep, s.folder) == (sweep, str(results))
            and s.command == "run"
            and name in {None, s.result_set}
        ),
        None,
    )


def fill_settings(args: argparse.Namespace, stored: Mapping[str, Any]) -> None:
    """Fill arguments that are not set now with those of the start."""
    for name, value in stored.items():
        if hasattr(args, name) and getattr(args, name) in (None, [], args.defaults.get(name)):
            setattr(args, name, value)
