"""The launcher `spark`: the tasks of a barrier stage are the workers of a run.

    SPARK_MASTER=spark://host:7077 python -m runners.launch.spark_stage WORKERS COMMAND...

Spark starts all tasks of a barrier stage at once. Each takes a free port of its host; `allGather`
makes the addresses known to all. SPARK_MASTER is the cluster; without it the tasks run on this
machine, beside the driver. The events of the first worker arrive at its end.
"""

import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from planner.core import Text, paragraph
from runners.launch.cluster import (
    events_of,
    free_port,
    report,
    report_failure,
    report_start,
    variables,
)
from runners.launch.worker import ROOT, settings

MASTER: Final = "SPARK_MASTER"
"""Variable with the address of the cluster."""
SLOTS_S: Final = 300
"""Time limit for executors with enough free cores to register [s]."""
_MISSING: Final = (
    "pyspark is not in this environment: PYTHONPATH is not handed on to a run. Install it: make "
    "spark."
)
_JAVA: Final = (
    "Spark needs Java 17 or later. On Debian: apt-get install default-jre-headless. Elsewhere set "
    "JAVA_HOME."
)
_NO_JAVA: Final = paragraph("Java is not found: neither JAVA_HOME nor PATH has it.", _JAVA)
_BAD_JAVA: Final = paragraph("Java did not start Spark.", _JAVA)
_NO_GATEWAY: Final = "JAVA_GATEWAY_EXITED"
_NO_SLOTS: Final = "BarrierJobSlotsNumberCheckFailed"
SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.task.maxFailures": "1",  # a run that lost a worker is a row, not another try
    "spark.stage.maxConsecutiveAttempts": "1",
    # Executors of a busy machine register after a minute; until then there are too few slots.
    "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "5s",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures": str(SLOTS_S // 5),
    "spark.executorEnv.PYTHONPATH": str(ROOT),
    "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
}


def stage(
    command: Sequence[str], request: str, variables: Mapping[str, str], workers: int
) -> bytes:
    """Run the workers as a barrier stage and return the events of the first one."""
    from pyspark import SparkConf, SparkContext

    if not has_java(os.environ):
        raise RuntimeError(_NO_JAVA)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings_of = SparkConf().setAppName("Epochwise").setAll(list(SETTINGS.items()))
    settings_of.setMaster(os.environ.get(MASTER) or f"local[{workers}]")
    began_s = time.perf_counter()
    with SparkContext(conf=settings_of) as context:
        report_start(time.perf_counter() - began_s)

        def work(_: Iterable[Any]) -> Iterator[bytes]:
            yield from worked(list(command), request, dict(variables))

        places = context.parallelize(range(workers), workers)
        return b"".join(places.barrier().mapPartitions(work).collect())


def has_java(environ: Mapping[str, str]) -> bool:
    """Return whether Spark finds a Java: that of JAVA_HOME, else the first in PATH."""
    home = environ.get("JAVA_HOME")
    java = Path(home) / "bin" / "java" if home else "java"
    return shutil.which(java, path=environ.get("PATH", "")) is not None


def worked(command: Sequence[str], request: str, of_worker: Mapping[str, str]) -> Iterator[bytes]:
    """Run this task's worker; yield its events if it is the first one."""
    from pyspark import BarrierTaskContext

    task = BarrierTaskContext.get()
    index = task.partitionId()
    host = task.getTaskInfos()[index].address.rpartition(":")[0]
    addresses = task.allGather(f"{host}:{free_port()}")
    events = events_of(command, {**of_worker, **variables("spark", addresses, index)}, request)
    if index == 0:
        yield events


def main() -> int:
    """Run the workers named on the command line and return the exit code."""
    workers, command = int(sys.argv[1]), sys.argv[2:]
    try:
        report(stage(command, sys.stdin.read(), settings(os.environ), workers))
    except ModuleNotFoundError as error:
        if error.name != "pyspark":
            raise
        return report_failure(RuntimeError(_MISSING))
    except Exception as error:  # noqa: BLE001 - Java's errors have no common type here
        if _NO_GATEWAY in str(error):
            return report_failure(RuntimeError(_BAD_JAVA))
        if _NO_SLOTS in str(error):
            text = Text(
                "The cluster had no {cores} free cores within {limit_s} s. Start executors.",
                cores=workers,
                limit_s=SLOTS_S,
            )
            return report_failure(RuntimeError(text))
        return report_failure(error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
