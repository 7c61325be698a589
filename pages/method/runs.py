"""Formulas over runs, with charts: suspect runs, and the effect of a factor."""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np

from pages.method.formula import (
    Formula,
    Picture,
    Slider,
    Values,
    withheld,
)
from planner import figures
from planner.core import Estimate, Floats, Refusal
from planner.effects import FactorEffect, FactorRun, factor_effect
from planner.figures.palette import Theme
from planner.runs import CheckedRun
from planner.suspects import UNLIKE, suspects
from planner.suspects.neighbours import neighbours

# -- suspect runs ------------------------------------------------------------------------------

SICK: Final = Slider(name="times", label="One run takes this many times as long", default=1.5,
                     options=(0.5, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.5, 2, 5, 60))  # fmt: skip
SPREAD: Final = Slider(name="spread", label="Scatter of the healthy runs", unit="%", default=3,
                       options=(0.5, 1, 2, 3, 5, 10, 20))  # fmt: skip
SIZES: Final = 2 ** np.arange(6, 12)
PATTERNS: Final = 8
ODD: Final = 19
"""Place of the run that is made odd."""


@cache
def _scatter() -> Floats:
    return np.random.default_rng(20_261_121).normal(0, 1, (SIZES.size, PATTERNS))


def _made_runs(times: float, spread: float) -> list[CheckedRun]:
    """Return a made-up sweep of six batches under eight input patterns, with one odd run."""
    epoch_s = np.outer(40 + 8000 / SIZES, 1 + 0.08 * np.arange(PATTERNS))
    epoch_s = (epoch_s * np.exp(spread / 100 * _scatter())).ravel()
    epoch_s[ODD] *= times
    return [
        CheckedRun(
            run_id=str(i), label=f"the odd run at batch {SIZES[i // PATTERNS]}", workload="w",
            software="", pattern=str(i % PATTERNS), system_name="s",
            global_batch_size=int(SIZES[i // PATTERNS]), later_epoch_mean_s=float(epoch_s[i]),
        )
        for i in range(epoch_s.size)
    ]  # fmt: skip


@cache
def _checked(times: float, spread: float) -> tuple[Floats, Floats, tuple[str, ...], int]:
    """Return batches, robust deviations, flags of the odd run, and count of other flagged runs."""
    runs = _made_runs(times, spread)
    flags = suspects(runs)
    odd_flags = tuple(f"{f.name.capitalize()}: {f.evidence}" for f in flags if f.run == str(ODD))
    others = len({f.run for f in flags} - {str(ODD)})
    batch = np.array([float(run.global_batch_size or 0) for run in runs])
    return batch, neighbours(runs).z, odd_flags, others


def suspects_picture(values: Values, look: Theme) -> Picture:
    """Return the chart of robust deviations, and the flags of the odd run."""
    batch, z, odd_flags, others = _checked(values["times"], values["spread"])
    healthy = "No" if not others else f"{others}"
    runs = "run is" if others < 2 else "runs are"
    return Picture(
        figure=figures.unlike_neighbours(batch, z, ODD, UNLIKE, look),
        sentences=(
            *(odd_flags or ("The odd run is not flagged: it is within scatter.",)),
            f"{healthy} healthy {runs} flagged.",
        ),
        caption="A made-up sweep of six batches under eight input patterns; the large marker is "
        "the odd run, open where it is flagged.",
    )


SUSPECTS: Final = Formula(
    slug="suspects",
    title="Suspect runs",
    laws=(
        r"z = \frac{\ln e - \text{row} - \text{column}}"
        r"{1.4826 \cdot \mathrm{median}\,|\text{rest}|}",
    ),
    words="Runs of one workload stand in a table of configurations by input patterns. Median "
    "polish takes both effects out of the logarithm of the epoch time **e**; what is left, over "
    "its robust scatter, is **z**. Further flags: unsteady epochs, falling throughput, scaling "
    "above the ideal, duplicates. Zeros for missing values and slips of a unit (60, 1000, 3600) "
    "are flagged too.",
    units="e in seconds; z counts robust standard deviations.",
    limits=f"Flagged where |z| is above {UNLIKE:g}. Rows and columns need three cells "
    "each. A flagged run stays listed; only a visible switch leaves it out of a fit.",
    source="Median polish: Tukey 1977. The one known sick run of a public sweep of 50 has z = 20, "
    "the next 7.7.",
    sliders=(SICK, SPREAD),
    picture=suspects_picture,
)


# -- factors -----------------------------------------------------------------------------------

EFFECT: Final = Slider(name="effect", label="An image takes this many times as long", default=1.1,
                       options=(0.8, 0.9, 1, 1.05, 1.1, 1.2, 1.5))  # fmt: skip
PAIRS: Final = Slider(name="pairs", label="Pairs of runs", unit="pairs", default=4,
                      options=(1, 2, 3, 4, 6, 9))  # fmt: skip
VALIDATED: Final = Slider(name="validated", label="Images validated with it (10,000 without)",
                          unit="images", default=64, options=(64, 2500, 5000, 10000))  # fmt: skip


def effects_picture(values: Values, look: Theme) -> Picture:
    """Return the chart of the effect per epoch and per image."""
    pooled = factor_effect(
        _paired_runs(values["effect"], int(values["pairs"]), int(values["validated"])),
        "augmentation",
        base=False,
        changed=True,
    )
    if isinstance(pooled, Refusal):
        return withheld(pooled)
    rows = [
        figures.Dot(
            label=label, slot=slot, value=float(e.value), low=float(e.low), high=float(e.high),
            strong=label == "an image", note=f"90 %: {float(e.low):.2f} to {float(e.high):.2f}",
        )
        for slot, (label, e) in enumerate(_both(pooled).items())
    ]  # fmt: skip
    scale = figures.Scale(title="times as long with the factor as without", unit="", least=1e-3,
                          compare=1.0, compared="no effect")  # fmt: skip
    return Picture(
        figure=figures.dots(rows, scale, look),
        sentences=(pooled.sentence,),
        caption="Made-up runs on 50,000 images with 2 % scatter. They differ in the factor and in "
        "how many images were validated.",
    )


def _both(effect: FactorEffect) -> dict[str, Estimate]:
    effects = {"an image": effect.per_image, "an epoch": effect.per_epoch}
    return {label: e for label, e in effects.items() if isinstance(e, Estimate)}


def _paired_runs(effect: float, pairs: int, validated: int) -> list[FactorRun]:
    """Return pairs of runs at growing batches: time per image times images per epoch."""
    wobble = np.exp(0.02 * _scatter().ravel())
    runs = []
    for pair in range(pairs):
        for on, images in ((False, 10_000), (True, validated)):
            work = 50_000 + images / 3
            runs.append(
                FactorRun(
                    run_id=f"{pair} {on}", configuration=(), batch=64 * 2**pair, value=on,
                    epoch_s=work / 1000 * (effect if on else 1) * float(wobble[2 * pair + on]),
                    samples_per_epoch=50_000, validation_samples_per_epoch=images,
                )
            )  # fmt: skip
    return runs


EFFECTS: Final = Formula(
    slug="factors",
    title="What a factor does",
    laws=(
        r"\mathrm{effect} = \exp\left(\frac{1}{n}\sum_i \ln\frac{e_i^{with}}{e_i^{without}}"
        r"\right)",
        r"\mathrm{images} = \mathrm{trained} + \tfrac{1}{3}\,\mathrm{validated}",
    ),
    words="Runs that are equal in everything but one factor (validation, augmentation, storage, "
    "workers, feed, jit, precision, framework) make a pair; ratios multiply, so **n** pairs are "
    "averaged in logarithms. It is stated per epoch and per processed image. Where epochs "
    "differ in their number of images, the effect is the one per image.",
    units="Ratios of times; above 1 the factor costs time. e in seconds.",
    limits="Student t on the pairs' logarithms from three pairs on; with fewer the scatter between "
    "two sessions stands in. A validated image counts a third of a trained one: a forward pass "
    "alone.",
    source="Paired comparison in logarithms. Article 002 finds augmentation faster; partly its "
    "pattern (T, T, F) validated less: 64 images an epoch at batch 4096 where others took 8,192. "
    "Against (T, F, T) it takes 0.93 times as long per epoch, but 0.98 times per processed image.",
    sliders=(EFFECT, PAIRS, VALIDATED),
    picture=effects_picture,
)
