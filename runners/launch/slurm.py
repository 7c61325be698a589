"""The launcher `slurm`: the tasks of an srun step are the workers of a run.

    srun --ntasks 2 python -m runners.launch.slurm COMMAND...     one task: it becomes its worker
    python -m runners.launch.slurm --srun WORKERS COMMAND...      start such a step and wait for it

A task makes TF_CONFIG from SLURM_PROCID, SLURM_NTASKS and SLURM_STEP_NODELIST, and from
SLURM_STEP_TASKS_PER_NODE if tasks are spread unevenly. srun hands the request to every task. Events
of the first task leave by its standard output; those of the others are dropped.

Ports follow from the number of the job, so tasks agree on them without talking to each other.
"""

import itertools
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NoReturn

from planner.core import Text
from runners.launch import cluster
from runners.launch.launcher import PORTS, port_range
from runners.launch.worker import environment, settings, started_here
from runners.process.events import FD, EventWriter

PORT: Final = "EPOCHWISE_PORTS"
"""Variable with the range of the workers' ports, as 20000-29999."""
MOST_NODES: Final = 100_000
"""Largest node list that is expanded: a typing error may name a billion nodes."""
_PART: Final = re.compile(r"([^,\[]*(?:\[[^\]]*\][^,\[]*)*)(?:,|$)")
_BRACKET: Final = re.compile(r"([^\[]*)\[([^\]]*)\](.*)")
_COUNTS: Final = re.compile(r"(\d+)(?:\(x(\d+)\))?")


def expanded(nodes: str) -> list[str]:
    """Return the names in a node list: "node[01-03,07],gpu1" has five.

    Raises:
        ValueError: the list is damaged or too long.
    """
    names = list(itertools.islice(_names(nodes), MOST_NODES + 1))
    if not names or len(names) > MOST_NODES:
        raise ValueError(
            Text(
                "node list {nodes!r} has no names, or over {most:,}.", nodes=nodes, most=MOST_NODES
            )
        )
    return names


def _names(nodes: str) -> Iterator[str]:
    if nodes.count("[") != nodes.count("]"):
        raise ValueError(_open(nodes))
    for match in _PART.finditer(nodes):
        if match[1]:
            yield from _expanded_part(match[1].strip())


def _open(part: str) -> Text:
    return Text("node list: {part!r} has an open bracket.", part=part)


def _expanded_part(part: str) -> Iterator[str]:
    """Yield the names of one part; it may have several brackets."""
    match = _BRACKET.fullmatch(part)
    if not match:
        if "[" in part or "]" in part:
            raise ValueError(_open(part))
        yield part
        return
    before, inside, after = match.groups()
    for item in inside.split(","):
        first, _, last = item.partition("-")
        if not first.isdecimal() or not (last or first).isdecimal():
            raise ValueError(
                Text("node list: {item!r} is neither a number nor a range.", item=item)
            )
        for number in range(int(first), int(last or first) + 1):
            for rest in _expanded_part(after) if after else [""]:
                yield f"{before}{number:0{len(first)}d}{rest}"


def tasks_per_node(text: str | None, nodes: int, tasks: int) -> list[int]:
    """Return the number of tasks on each node, from "2(x3),1"; without a text an even spread.

    Raises:
        ValueError: the numbers do not fit the nodes and tasks.
    """
    if text is None:
        text = f"{tasks // nodes}(x{nodes})"
    counts: list[int] = []
    for part in text.split(","):
        match = _COUNTS.fullmatch(part)
        if match:
            counts += [int(match[1])] * int(match[2] or 1)
    if len(counts) != nodes or sum(counts) != tasks:
        raise ValueError(
            Text(
                "{tasks} tasks on {nodes} nodes do not fit {per_node!r} tasks per node.",
                tasks=tasks,
                nodes=nodes,
                per_node=text,
            )
        )
    return counts


def workers(environ: Mapping[str, str]) -> list[str]:
    """Return the address of every task, in the order of SLURM_PROCID.

    Tasks are numbered node by node, as srun does by default (block distribution).

    Raises:
        ValueError: a variable is missing or damaged.
    """
    missing = [n for n in ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_NODELIST")
               if not environ.get(n)]  # fmt: skip
    if missing:
        names = ", ".join(missing)
        raise ValueError(Text("{names} is not set. Start this by srun.", names=names))
    nodes = expanded(environ["SLURM_STEP_NODELIST"])
    tasks = int(environ["SLURM_NTASKS"])
    counts = tasks_per_node(environ.get("SLURM_STEP_TASKS_PER_NODE"), len(nodes), tasks)
    ports = port_range(environ.get(PORT) or PORTS)
    if not ports:
        raise ValueError(
            Text(
                "{variable} is {value!r}; it must be a range of ports, as {example}.",
                variable=PORT,
                value=environ[PORT],
                example=PORTS,
            )
        )
    start = sum(int(environ.get(n) or 0) for n in ("SLURM_JOB_ID", "SLURM_STEP_ID")) * tasks
    places = [node for node, count in zip(nodes, counts, strict=True) for _ in range(count)]
    return [f"{n}:{ports[(start + i) % len(ports)]}" for i, n in enumerate(places)]


def variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return TF_CONFIG and the placement of this task."""
    return cluster.variables("slurm", workers(environ), int(environ["SLURM_PROCID"]))


def become_worker(command: Sequence[str]) -> NoReturn:
    """Replace this process by the worker; its request is on a file as standard input."""
    began_s = time.perf_counter()
    first = os.environ["SLURM_PROCID"] == "0"
    every = {**settings(os.environ), **variables(os.environ)}
    with tempfile.TemporaryFile() as request:
        request.write(started_here(sys.stdin.read() or "{}", began_s).encode())
        request.seek(0)
        os.dup2(request.fileno(), 0)
    events = os.dup(1) if first else os.open(os.devnull, os.O_WRONLY)
    os.set_inheritable(events, True)
    os.dup2(2, 1)  # all other output
    every[FD] = str(events)
    os.execve(sys.executable, [sys.executable, *command], environment(os.environ, every))  # noqa: S606


def start_step(workers: str, command: Sequence[str]) -> NoReturn:
    """Replace this process by srun, whose standard output has the events."""
    number = os.environ.get(FD)
    if number:
        os.dup2(int(number), 1)
    step = ["srun", "--ntasks", workers, "--input=all", "--kill-on-bad-exit=1",
            "--distribution=block", sys.executable, "-m", "runners.launch.slurm"]  # fmt: skip
    try:
        os.execvp(step[0], [*step, *command])  # noqa: S606
    except OSError as error:
        reason = Text(
            "srun cannot be started: {error}. Run this in a Slurm allocation.",
            error=error.strerror,
        )
        EventWriter().send("failed", status="crashed", reason=reason)
        sys.exit(1)


def main() -> NoReturn:
    """Become a worker, or start a step of them."""
    if sys.argv[1:2] == ["--srun"]:
        start_step(sys.argv[2], sys.argv[3:])
    try:
        become_worker(sys.argv[1:])
    except ValueError as error:
        # The variable for events is that of the launcher; a task has standard output only.
        EventWriter(fd=1).send("failed", status="crashed", reason=f"slurm: {error}")
        sys.exit(1)


if __name__ == "__main__":
    main()
