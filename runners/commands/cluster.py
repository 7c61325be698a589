"""`run --engine ray`: a sweep over the nodes of a Ray cluster."""

import argparse
import time
from collections.abc import Sequence

from planner.core import Text
from planner.runs import Row, run_id
from planner.store.disk.ledger import acknowledge, ledger
from planner.store.disk.witness import Witness, witness
from planner.store.sealed.attempts import release_all
from planner.store.sealed.commit import CommitError, try_folder
from planner.store.sealed.result_set import NAME, read_set
from runners.cluster import dispatch
from runners.cluster.connection import ClusterError, connected
from runners.cluster.dispatch import Listener, NoNodeError, Roster
from runners.cluster.nodes import Node, SweepTerms, host_of, unplaceable
from runners.cluster.storing import Storage
from runners.commands.console import FAILED, Stop, refuse, say
from runners.commands.journals import (
    Meter,
    again,
    ended,
    limited,
    never_started,
    new_book,
    nothing_to_do,
    pushing,
    stopped,
    unpriced,
)
from runners.machine.identity import session_started_at
from runners.plan.cases import Case
from runners.plan.spec import SpecError
from runners.process.supervise import Stopped
from runners.sweep import plans
from runners.sweep.context import (
    Context,
    cluster_at_start,
    name_result_set,
    named_pythons,
    read_context,
)
from runners.sweep.push import Server, server
from runners.sweep.rows import SetFolder
from runners.sweep.sweep import Progress


def run_over_cluster(args: argparse.Namespace, stop: Stop, *, resumed: bool = False) -> int:
    """Measure a sweep on the cluster at --address; a resume of a finished one needs no cluster."""
    if resumed and (host := cluster_at_start(args)):
        context = read_context(args, host)
        if context.folder.is_dir() and not (_left(context) or context.expanded.automatic):
            return nothing_to_do(context)
    try:
        with connected(args.address) as cluster:
            roster = Roster(cluster=cluster, pythons=named_pythons(args.python))
            nodes = list(roster.first_reports(say, stop).values())
            if not nodes:
                return _no_nodes(args)
            return measure_on(args, roster, nodes, stop, resumed=resumed)
    except ClusterError as error:
        return refuse(args, [str(error)], str(error))


def _no_nodes(args: argparse.Namespace) -> int:
    text = (
        "No node of the cluster can measure. Start one with at least one CPU, in an environment "
        "that has TensorFlow or JAX (docs/measure.md)."
    )
    return refuse(args, [text], text)


def measure_on(
    args: argparse.Namespace, roster: Roster, nodes: Sequence[Node], stop: Stop, *, resumed: bool
) -> int:
    """Measure a sweep on nodes that have reported; return the exit code."""
    context = read_context(args, cluster_at_start(args) or host_of(nodes))
    if resumed and not context.folder.is_dir():
        return never_started(args, context)
    left = _left(context)
    if not left and not context.expanded.automatic:
        return nothing_to_do(context)
    if messages := _problems(context, left, nodes):
        raise SpecError(context.spec.name, messages)
    hourly = plans.cost_per_hour(context, args.price_per_hour)
    if (refused := unpriced(args, hourly)) is not None:
        return refused
    with pushing(args, context.folder, stop):
        return _measure(args, context, roster, stop)


def _left(context: Context) -> list[Case]:
    """Return the cases without a final row."""
    done = plans.done_of(context)
    return [c for c in context.expanded.cases if not done.settled(c, _attempts(context))]


def _attempts(context: Context) -> int:
    return context.spec.limits.attempts


def _problems(context: Context, left: Sequence[Case], nodes: Sequence[Node]) -> list[str]:
    automatic = {g.case.workload for g in context.expanded.automatic}
    searched = [
        Text(
            '{name} has batch = "auto", which is searched on one machine. Find its largest batch '
            "there with `max-batch`, then list batch sizes in the sweep.",
            name=name,
        )
        for name in sorted(automatic)
    ]
    return [*searched, *unplaceable(left, nodes)]


def _measure(args: argparse.Namespace, context: Context, roster: Roster, stop: Stop) -> int:
    """Run the sweep on the cluster and print how it ended."""
    name_result_set(context)
    book = new_book(args, context)
    cases = context.expanded.cases
    count = len(roster.ready)
    hourly, currency = plans.cost_per_hour(context, args.price_per_hour), context.spec.cost.currency
    until = limited(args, stop, None, currency)
    if args.max_cost is not None and hourly:
        until.meter = Meter(
            most=args.max_cost, hourly=hourly, currency=currency, nodes=lambda: _paid(roster)
        )
    try:
        with Progress(context.spec.title, f"{count} node{'s' * (count > 1)}") as shown:
            book.on_update = shown.update
            book.update(phase="running", started_at=time.time(), limits=until.words,
                        cost_per_hour=hourly and hourly * count, currency=currency)  # fmt: skip
            try_folder(context.folder, len(cases))
            with witness(context.folder) as seen:
                release_all(context.folder)
                storage = _storage(args, context, seen, roster.cluster)
                sweep = dispatch.Sweep(
                    cases=cases, done=plans.done_of(context), terms=_terms(args, context, storage),
                    destination=SetFolder(context.folder), attempts=_attempts(context),
                    acknowledged=lambda row: _acknowledge(args, context, row),
                )  # fmt: skip
                dispatch.run(sweep, roster, book, _listener(shown, until))
        book.update(phase="finished", ended_at=time.time())
    except Stopped:
        return stopped(args, book, until.reached)
    except NoNodeError as error:
        text = f"{error}: {again(args, book.status)}"
        book.update(phase="failed", ended_at=time.time(), current=None, message=str(error))
        refuse(args, [text], text)
        return FAILED
    except CommitError as error:
        book.update(phase="failed", ended_at=time.time(), message=str(error.strerror))
        raise
    return ended(context, book.status)


def _paid(roster: Roster) -> int:
    """Return the number of nodes that can measure: each is rented as long as the sweep runs."""
    return len(roster.ready) + len(roster.suspended)


def _listener(shown: Progress, stop: Stop) -> Listener:
    def on_row(row: Row, case: Case, node: str) -> None:
        shown.row(row, f"{case.words}, on {node}")

    return Listener(on_row=on_row, on_node=shown.note, stop=stop)


def _storage(
    args: argparse.Namespace, context: Context, seen: Witness, tasks: dispatch.Tasks
) -> Storage:
    return Storage(
        witness=seen,
        reference=read_set(context.folder, "")[0].reference,
        about=(context.folder / NAME).read_text(encoding="utf-8"),
        url=args.push,
        token=tasks.secret(server(args.push, args.token_file).token) if args.push else None,
    )


def _acknowledge(args: argparse.Namespace, context: Context, row: Row) -> None:
    """Note that the app has a run of a node, so that this process does not push it."""
    address = Server(url=args.push, token="").address
    acknowledge(ledger(context.state, address, context.folder.name), [run_id(row)])


def _terms(args: argparse.Namespace, context: Context, storage: Storage) -> SweepTerms:
    return SweepTerms(
        result_set=context.folder.name,
        licence=context.licence,
        session_started_at=session_started_at(),
        git_describe=context.facts.get("git_describe"),
        pythons=named_pythons(args.python),
        timeout_s=context.spec.limits.timeout_s,
        memory_share=context.spec.limits.memory_share,
        memory_bytes=context.memory_bytes,
        storage=storage,
    )
