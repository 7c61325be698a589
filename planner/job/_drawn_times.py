"""What of a time is shared with other options, and what is the option's own?

    time = value * (doubt of one accelerator) * (doubt of scaling) * (doubt of the samples)

The first doubt is the same for every number of an accelerator, whoever rents it out: one draw by
the accelerator, or by the system the job was measured on. The second is how well several work
together: a small part is one draw for all, the rest one for each accelerator, whose link and host
it is (`planner.job.efficiency`). Either moves a time by z*sd*log2(n/m), from m that were
measured or from one, so that it decides little between 2 and 4 of one kind and nothing between two
offers of the same machine. Several nodes have a draw of their own. The third is one draw for all
options: a target takes so many samples wherever they are worked off.

Kinds of accelerators that are known the same way share a part of the first
(`planner.job.rates.Rate.shared_sd`). Of a described workload whose family is known, the first
has parts that all options share, those of one maker and those of one generation (`planner.mfu`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import numpy as np

from planner.core import LEVEL, Estimate, Floats, t_quantile
from planner.cost import Doubt, draw_time
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
"""Degrees of freedom of drawn times: what is behind their intervals is rarely more."""
SCALING: Final = "Scaling over several accelerators"
SAMPLES: Final = "Samples to the target"


def parts_of(job: Job, candidate: Candidate, found: Timed, total: Estimate) -> dict[str, Floats]:
    """Draws of each doubt of a time as a factor around 1, shape (DRAWS,), by what is doubted.

    Their product times the total's value is the time. Names are keys: options with one name have
    the same draws.

    Args:
        job: to tell where it was measured.
        candidate: whose time it is.
        found: how the time is known.
        total: the time itself [s]: an estimate with both ends.
    """
    alone = total if found.alone is None else found.alone
    card = candidate.hardware.accelerator
    name = f"Time on {_where(job, candidate)}"
    doubt = _doubt(alone, found.shared_sd, found.shared)
    if found.shared_parts:
        parts = _described(alone, name, found.shared_parts)
    else:
        parts = {name: draw_time(alone, name, doubt) / float(alone.value)}
    if found.scaling is not None:
        parts |= _scaling(found.scaling, candidate.hardware.label if card is None else card.name)
    if found.samples is not None:
        parts[SAMPLES] = draw_time(found.samples, SAMPLES, _doubt(found.samples))
    return parts


def _described(
    alone: Estimate, name: str, shared: tuple[tuple[str, float], ...]
) -> dict[str, Floats]:
    """What others share of a described workload's time, each by its name, and the rest as its own.

    All of them are log-normal, and together as wide as the interval.
    """
    sd = 0.5 * log_width(alone) / float(t_quantile(alone.level, math.inf))
    known = math.fsum(part**2 for _, part in shared)
    scale = min(1.0, sd / math.sqrt(known)) if known > 0.0 else 0.0
    own = math.sqrt(max(sd**2 - scale**2 * known, 0.0))
    every = (*((words, scale * part) for words, part in shared), (name, own))
    return {words: _log_normal(part, words) for words, part in every if part > 0.0}


def _log_normal(sd: float, name: str) -> Floats:
    """Draws of a factor around 1."""
    far = math.exp(float(t_quantile(LEVEL, math.inf)) * sd)
    return draw_time(Estimate(value=1.0, low=1.0 / far, high=far), name)


def work_draws(total: Estimate, parts: dict[str, Floats], least_s: float = 0.0) -> Floats:
    """Draws of the work on the hardware [s], shape (DRAWS,), none below the least possible time.

    Of one doubt the median is the total itself: How long? shows it, to the same digit.
    """
    draws = float(total.value) * np.prod(list(parts.values()), axis=0)
    middle = float(np.median(draws)) if len(parts) == 1 else 0.0
    exact = float(total.value) / middle if 0.0 < middle < math.inf else 1.0
    return np.asarray(np.maximum(exact * draws, least_s))


def own_scaling(card: str, *, across_nodes: bool) -> str:
    """What the doubt of an accelerator's own scaling is called."""
    return f"Scaling of {card} over several {'nodes' if across_nodes else 'accelerators'}"


def _scaling(told: Scaling, card: str) -> dict[str, Floats]:
    """What all accelerators share of it, and what is the accelerator's own."""
    common, own = parts_of_scaling(told)
    name = own_scaling(card, across_nodes=told.across_nodes)
    parts = {name: _drawn(own, name, fewer=told.fewer)}
    return (
        parts if common is None else {SCALING: _drawn(common, SCALING, fewer=told.fewer), **parts}
    )


def _drawn(factor: Estimate, name: str, *, fewer: bool) -> Floats:
    """Draws of a factor around 1; of fewer than were measured by the same draws the other way."""
    if not fewer:
        return draw_time(factor, name, _doubt(factor))
    mirrored = replace(factor, low=1.0 / float(factor.high), high=1.0 / float(factor.low))
    return np.asarray(1.0 / draw_time(mirrored, name, _doubt(mirrored)))


def _where(job: Job, candidate: Candidate) -> str:
    """Where it was measured, else one of the accelerators: all numbers of them are one doubt."""
    if candidate.run is not None:
        return candidate.run.run.system
    nearest = nearest_measured(job, candidate.hardware)
    if nearest is not None:
        return nearest[1].run.system
    card = candidate.hardware.accelerator
    return f"1 x {card.name}" if card is not None else candidate.hardware.label


def _doubt(time: Estimate, shared_sd: float = 0.0, shared: str = "") -> Doubt:
    dof = TIME_DOF if float(time.high) > float(time.low) else math.inf
    return Doubt(dof=dof, shared_sd=shared_sd, shared=shared)
