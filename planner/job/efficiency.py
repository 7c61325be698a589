"""Speed-up of accelerators that were not timed together.

The scaling efficiency of data parallelism at a fixed batch per device (weak scaling):

    ln e = -NODE_LOSS*log2(devices)          +- NODE_SD*log2(devices)    on one node
    ln e = -NODES_LOSS*(1 + log2(devices))   +- NODES_SD                 on several

Machines whose accelerators have links of their own (NVLink without a bridge, ICI, Infinity Fabric)
have LINKED_LOSS and LINKED_SD instead. Where m were measured, n have e(n)/e(m) with NODE_SD for
every doubling between m and n. From one node to several it is NODES_SD again: the link between
them was not in the measurement.

Limits: a workload that scales well on one cluster often does not on the next, so NODE_SHARED of
the variance on one node is the workload's, alike on every accelerator, and none of it on several.
`planner.scaling.fit` uses timings of the job itself on several devices.

Evidence: docs/evidence.md#efficiency-of-several-accelerators.
"""

import math
from dataclasses import replace
from typing import Final

from planner.core import LEVEL, Estimate, t_quantile
from planner.job._records import Hardware, Scaling

NODE_LOSS: Final = 0.10
"""Lost for every doubling of devices on one node [logarithm]."""
NODE_SD: Final = 0.125
"""Of that between clusters and workloads, for every doubling [relative sd]."""
LINKED_LOSS: Final = 0.03
"""Lost for every doubling where the accelerators have links of their own [logarithm]."""
LINKED_SD: Final = 0.06
"""Of that, for every doubling [relative sd]."""
NODES_LOSS: Final = 0.12
"""Lost for every doubling over several nodes [logarithm]."""
NODES_SD: Final = 0.45
"""Of that between clusters [relative sd]."""
SPREAD_DOF: Final = 5.0
"""Degrees of freedom of these intervals: clusters are few."""
NODE_SHARED: Final = 0.1
"""Share of the variance on one node that is the workload's, alike on every accelerator."""


def efficiency(devices: int, nodes: int, level: float = LEVEL, *, linked: bool = False) -> Estimate:
    """Return the assumed scaling efficiency at a fixed batch per device [share of perfect].

    Args:
        devices: on all nodes; a module with two counts twice.
        nodes: machines they are spread over.
        level: coverage of the interval [share].
        linked: whether the devices of a machine have links of their own (`has_links`).
    """
    octaves = math.log2(max(devices, 1))
    loss, sd = NODE_LOSS * octaves, NODE_SD * octaves
    if linked:
        loss, sd = LINKED_LOSS * octaves, LINKED_SD * octaves
    if nodes > 1:
        loss, sd = NODES_LOSS * (1.0 + octaves), NODES_SD
    return _around(math.exp(-loss), sd, level)


def has_links(hardware: Hardware) -> bool:
    """Return whether the accelerators of a machine are joined by links of their own."""
    return hardware.accelerator is not None and hardware.accelerator.linked


def efficiency_on(hardware: Hardware, level: float = LEVEL) -> Estimate:
    """Return the scaling efficiency of unmeasured hardware, by its links."""
    return efficiency(hardware.devices, hardware.nodes, level, linked=has_links(hardware))


def scaling_from(hardware: Hardware, measured: Hardware | None, level: float = LEVEL) -> Scaling:
    """Return the efficiency of hardware over that of the measured one, with its interval.

    Args:
        hardware: of the estimate.
        measured: the same accelerator at the measured count; None for the speed of one device.
        level: coverage of the interval [share].

    Returns:
        e(n)/e(m) as the factor; exact where both are the same.
    """
    there = efficiency_on(hardware, level)
    across = hardware.nodes > 1
    if measured is None:
        return Scaling(factor=there, across_nodes=across)
    ratio = float(there.value) / float(efficiency_on(measured).value)
    octaves = octaves_between(hardware, measured)
    alike = across is (measured.nodes > 1)
    each = LINKED_SD if has_links(hardware) and not across else NODE_SD
    sd = each * abs(octaves) if alike else NODES_SD
    return Scaling(
        factor=_around(ratio, sd, level),
        across_nodes=across or measured.nodes > 1,
        fewer=octaves < 0.0 if alike else measured.nodes > 1,
    )


def octaves_between(hardware: Hardware, measured: Hardware) -> float:
    """Return doublings of devices from the measured ones, or of nodes if more [log2]."""
    devices = math.log2(hardware.devices / measured.devices)
    nodes = math.log2(hardware.nodes / measured.nodes)
    return max((devices, nodes), key=abs)


def parts_of_scaling(scaling: Scaling) -> tuple[Estimate | None, Estimate]:
    """Return the factor in common with all accelerators, or None, and the own one."""
    shared = 0.0 if scaling.across_nodes else NODE_SHARED
    common = _narrowed(scaling.factor, shared) if shared > 0.0 else None
    return common, _narrowed(scaling.factor, 1.0 - shared)


def _narrowed(factor: Estimate, share: float) -> Estimate:
    """Return a factor around 1 with a share of its variance, in the logarithm."""
    root = math.sqrt(share)
    return replace(factor, low=float(factor.low) ** root, high=float(factor.high) ** root)


def _around(value: float, sd: float, level: float) -> Estimate:
    far = math.exp(float(t_quantile(level, SPREAD_DOF)) * sd)
    return Estimate(
        value=value, low=value / far, high=value * far, level=level, basis="similar workload"
    )


def per_accelerator(samples_per_s: float, hardware: Hardware) -> float:
    """Return the speed of one accelerator from that of all, without scaling loss [samples/s].

    A module of several devices has that loss too: `efficiency` of its devices.
    """
    spread = efficiency_on(hardware)
    return samples_per_s / (hardware.count * float(spread.value))
