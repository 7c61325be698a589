"""Formulas of a target, with charts: steps to it, and the best batch."""

from __future__ import annotations

from typing import Final

import numpy as np

from backtest.accuracy.targets import THREE
from backtest.questions import convergence as of_convergence
from backtest.questions import regret
from backtest.questions.figure import MEAN
from pages.method.formula import (
    Formula,
    Picture,
    Slider,
    Values,
    in_per_cent,
    withheld,
)
from pages.method.made import (
    GRID,
    LARGEST,
    OVERHEAD,
    SMALLEST,
    V0,
    batches,
    made_curve,
    parts_of,
)
from planner import figures
from planner.convergence import ConvergenceCurve, fit_convergence
from planner.convergence import fit as convergence
from planner.core import Refusal, in_words
from planner.figures.palette import Theme
from planner.throughput import fit as throughput
from planner.throughput import size
from planner.time_to_target import best_batch, minimum_time, time_to_target

SMIN: Final = Slider(
    name="smin", label="Least steps Smin", unit="steps", default=1000,
    options=(10, 30, 100, 300, 1000, 3000, 10000),
)  # fmt: skip
BCRIT: Final = Slider(
    name="bcrit", label="Critical batch size Bcrit", unit="samples", default=256,
    options=(16, 64, 256, 1024, 4096, 16384),
)  # fmt: skip


# -- steps to target ---------------------------------------------------------------------------


def _law(values: Values) -> ConvergenceCurve | Refusal:
    """Return the curve through made-up samples to target."""
    sizes = batches(values["largest"])
    return fit_convergence(sizes, values["smin"] * (sizes + values["bcrit"]))


def steps_picture(values: Values, look: Theme) -> Picture:
    """Return the chart of steps over the batch, with regimes and perfect scaling."""
    curve = _law(values)
    if isinstance(curve, Refusal):
        return withheld(curve)
    grid = np.geomspace(SMALLEST / 2, 4 * curve.largest_measured, GRID)
    value, low, high = parts_of(curve.steps(grid), grid)
    measured = curve.samples_to_target / curve.batch
    line = figures.StepsLine(
        label="made-up workload", short="", slot=0, seed_batch=curve.batch, seed_steps=measured,
        measured_batch=curve.batch, measured=measured, batch=grid, value=value, low=low, high=high,
        smallest=float(curve.batch[0]), largest=curve.largest_measured,
        min_samples=float(curve.min_samples.value),
    )  # fmt: skip
    borders = [
        (float(e.value), float(e.low), float(e.high))
        for e in (curve.regimes.perfect_up_to, curve.regimes.maximal_from)
    ]
    critical = curve.critical_batch_size
    return Picture(
        figure=figures.steps_to_target(
            [line], look,
            borders=figures.Borders(perfect_up_to=borders[0], maximal_from=borders[1]),
        ),
        sentences=(
            f"Perfect scaling up to batch {size(borders[0][0])}, hardly fewer steps from batch "
            f"{size(borders[1][0])} on; the largest batch measured lies in "
            f"“{curve.regimes.of(curve.largest_measured)}”.",
            *critical.reasons[:1],
        ),
        caption="Made-up samples to target that lie on the law. Thin dashes are perfect scaling, "
        "upright bands the borders of the regimes, as wide as their intervals.",
    )  # fmt: skip


