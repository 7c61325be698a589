"""Settings fixed when a sweep starts, so that a resumed sweep measures the same cases.

`auto` may mean another backend or device once the environment has changed, which would change
every case. The settings chosen at the start are stored with the sweep's status.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from planner.store.disk.sweeps import SweepStatus, read_statuses
from runners.plan.expand import Host
from runners.sweep.context import OPTION, Context

_KEPT: Final = ("name", "python", "memory_limit", "licence", "price_per_hour", *OPTION.values())
_OF_CLUSTER: Final = ("engine", "address", "backend", "device")


def options(args: argparse.Namespace, context: Context) -> dict[str, Any]:
    """Return the settings to store for a resume, with the values that `auto` stood for."""
    kept = {name: value for name in _KEPT if (value := getattr(args, name, None))}
    decided: dict[str, Any]
    if context.host.accelerators is None:
        decided = {"backend": context.host.backends[0], "device": context.host.device}
    else:
        given = {name: value for name in _OF_CLUSTER if (value := getattr(args, name, None))}
        decided = {**given, "of_nodes": asdict(context.host)}
    return {**kept, **decided, "name": context.folder.name}


def cluster(args: argparse.Namespace) -> Host | None:
    """Return what the nodes of a cluster could measure when the sweep started; None without one."""
    return _host(args.of_nodes) if args.of_nodes else None


def _host(body: Mapping[str, Any]) -> Host:
    by_type = {name: _host(inner) for name, inner in (body["accelerators"] or {}).items()}
    return Host(
        device=body["device"],
        backends=tuple(body["backends"]),
        memory_bytes=body["memory_bytes"],
        accelerators=by_type,
    )


def of_ticket(state: Path, ticket: str) -> SweepStatus | None:
    """Return the status of the sweep with this ticket; None if there is none."""
    return next((s for s in read_statuses(state) if s.ticket == ticket), None)


def newest(state: Path, sweep: str, results: Path, name: str | None) -> SweepStatus | None:
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


def fill(args: argparse.Namespace, stored: Mapping[str, Any]) -> None:
    """Fill arguments that are not set now with those of the start."""
    for name, value in stored.items():
        if hasattr(args, name) and getattr(args, name) in (None, [], args.defaults.get(name)):
            setattr(args, name, value)
