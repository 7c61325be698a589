"""Draws of a time, split into uncertainty in common with other options and the option's own.

    time = value * (factor of one accelerator) * (factor of scaling) * (factor of the samples)

The first factor is one draw per accelerator, or per system the job was measured on: it is the same
for every device count and every provider. The second is the scaling: a small part is one draw for
all, the rest one per accelerator (`planner.job.efficiency`). Both move a time by z*sd*log2(n/m),
from m measured devices or from one. So they cancel between two offers of the same machine. Several
nodes have a draw of their own. The third is one draw for all options: a target takes the same
samples everywhere.

Accelerators with the same basis share a part of the first factor
(`planner.job.rates.Rate.shared_sd`). For a described workload with a family, all options share
some parts, those of one maker others, those of one generation others (`planner.mfu`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import numpy as np

from planner.core import LEVEL, Estimate, Floats, t_quantile
from planner.cost import Uncertainty, draw_time
from planner.fits import log_width
from planner.job._nearest import nearest_measured
from planner.job._records import (
    Candidate,
    Job,
    Scaling,
    Timed,
)
from planner.job.efficiency import parts_of_scaling

TIME_DOF: Final = 5.0
"""Degrees of freedom of drawn times: few of their intervals have more."""
SCALING: Final = "Scaling over several accelerators"
SAMPLES: Final = "Samples to the target"


def parts_of(job: Job, candidate: Candidate, estimate: Timed, total: Estimate) -> dict[str, Floats]:
    """Return draws of each factor of a time around 1, shape (DRAWS,), by its name.

    Their product times the total's value is the time. Names are keys: options with one name have
    the same draws.

    Args:
        job: with the systems it was measured on.
        candidate: the option.
        estimate: the time with its parts.
        total: the time [s], with both ends.
    """
    alone = total if estimate.alone is None else estimate.alone
    card = candidate.hardware.accelerator
    name = f"Time on {_where(job, candidate)}"
    uncertainty = _uncertainty(alone, estimate.shared_sd, estimate.shared)
    if estimate.shared_parts:
        parts = _described(alone, name, estimate.shared_parts)
    else:
        parts = {name: draw_time(alone, name, uncertainty) / float(alone.value)}
    if estimate.scaling is not None:
        parts |= _scaling(estimate.scaling, candidate.hardware.label if card is None else card.name)
    if estimate.samples is not None:
        parts[SAMPLES] = draw_time(estimate.samples, SAMPLES, _uncertainty(estimate.samples))
    return parts


def _described(
    alone: Estimate, name: str, shared: tuple[tuple[str, float], ...]
) -> dict[str, Floats]:
    """Return the shared and own factors of a described workload's time, by name.

    All of them are log-normal, and together as wide as the interval.
    """
    sd = 0.5 * log_width(alone) / float(t_quantile(alone.level, math.inf))
    variance = math.fsum(part**2 for _, part in shared)
    scale = min(1.0, sd / math.sqrt(variance)) if variance > 0.0 else 0.0
    own = math.sqrt(max(sd**2 - scale**2 * variance, 0.0))
    every = (*((words, scale * part) for words, part in shared), (name, own))
    return {words: _log_normal(part, words) for words, part in every if part > 0.0}


def _log_normal(sd: float, name: str) -> Floats:
    """Return draws of a factor around 1."""
    far = math.exp(float(t_quantile(LEVEL, math.inf)) * sd)
    return draw_time(Estimate(value=1.0, low=1.0 / far, high=far), name)


def work_draws(total: Estimate, parts: dict[str, Floats], least_s: float = 0.0) -> Floats:
    """Return draws of the time on the hardware [s], shape (DRAWS,), at least `least_s`.

    With one factor the median is exactly the total, as How long? shows it.
    """
    draws = float(total.value) * np.prod(list(parts.values()), axis=0)
    middle = float(np.median(draws)) if len(parts) == 1 else 0.0
    exact = float(total.value) / middle if 0.0 < middle < math.inf else 1.0
    return np.asarray(np.maximum(exact * draws, least_s))


def own_scaling(card: str, *, across_nodes: bool) -> str:
    """Return the name of an accelerator's own scaling factor."""
    return f"Scaling of {card} over several {'nodes' if across_nodes else 'accelerators'}"


def _scaling(scaling: Scaling, card: str) -> dict[str, Floats]:
    """Return the scaling factors: in common with all accelerators, and the own one."""
    common, own = parts_of_scaling(scaling)
    name = own_scaling(card, across_nodes=scaling.across_nodes)
    parts = {name: _drawn(own, name, fewer=scaling.fewer)}
    return (
        parts
        if common is None
        else {SCALING: _drawn(common, SCALING, fewer=scaling.fewer), **parts}
    )


def _drawn(factor: Estimate, name: str, *, fewer: bool) -> Floats:
    """Return draws of a factor around 1; mirrored for fewer devices than were measured."""
    if not fewer:
        return draw_time(factor, name, _uncertainty(factor))
    mirrored = replace(factor, low=1.0 / float(factor.high), high=1.0 / float(factor.low))
    return np.asarray(1.0 / draw_time(mirrored, name, _uncertainty(mirrored)))


def _where(job: Job, candidate: Candidate) -> str:
    """Return the system it was measured on, else one accelerator: all counts share a draw."""
    if candidate.run is not None:
        return candidate.run.run.system
    nearest = nearest_measured(job, candidate.hardware)
    if nearest is not None:
        return nearest[1].run.system
    card = candidate.hardware.accelerator
    return f"1 x {card.name}" if card is not None else candidate.hardware.label


def _uncertainty(time: Estimate, shared_sd: float = 0.0, shared: str = "") -> Uncertainty:
    dof = TIME_DOF if float(time.high) > float(time.low) else math.inf
    return Uncertainty(dof=dof, shared_sd=shared_sd, shared=shared)
