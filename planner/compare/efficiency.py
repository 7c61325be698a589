"""What do several accelerators give that were never timed together?

The scaling efficiency of data parallelism at a fixed batch per device (weak scaling):

    ln e = -NODE_LOSS*log2(devices)          +- NODE_SD*log2(devices)    on one node
    ln e = -NODES_LOSS*(1 + log2(devices))   +- NODES_SD                 on several

    constant     value  meaning
    NODE_LOSS    0.10   lost for every doubling, mean of eight clusters, 2 to 8 devices
    NODE_SD      0.125  sd between clusters and workloads, for every doubling
    NODES_LOSS   0.12   the same over several nodes, mean of five clusters
    NODES_SD     0.45   their sd: from 0.3 of perfect (10 Gbit/s) to perfect (InfiniBand)
    SPREAD_DOF   5      degrees of freedom: clusters are few

`planner.backtest.described` reads them off the public data and scores them (docs/accuracy.md).
Where the job itself was timed on several, `planner.scaling` knows more.
"""

from __future__ import annotations

import math
from typing import Final

from planner.compare.records import Hardware
from planner.estimate import LEVEL, Estimate, t_quantile

NODE_LOSS: Final = 0.10
NODE_SD: Final = 0.125
NODES_LOSS: Final = 0.12
NODES_SD: Final = 0.45
SPREAD_DOF: Final = 5.0


def efficiency(devices: int, nodes: int, level: float = LEVEL) -> Estimate:
    """Scaling efficiency nobody measured, at a fixed batch per device [share of perfect].

    Args:
        devices: on all nodes; a module that holds two counts twice.
        nodes: machines they are spread over.
        level: coverage of the interval [share].
    """
    octaves = math.log2(max(devices, 1))
    loss, sd = NODE_LOSS * octaves, NODE_SD * octaves
    if nodes > 1:
        loss, sd = NODES_LOSS * (1.0 + octaves), NODES_SD
    half = float(t_quantile(level, SPREAD_DOF)) * sd
    value = math.exp(-loss)
    return Estimate(
        value=value,
        low=value * math.exp(-half),
        high=value * math.exp(half),
        level=level,
        basis="similar workload",
    )


def per_accelerator(samples_per_s: float, hardware: Hardware) -> float:
    """An accelerator's part of what all did together, without the loss between devices [samples/s].

    A module of several devices alone has that loss too: `efficiency` of its devices.
    """
    spread = efficiency(hardware.devices, hardware.nodes)
    return samples_per_s / (hardware.count * float(spread.value))
