"""What a scaling curve says in words: what to read beside an answer, and why there is none."""

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
    measure_next="Measure a second batch per device at a device count that was measured.",
)
NO_SHARES: Final = Refusal(
    reason="These runs cannot tell what the link costs from the overhead of a step.",
    measure_next="Measure a single device.",
)


def reasons_at(curve: ScalingCurve, at: Places) -> list[str]:
    """What to read beside these answers; the farthest one speaks for all."""
    told = [reason for link in (1, 2) for reason in _link_reasons(curve, link, at)]
    smallest, largest = curve.runs.batch.min(), curve.runs.batch.max()
    if (at.batch > largest).any():
        told.append(f"Beyond what was measured: the largest batch per device was {largest:g}.")
    if (at.batch < smallest).any():
        told.append(f"Below what was measured: the smallest batch per device was {smallest:g}.")
    return told


def _link_reasons(curve: ScalingCurve, link: int, at: Places) -> list[str]:
    counts, place = at.devices[at.link == link], WHERE[link]
    fewest, most = curve.fewest_devices[link], curve.most_devices[link]
    if not counts.size:
        return []
    told = []
    if counts.max() > TWICE * most:
        told.append(
            f"Low confidence: {counts.max():g} devices {place} are more than twice the "
            f"{most:g} measured. "
            "On a quarter of public clusters every scaling law we tested was off by 22 % or more "
            "at this distance. Measure one run at that count."
        )
    elif counts.max() > most:
        told.append(f"Beyond what was measured: at most {most:g} devices {place}.")
    if counts.min() < fewest:
        told.append(f"Below what was measured: at least {fewest:g} devices {place}.")
    if fewest == most and (counts != most).any():
        told.append(
            f"Only {most:g} devices were measured {place}: how far that cost grows with their "
            "number is assumed."
        )
    return told


def law_reasons(published: LargestCount) -> list[str]:
    """What to read beside an answer of the published scaling law."""
    several = "s" if published.devices > 1 else ""
    step_s = published.step_s[-1:]
    none, one = np.zeros(1), np.ones(1)
    loss = -np.expm1(published.law.log_factor(step_s, one, none))[0]
    fewer = -np.expm1(published.law.log_factor(step_s, none, one))[0]
    return [
        "Published scaling law, starting from the run on "
        f"{published.devices:g} device{several}: these runs do not determine it.",
        f"In published runs each device loses {100 * loss:.1f} % per doubling of the devices and "
        f"{100 * fewer:.0f} % per halving of its batch at steps as long as these.",
    ]


def refuse_launch(modes: tuple[str, ...], launch: str | None) -> Refusal:
    """Why nothing is told of a launch mode, or of none, where these were measured."""
    told = "No launch mode was named" if launch is None else f"Launch {launch} was not measured"
    named = ", ".join(mode or "(without a name)" for mode in modes)
    return Refusal(
        reason=f"{told}; each has its own cost per step. Measured: {named}.",
        measure_next=f"Choose one of these, or measure one run with {launch or 'another'}.",
    )


def refuse_link(link: int) -> Refusal:
    """Why nothing is told of a link class that no run crossed, by its number."""
    return Refusal(
        reason=f"Nothing was measured on {LINKS[link]}, and no other link tells what that costs.",
        measure_next=(
            "Measure a single device.",
            "Measure two devices of one node.",
            "Measure two nodes, with one device each and with as many as they have.",
        )[link],
    )


def refuse_batch(curve: Limited, batch: float) -> Refusal:
    """Why a curve does not answer about `batch` [samples per device]."""
    return Refusal(
        reason=f"Batch {plain(batch)} per device is outside {answered_range(curve)}, where this "
        f"curve answers: {curve.limit}",
        measure_next=f"Measure batch {plain(batch)} per device, or the nearest one that fits.",
    )
