"""What is refused or only said with a warning, as one table: the page and the docs show it.

The numbers are those of the code, not copies of them; the evidence is named with each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from planner.projection import EPOCHS_TO_MEASURE, MAX_CV
from planner.throughput import FALL, FAR, MAX_SCATTER, NARROW, TOO_FAR


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """When, what is done, why (with the figure that taught it), and the way out."""

    when: str
    then: str
    why: str
    measure_next: str


RULES: Final = (
    Rule(
        when="one batch size",
        then="no curve; the point is shown",
        why="taking throughput as constant was wrong by 32 to 137 % on five data sets",
        measure_next="a batch at least four times larger or smaller",
    ),
    Rule(
        when=f"two batch sizes less than {NARROW:g} times apart",
        then="no answer beyond twice their range",
        why="the two smallest batches missed the largest by 22 to 80 % (median by data set)",
        measure_next="the largest batch that fits, and one between",
    ),
    Rule(
        when=f"a batch above {FAR:g} times the largest measured",
        then="dashed line and a wide band",
        why="median error 13 % at twice, 19 % at four times; the band held 80 % and 91 %",
        measure_next="a run near that batch",
    ),
    Rule(
        when=f"a batch above {TOO_FAR:g} times the largest measured",
        then="refused",
        why="nothing measured says what happens there",
        measure_next="a run near that batch",
    ),
    Rule(
        when=f"throughput falls by more than {FALL:.0%} as the batch grows".replace("%", " %"),
        then="answers beyond it carry a warning",
        why="something changed there (memory, another kernel): no two numbers can follow it",
        measure_next="both batches again, in one session",
    ),
    Rule(
        when=f"scatter around the curve above {MAX_SCATTER:.0%}".replace("%", " %"),
        then="no v0 and no t; the points are shown",
        why="a sick published sweep scattered by 33 %, healthy ones by 2 to 9 %",
        measure_next="the batch that lies furthest off, again",
    ),
    Rule(
        when="one epoch only",
        then="no projection",
        why="epoch 1 is unlike the others: 34 % median error, 251 % at the 95th percentile",
        measure_next=EPOCHS_TO_MEASURE,
    ),
    Rule(
        when=f"epochs 2 and later vary by more than {MAX_CV:.0%}".replace("%", " %"),
        then="no projection",
        why="12 public runs that changed image or batch size on the way: 37 % error",
        measure_next="each phase as a run of its own",
    ),
    Rule(
        when="the first epoch, or the time before it, is not known",
        then="no total; the time of a later epoch is told",
        why="epoch 1 took up to 5.8 times as long as the others",
        measure_next="the first epoch and the time before it",
    ),
    Rule(
        when="a run that did not end well",
        then="no total; the run is shown with its reason",
        why="a run out of memory or killed says nothing about a whole one",
        measure_next="the case again, at a smaller batch or with more memory",
    ),
    Rule(
        when="two totals closer than their joint interval",
        then="“not decided” is said",
        why="a gap smaller than its doubt is no ranking",
        measure_next="both again, each in two fresh sessions",
    ),
)
