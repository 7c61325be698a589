"""Speed at another device count, where the runs do not determine the form.

Most published series time one batch per device count: MLPerf's time to train, language models over
nodes. `planner.scaling.fit` cannot separate batch, link and launch there. A law of published series
is used instead. It starts from the largest measured count m at its batch per device b0, with step
time T0 [s]:

    ln(v(n, b)/n) = ln(v(m, b0)/m) - loss*D - fewer*T0^-power*(2^(power*H) - 1)/(power*ln 2)
    D = log2(n/m), H = log2(b0/b);  v in samples/s over all devices

A doubling of the devices costs each of them the share `loss`. A halving of the batch per device
costs more at shorter steps: `fewer` at 1 s, twice that at 0.1 s. The last term sums this up over
all halvings; a larger batch gains by the same curve. The sd of the logarithm is

    max(SD0, spread*min(max(T0, SHORT_S), LONG_S)^(-1/4)*sqrt(|D| + |H|))

and CROSSED_SD is added in quadrature for several nodes if no run was on several.

    constant  value  unit                meaning
    loss      0.015  logarithm           per doubling of the devices
    fewer     0.10   logarithm           per halving of the batch per device, at a step of 1 s
    power     0.3    exponent            growth of that as steps shorten
    spread    0.045  relative sd         after one doubling or halving, at steps of 1 s or more
    SHORT_S   0.05   s                   the sd grows no further below it
    LONG_S    1      s                   nor shrinks above it
    CROSSED_SD 0.15  relative sd         of a link between nodes that no run crossed

`python -m planner backtest --constants` chooses them again with whole benchmarks left out; figures
in docs/constants.md, docs/accuracy.md and docs/decisions/0035-scaling-law.md. Published links are
fast (NVLink, InfiniBand, TPU slices): nodes with slower links lose more. CROSSED_SD covers this:
OneFlow's tables, with 100 Gbit/s between nodes, were 20 % off on 9 to 16 devices from one node,
with 58 % coverage without it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from planner.core import Floats
from planner.fits import SD0
from planner.scaling._terms import Places

SHORT_S: Final = 0.05
LONG_S: Final = 1.0
CROSSED_SD: Final = 0.15
_LEAST_S: Final = 0.002
_MOST_S: Final = 1000.0
"""Limits of the step time: published series have no shorter or longer ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingLaw:
    """The four constants of the law; see the table above."""

    loss: float = 0.015
    fewer: float = 0.10
    power: float = 0.3
    spread: float = 0.045

    def log_factor(self, step_s: Floats, doublings: Floats, halvings: Floats) -> Floats:
        """Return ln of a device's speed over its speed in the starting run.

        Args:
            step_s: step time of that run [s].
            doublings: of the devices from there; below 0 for fewer devices.
            halvings: of the batch per device from there; below 0 for a larger batch.
        """
        each = self.fewer * np.clip(step_s, _LEAST_S, _MOST_S) ** -self.power
        halved = np.expm1(self.power * math.log(2.0) * halvings) / (self.power * math.log(2.0))
        return np.asarray(-self.loss * doublings - each * halved)

    def sd(self, step_s: Floats, doublings: Floats, halvings: Floats) -> Floats:
        """Return the relative standard deviation of that factor, at least `SD0`."""
        shorter = np.clip(step_s, SHORT_S, LONG_S) ** -0.25
        far = np.sqrt(np.abs(doublings) + np.abs(halvings))
        return np.asarray(np.maximum(SD0, self.spread * shorter * far))


PUBLISHED: Final = ScalingLaw()
"""The law of published series."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LargestCount:
    """The runs at the largest device count, and the law that starts from them.

    `batch` are their batches per device [samples] in rising order and `step_s` the seconds of a
    step (geometric mean of repeats), shape (batches,). The law answers where the terms are
    undetermined. With `one_batch_each` (no device count was timed at two batches) it also covers
    unmeasured links and batches far from the measured ones. `crossed` is set if a run was on
    several nodes, `only` if the form does not fit and the law answers everywhere.
    """

    devices: float
    batch: Floats
    step_s: Floats
    one_batch_each: bool
    crossed: bool
    only: bool = False
    law: ScalingLaw = PUBLISHED

    def step_time(self, at: Places) -> tuple[Floats, Floats]:
        """Return the seconds of a step at these places, and their relative standard deviation."""
        halvings = np.log2(self.batch) - np.log2(at.batch)[..., None]
        nearest = np.abs(halvings).argmin(axis=-1)
        there: Floats = self.step_s[nearest]
        fewer = np.log2(self.batch[nearest] / at.batch)
        doublings = np.log2(at.devices / self.devices)
        factor = np.exp(self.law.log_factor(there, doublings, fewer))
        seconds = there * at.batch / self.batch[nearest] / factor
        unknown = CROSSED_SD * ((at.nodes > 1.0) & (not self.crossed))
        return np.asarray(seconds), np.hypot(self.law.sd(there, doublings, fewer), unknown)


def largest_count(runs: Places, step_s: Floats, *, only: bool = False) -> LargestCount:
    """Return the runs at the largest device count with the law that starts from them."""
    most: NDArray[np.bool_] = runs.devices == runs.devices.max()
    batch, where = np.unique(runs.batch[most], return_inverse=True)
    logs = np.bincount(where, np.log(step_s[most])) / np.bincount(where)
    return LargestCount(
        devices=float(runs.devices.max()),
        batch=batch,
        step_s=np.exp(logs),
        one_batch_each=one_batch_each(runs),
        crossed=bool((runs.nodes > 1.0).any()),
        only=only,
    )


def one_batch_each(runs: Places) -> bool:
    """Return whether no device count was timed at two batches per device."""
    pairs = set(zip(runs.devices.tolist(), runs.batch.tolist(), strict=True))
    return len(pairs) == np.unique(runs.devices).size
