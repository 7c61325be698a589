"""What of a time is shared with other options, and what is the option's own?

    time = value * (doubt of one accelerator) * (doubt of scaling)

The first doubt is the same for every number of an accelerator, whoever rents it out: one draw by
the accelerator, or by the system the job was measured on. The second is how well several work
together: one draw for all, z, that moves a time by z*sd*log2(count), so that it decides little
between 2 and 4 of one kind and nothing between two offers of the same machine. Several nodes have
a draw of their own. Kinds of accelerators that are known the same way share a part of the first
(`planner.compare.rates.Rate.shared_sd`).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from planner.compare.efficiency import per_accelerator
from planner.compare.records import Candidate, Job, Timed
from planner.cost import Doubt, draw_time
from planner.estimate import Estimate, Floats

TIME_DOF: Final = 5.0
"""Degrees of freedom of drawn times: what is behind their intervals is rarely more."""
SCALING: Final = "Scaling over several accelerators"
SCALING_NODES: Final = "Scaling over several nodes"


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
    name = f"Time on {_where(job, candidate)}"
    doubt = _doubt(alone, found.shared_sd, found.shared)
    parts = {name: draw_time(alone, name, doubt) / float(alone.value)}
    if found.scaling is not None:
        several = SCALING_NODES if candidate.hardware.nodes > 1 else SCALING
        parts[several] = draw_time(found.scaling, several, _doubt(found.scaling))
    return parts


def work_draws(total: Estimate, parts: dict[str, Floats]) -> Floats:
    """Draws of the work on the hardware [s], shape (DRAWS,)."""
    return np.asarray(float(total.value) * np.prod(list(parts.values()), axis=0))


def _where(job: Job, candidate: Candidate) -> str:
    """Where it was measured, else one of the accelerators: all numbers of them are one doubt."""
    if candidate.run is not None:
        return candidate.run.run.system
    card = candidate.hardware.accelerator
    there = [
        (per_accelerator(m.run.samples_per_s or 0.0, job.hardware[m.run.run_id]), m.run.system)
        for m in job.measured
        if card is not None and job.hardware[m.run.run_id].accelerator == card
    ]
    if there:
        return max(there)[1]
    return f"1 x {card.name}" if card is not None else candidate.hardware.label


def _doubt(time: Estimate, shared_sd: float = 0.0, shared: str = "") -> Doubt:
    dof = TIME_DOF if float(time.high) > float(time.low) else math.inf
    return Doubt(dof=dof, shared_sd=shared_sd, shared=shared)
