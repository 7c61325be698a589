"""Launchers: they start the processes of one run and hand out addresses, nothing more.

    python -m runners.launch [OPTIONS] WORKERS COMMAND...       this machine, or hosts by a prefix
    python -m runners.launch.ray_tasks WORKERS COMMAND...       tasks of a Ray cluster
    python -m runners.launch.spark_stage WORKERS COMMAND...     a barrier stage of Spark
    python -m runners.launch.slurm --srun WORKERS COMMAND...    tasks of a Slurm allocation

Every process gets the request on its standard input and the addresses of all in TF_CONFIG; the
events of the first one are those of the run. `worker` runs one process on another host.
docs/decisions/0044-launchers.md has the reasons.
"""

from typing import Final

LOCAL: Final = ("-m", "runners.launch")
"""Arguments that start the local launcher in an interpreter; the number of workers follows."""

SERVER: Final = "--server"
"""Start a parameter server and a chief, too: the workers update asynchronously."""

PLACE: Final = "EPOCHWISE_PLACE"
"""Environment variable of a worker that is not started locally: its launch, nodes and workers of a
node, as JSON."""
