"""Sentences of a scaling curve: reasons of answers, and refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from planner.core import Refusal, plain
from planner.fits import TWICE, Limited, answered_range
from planner.scaling._terms import LINKS, WHERE, Places

if TYPE_CHECKING:
    from planner.scaling._curve import ScalingCurve
    from planner.scaling._law import LargestCount

TANGLED: Final = Refusal(
    reason="These runs do not determine it: batch, devices and launch mode changed together.",
    measure_next="Measure a second batch per device at a measured device count.",
)
NO_SHARES: Final = Refusal(
    reason="These runs cannot separate the cost of the link from the overhead of a step.",
    measure_next="Measure a single device.",
)


def reasons_at(curve: ScalingCurve, at: Places) -> list[str]:
    """Return the reasons of these answers, for the farthest of them."""
    reasons = [reason for link in (1, 2) for reason in _link_reasons(curve, link, at)]
    smallest, largest = curve.runs.batch.min(), curve.runs.batch.max()
    if (at.batch > largest).any():
        reasons.append(f"Above the measured range: the largest batch per device was {largest:g}.")
    if (at.batch < smallest).any():
        reasons.append(f"Below the measured range: the smallest batch per device was {smallest:g}.")
    return reasons


def _link_reasons(curve: ScalingCurve, link: int, at: Places) -> list[str]:
    counts, place = at.devices[at.link == link], WHERE[link]
    fewest, most = curve.fewest_devices[link], curve.most_devices[link]
    if not counts.size:
        return []
    reasons = []
    if counts.max() > TWICE * most:
        reasons.append(
            f"Low confidence: {counts.max():g} devices {place} are more than twice the "
            f"{most:g} measured. "
            "On a quarter of public clusters every scaling law we tested was off by 22 % or more "
            "at this distance. Measure one run at that count."
        )
    elif counts.max() > most:
        reasons.append(f"Above the measured range: at most {most:g} devices {place}.")
    if counts.min() < fewest:
        reasons.append(f"Below the measured range: at least {fewest:g} devices {place}.")
    if fewest == most and (counts != most).any():
        reasons.append(
            f"Only {most:g} devices were measured {place}: the growth of that cost with their "
            "number is assumed."
        )
    return reasons


def law_reasons(published: LargestCount) -> list[str]:
    """Return the reasons of an answer by the published scaling law."""
    several = "s" if published.devices > 1 else ""
    step_s = published.step_s[-1:]
    zero, unit = np.zeros(1), np.ones(1)
    loss = -np.expm1(published.law.log_factor(step_s, unit, zero))[0]
    fewer = -np.expm1(published.law.log_factor(step_s, zero, unit))[0]
    return [
        "Published scaling law, starting from the run on "
        f"{published.devices:g} device{several}: these runs do not determine it.",
        f"In published runs each device loses {100 * loss:.1f} % per doubling of the devices and "
        f"{100 * fewer:.0f} % per halving of its batch at steps as long as these.",
    ]


def refuse_launch(modes: tuple[str, ...], launch: str | None) -> Refusal:
    """Return why a launch mode has no answer, where others were measured."""
    problem = "No launch mode was named" if launch is None else f"Launch {launch} was not measured"
    named = ", ".join(mode or "(without a name)" for mode in modes)
    return Refusal(
        reason=f"{problem}; each has its own cost per step. Measured: {named}.",
        measure_next=f"Choose one of these, or measure one run with {launch or 'another'}.",
    )


def refuse_link(link: int) -> Refusal:
    """Return why an unmeasured link class has no answer, by its number."""
    return Refusal(
        reason=f"Nothing was measured on {LINKS[link]}, and other links do not show that cost.",
        measure_next=(
            "Measure a single device.",
            "Measure two devices of one node.",
            "Measure two nodes, with one device each and with all of them.",
        )[link],
    )


def refuse_batch(curve: Limited, batch: float) -> Refusal:
    """Return why a curve has no answer for `batch` [samples per device]."""
    return Refusal(
        reason=f"Batch {plain(batch)} per device is outside {answered_range(curve)}, where this "
        f"curve answers: {curve.limit}",
        measure_next=f"Measure batch {plain(batch)} per device, or the nearest one that fits.",
    )
