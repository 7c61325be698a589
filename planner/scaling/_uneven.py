"""Uneven workers: steps that wait for the slowest, and steps that do not.

n workers take T_1 ... T_n for a step of their own batch b, exchange of gradients included. A worker
that is stopped a share h of the time takes 1/(1 - h) as long, as it computes and exchanges nothing
meanwhile; all scatter by the relative sd `spread`.

    synchronous    step [s] = E[max(T_1 ... T_n)]
    asynchronous   updates/s = sum 1/T_i
    server         updates/s <= servers x bandwidth/(2 x bytes) = 1/D     weights down, gradients up
    over its link  updates/s = X(n): X(k) = k/(Z + 2 R(k)), R(k) = D (1 + X(k - 1) R(k - 1))
    staleness      s_i = u T_i x sum over j != i of 1/T_j     updates of others while a step is open

The expected maximum of independent normal times is the integral of 1 - F_1(x) ... F_n(x) (David
and Nagaraja, Order Statistics, 2003, section 3.1); for equal workers it grows with sqrt(2 ln n).
Workers share the server's link: each works Z = n/(sum 1/T_i), then waits for the link down and for
the link up, which each take D of an update. That is a closed network of two queues, whose updates/s
follow from those of k - 1 workers (Reiser and Lavenberg, 1980, "Mean-value analysis of closed
multichain queuing networks"). One worker takes Z + 2 D; many come near the limit 1/D.

A step is open from the read of its weights to the write of its gradients, which is the share u of
its time. Over all updates the mean of s_i is u (n - 1), however uneven the workers are: in the time
of one step lie n - 1 updates of others. Weights come down the link within it, gradients go up after
it, and the step is handed out before it. So u is (compute + link/2)/step of the fitted parts.

A gradient of staleness s costs steps. For SGD with delayed updates the noise of the gradients costs
what it costs without delay, and the rest of the steps grows in proportion to the delay (Arjevani,
Shamir and Srebro, 2020, "A tight convergence analysis for stochastic gradient descent with delayed
updates"). With steps to a target of Smin (1 + Bcrit/b) (`planner.convergence`) that is

    updates to the target = Smin (1 + Bcrit/b + s)      at most; 0 instead of s is the least

so a stale gradient costs nothing where noise rules (b far below Bcrit) and up to s + 1 times the
updates where it does not. Nothing is fitted. Trials with tuned learning rates lie near the upper
end. Limits: bounds of convex problems; the learning rate is tuned to the delay.

Errors against runs: `python -m planner backtest --what-if`, docs/accuracy-what-if.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import ndtr

from planner.core import Floats, Text

POINTS: Final = 2001
"""Points of the integral of the expected maximum."""
TAIL: Final = 8.0
"""Standard deviations to either side that the integral covers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """Workers of one training: `times_s` of a worker's own step [s], shape (n,).

    `batch` are the samples of that step, `spread` is the relative sd of its time, `open_share` the
    share of it between the read of weights and the write of gradients.
    """

    batch: float
    times_s: Floats
    spread: float = 0.0
    open_share: float = 1.0

    @property
    def count(self) -> int:
        """Number of workers."""
        return int(self.times_s.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asynchronous:
    """Updates/s and samples/s without waiting, and the staleness of gradients [updates].

    `staleness` is the mean over updates, `slowest_staleness` that of the slowest worker.
    `server_limits` says whether the parameter server sets the pace.
    """

    updates_per_s: float
    samples_per_s: float
    staleness: float
    slowest_staleness: float
    server_limits: bool


def workers(
    count: int,
    *,
    batch: float,
    step_s: float,
    slow: float,
    spread: float,
    open_share: float = 1.0,
) -> Workers:
    """Return equal workers, of which one is stopped the share `slow` of the time.

    Args:
        count: workers, at least 1.
        batch: samples of one worker's step.
        step_s: time of one worker's step, exchange of gradients included [s].
        slow: share of the time, 0 to below 1.
        spread: relative sd of a worker's time from step to step.
        open_share: share of a step between the read of weights and the write of gradients.
    """
    times_s = np.full(count, step_s)
    times_s[-1] /= 1.0 - slow
    return Workers(batch=batch, times_s=times_s, spread=spread, open_share=open_share)


def expected_slowest(times_s: Floats, sd_s: Floats) -> float:
    """Return the expected maximum of independent normal times [s].

    Args:
        times_s: means, shape (n,).
        sd_s: standard deviations, shape (n,); all 0 gives the largest mean.
    """
    if not (sd_s > 0.0).any():
        return float(times_s.max())
    low, high = float((times_s - TAIL * sd_s).min()), float((times_s + TAIL * sd_s).max())
    x = np.linspace(low, high, POINTS)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (x[:, None] - times_s) / sd_s
    z = np.where(np.isnan(z), 0.0, z)  # a worker without scatter, at its own time
    return low + float(np.trapezoid(1.0 - ndtr(z).prod(axis=1), x))


def synchronous_step_s(of: Workers) -> float:
    """Return the expected step that waits for the slowest worker [s]."""
    return expected_slowest(of.times_s, of.spread * of.times_s)


def asynchronous(of: Workers, server_updates_per_s: float = np.inf) -> Asynchronous:
    """Return the speed of workers that do not wait.

    Args:
        of: the workers.
        server_updates_per_s: most updates over the link of the parameter servers, `server_limit`.
    """
    rates = 1.0 / of.times_s
    free = float(rates.sum())
    updates = over_link(of.count, of.count / free, 1.0 / server_updates_per_s)
    slowest = int(np.argmin(rates))
    return Asynchronous(
        updates_per_s=updates,
        samples_per_s=updates * of.batch,
        staleness=of.open_share * (of.count - 1.0),
        slowest_staleness=of.open_share * float((free - rates[slowest]) / rates[slowest]),
        server_limits=server_updates_per_s < free,
    )


def over_link(count: int, own_s: float, way_s: float) -> float:
    """Return updates/s of workers that share the link of their server.

    Args:
        count: workers, at least 1.
        own_s: time of a worker's update without the link [s].
        way_s: time of an update on the link in one direction [s].
    """
    updates, wait_s = 0.0, 0.0
    for k in range(1, count + 1):
        wait_s = way_s * (1.0 + updates * wait_s)
        updates = k / (own_s + 2.0 * wait_s)
    return updates


def server_limit(parameter_bytes: float, servers: int, link_bytes_per_s: float) -> float:
    """Return the most updates/s of parameter servers that share the weights.

    Args:
        parameter_bytes: bytes of the weights, which an update moves down and its gradients up.
        servers: parameter servers.
        link_bytes_per_s: of one server, both directions together.
    """
    return servers * link_bytes_per_s / (2.0 * parameter_bytes)


def update_ratio(batch: float, critical_batch: float, staleness: float) -> float:
    """Return the most updates to a target with stale gradients over those without.

    (1 + Bcrit/b + s)/(1 + Bcrit/b), 1 for s = 0.
    """
    fresh = 1.0 + critical_batch / batch
    return (fresh + staleness) / fresh


def time_ratio(
    of: Workers, critical_batch: float, run: Asynchronous, step_s: float
) -> tuple[float, float]:
    """Return the time to a target of asynchronous over synchronous training: least and most.

    A synchronous step has the batches of all workers, an asynchronous update one of them.

    Args:
        of: the workers.
        critical_batch: Bcrit of the workload and target [samples].
        run: of the same workers.
        step_s: `synchronous_step_s` of them [s].
    """
    together = (1.0 + critical_batch / (of.count * of.batch)) * step_s
    each = 1.0 + critical_batch / of.batch
    least = each / run.updates_per_s / together
    return least, least * update_ratio(of.batch, critical_batch, run.staleness)


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