STEPS: Final = Formula(
    slug="steps",
    title="Steps to a target",
    laws=(
        r"S(B) = S_{min}\left(1 + \frac{B_{crit}}{B}\right) \qquad E(B) = S(B)\,B",
        r"B_{noise} = \frac{\mathrm{tr}(\Sigma)}{|G|^2}",
    ),
    words="**Smin** is the least number of steps, however large the batch; at the critical batch "
    "size **Bcrit** training needs twice the samples. Up to Bcrit/9 twice the batch takes "
    "half of the steps (perfect scaling); beyond 9·Bcrit it saves hardly any (maximal data "
    "parallelism); between them returns diminish. The gradient noise scale **Bnoise** is the "
    "scatter of single gradients over the square of their mean. It estimates Bcrit in another way "
    "and is shown where it was measured.",
    units="Steps S and Smin in steps; batches B, Bcrit, Bnoise and samples E in samples.",
    limits="Bcrit belongs to data, network, optimiser and target together. Where the points do not "
    "exclude that steps go on falling, the answer is “no limit seen up to B”. The prior on scatter "
    f"is {in_per_cent(convergence.PRIOR.sd)}. Above {in_per_cent(convergence.MAX_SCATTER)} scatter "
    f"there is no curve, and beyond {throughput.TOO_FAR:g} times the largest batch no answer.",
    source="McCandlish et al. 2018, “An empirical model of large-batch training”; regimes of "
    "Shallue et al. 2019.",
    sliders=(SMIN, BCRIT, LARGEST),
    picture=steps_picture,
    evidence=(of_convergence.QUESTION, THREE, MEAN),
)


# -- best batch --------------------------------------------------------------------------------


def best_picture(values: Values, look: Theme) -> Picture:
    """Return the chart of time to target over the batch, with the best batch."""
    speed, law = made_curve(values), _law(values)
    best, least = best_batch(speed, law), minimum_time(speed, law)
    if isinstance(best, Refusal):
        return withheld(best)
    if isinstance(least, Refusal):
        return withheld(least)
    grid = np.geomspace(SMALLEST / 2, 4 * values["largest"], GRID)
    value, low, high = parts_of(time_to_target(speed, law, grid), grid)
    line = figures.TargetTimeLine(
        label="made-up workload and system", short="", slot=0, batch=grid, value=value, low=low,
        high=high, smallest=SMALLEST, largest=values["largest"], best_batch=float(best.value),
        least_s=float(least.value),
    )  # fmt: skip
    clipped = [r for r in best.reasons if "optimum" in r or "Time to target falls" in r]
    return Picture(
        figure=figures.time_to_target([line], look),
        sentences=(
            f"The best batch is {float(best.value):,.0f} (90 %: {float(best.low):,.0f} to "
            f"{float(best.high):,.0f}); it reaches the target in {in_words(float(least.value))}.",
            *clipped[:1],
        ),
        caption="Made-up step times and samples to target that lie on their laws. Half or twice "
        "the best batch costs at most an eighth more time.",
    )


BEST: Final = Formula(
    slug="best-batch",
    title="Best batch and time to target",
    laws=(
        r"\mathrm{time}(B) = S(B)\,T(B) \qquad B^* = \sqrt{B_{crit}\,v_0\,t}",
        r"\mathrm{goodput}(B) = \frac{E_{min}}{\mathrm{time}(B)} = \frac{v(B)}{1 + B/B_{crit}}",
        r"\mathrm{time}(B^*) = S_{min}\left(\sqrt{t} + \sqrt{B_{crit}/v_0}\right)^2",
    ),
    words="Small batches waste the hardware, large ones waste samples. At v0·t the "
    "hardware is half efficient, at Bcrit the optimiser. The best batch **B\\*** is the geometric "
    "mean of these two. Goodput is throughput times efficiency: useful samples a second.",
    units="Time in seconds, batches in samples, goodput in useful samples a second.",
    limits="Never outside the batches that both curves were measured for. Where that moves the "
    "best batch, a reason names the optimum of the two laws and what the move costs. "
    "Half-widths of the two logarithms add in quadrature.",
    source="Follows from the two laws above; the word goodput is that of Qiao et al. 2021 "
    "(Pollux).",
    sliders=(V0, OVERHEAD, SMIN, BCRIT, LARGEST),
    picture=best_picture,
    evidence=(regret.QUESTION, f"time to target, target {regret.TARGETS[0]:g}", MEAN),
)
