"""The launcher `ray`: one Ray actor a worker, on the nodes that Ray chooses.

    RAY_ADDRESS=host:6379 python -m runners.launch.ray_tasks WORKERS COMMAND...

Each actor takes one processor and a free port of its node.
RAY_ADDRESS is the cluster; without it a cluster of this machine is started for the run. The events
of the first worker arrive at its end.
"""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from runners.launch.cluster import (
    events_of,
    free_port,
    report,
    report_failure,
    report_start,
    variables,
)
from runners.launch.worker import ROOT, settings

SPREAD: Final = "SPREAD"
"""Ray's strategy of placement: over as many nodes as there are."""


class RayWorker:
    """One worker of a run, on its node."""

    def address(self) -> str:
        """Return the address of the node and a free port."""
        import ray

        return f"{ray.util.get_node_ip_address()}:{free_port()}"

    def events(self, command: Sequence[str], variables: Mapping[str, str], request: str) -> bytes:
        """Run the worker and return its events."""
        return events_of(command, variables, request)


def placed(
    command: Sequence[str], request: str, of_worker: Mapping[str, str], workers: int
) -> bytes:
    """Run the workers on the cluster and return the events of the first one."""
    import ray

    began_s = time.perf_counter()
    address = os.environ.get("RAY_ADDRESS")
    # Without an address, Ray would join any cluster that was last started on this machine.
    here = {} if address else {"num_cpus": workers, "include_dashboard": False}
    ray.init(
        address=address or "local",
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": str(ROOT)}},
        **here,
    )
    try:
        # An actor that is not restarted: a run that lost a worker is a row, not another try.
        options = {"num_cpus": 1, "max_restarts": 0, "scheduling_strategy": SPREAD}
        actors = [ray.remote(RayWorker).options(**options).remote() for _ in range(workers)]
        addresses = ray.get([actor.address.remote() for actor in actors])
        report_start(time.perf_counter() - began_s)
        running = [
            actor.events.remote(command, {**of_worker, **variables("ray", addresses, i)}, request)
            for i, actor in enumerate(actors)
        ]
        return _first(running)
    finally:
        ray.shutdown()


def _first(running: Sequence[Any]) -> bytes:
    """Return the result of the first worker; an error of any worker ends the run."""
    import ray

    left = list(running)
    while left:
        ended, left = ray.wait(left)
        ray.get(ended)
    return bytes(ray.get(running[0]))


def main() -> int:
    """Run the workers named on the command line and return the exit code."""
    workers, command = int(sys.argv[1]), sys.argv[2:]
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would report to Ray's makers
    try:
        report(placed(command, sys.stdin.read(), settings(os.environ), workers))
    except Exception as error:  # noqa: BLE001 - Ray's errors have no common type
        return report_failure(error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
