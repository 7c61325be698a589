"""The step time over a link of a stated rate, from the bytes that it carries."""

from __future__ import annotations

import math

from planner.core import Text


def ring_traffic_bytes(devices: int, gradient_bytes: float) -> float:
    """Return the bytes that each link of a ring carries in an all-reduce: 2(n - 1)/n * G.

    Source: Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of
    workstations, J. Parallel Distrib. Comput. 69(2), 2009.
    """
    return 2.0 * (devices - 1) / devices * gradient_bytes


def ring_step_s(
    step_s: float,
    devices: int,
    gradient_bytes: float,
    rate_bits_per_s: float,
    latency_s: float = 0.0,
) -> float:
    """Return the step time of synchronous devices whose ring has a slower link [s].

        T = t + 2(n - 1)/n * G / R + l

    Computing and transfer follow each other here; a framework that overlaps them is faster.
    Protocol headers are not counted: over TCP and Ethernet they take 5 % of the rate.

    Args:
        step_s: t, step time of the same devices over a link without limit [s].
        devices: n, devices of the ring.
        gradient_bytes: G, gradients of a step: trained parameters times bytes of their format.
        rate_bits_per_s: R, rate of the slowest link in each direction [bit/s].
        latency_s: l, additional time of an all-reduce of few bytes [s].

    Raises:
        ValueError: an argument is not finite, or below its smallest value.
    """
    least = {"step_s": 0.0, "devices": 1.0, "gradient_bytes": 0.0, "latency_s": 0.0}
    values = {"step_s": step_s, "devices": float(devices), "gradient_bytes": gradient_bytes,
              "latency_s": latency_s}  # fmt: skip
    for name, value in values.items():
        if not (math.isfinite(value) and value >= least[name]):
            raise ValueError(
                Text(
                    "{name} is {value:g}; it must be a number of at least {least}.",
                    name=name,
                    value=value,
                    least=least[name],
                )
            )
    if not rate_bits_per_s > 0.0:
        raise ValueError(
            Text(
                "rate_bits_per_s is {rate_bits_per_s:g}; it must be above 0.",
                rate_bits_per_s=rate_bits_per_s,
            )
        )
    return step_s + 8.0 * ring_traffic_bytes(devices, gradient_bytes) / rate_bits_per_s + latency_s
