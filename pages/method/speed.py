"""Formulas of time, with charts: throughput at a batch size, and the time of N epochs."""

from __future__ import annotations

from typing import Final

import numpy as np

from backtest.accuracy.targets import INTERIOR
from backtest.accuracy.verdicts import AFTER
from backtest.questions import batch, epochs
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
    made_curve,
    made_line,
)
from planner import figures
from planner.core import Estimate, Floats, Refusal, in_words
from planner.epochs import project_summary, projection
from planner.figures.palette import Theme
from planner.fits import corrected, lines
from planner.runs import later_epochs
from planner.throughput import fit, size

EPOCH_S: Final = 60.0
"""Length of a made-up epoch [s]."""
SEEN: Final = Slider(
    name="seen", label="Epochs measured k", unit="epochs", default=3,
    options=(2, 3, 4, 5, 7, 10, 20),
)  # fmt: skip
BEND: Final = Slider(
    name="bend", label="Larger half takes longer by", unit="%", default=0,
    options=(0, 5, 10, 15, 20, 30),
)  # fmt: skip
REQUESTED: Final = Slider(
    name="epochs", label="Epochs N", unit="epochs", default=200,
    options=(20, 50, 100, 200, 500, 1000, 2000),
)  # fmt: skip
SCATTER: Final = Slider(
    name="scatter", label="Scatter of these epochs", unit="%", default=0.5,
    options=(0, 0.2, 0.5, 1, 2, 5, 10),
)  # fmt: skip


# -- throughput --------------------------------------------------------------------------------


def throughput_picture(values: Values, look: Theme) -> Picture:
    """Return the chart of points, fitted curve and band."""
    curve, end = made_curve(values), 8 * values["largest"]
    if isinstance(curve, Refusal):
        return withheld(curve)
    grid = np.geomspace(SMALLEST / 2, end, GRID)
    line = made_line(curve, grid, label="made-up system", short="", slot=0, kind="tpu")
    half, ninety = curve.half_saturation_batch, curve.batch_for(0.9)
    return Picture(
        figure=figures.throughput([line], look, log=True),
        sentences=(
            f"Half of v0 is reached at batch {size(half.value)}, 90 % of it at batch "
            f"{size(ninety.value)}.",
            f"Measured from batch {SMALLEST} to {curve.largest_measured:,.0f}: beyond that the "
            "line is dashed, beyond "
            f"{curve.answers_up_to_batch:,.0f} there is no answer.",
        ),
        caption="Made-up step times; the band is 90 % for one new measurement.",
    )


THROUGHPUT: Final = Formula(
    slug="throughput",
    title="Throughput at a batch size",
    laws=(
        r"T(b) = t + \frac{b}{v_0} \qquad v(b) = \frac{b}{T(b)}",
        r"T_{c}(b) = T(b)\,e^{w(b)\,g(\ln b)}",
    ),
    words="A step takes an overhead **t** that does not shrink with the batch, and after it "
    "**v0** samples a second. Small batches pay the overhead, large ones hide it. From "
    f"{corrected.LEAST} batch sizes on **g** bends the curve towards its points (a Gaussian "
    "process over ln b). The straight line alone gives v0, t and what follows from them.",
    units="Step time T and overhead t in seconds; batch b in samples over all devices; throughput "
    "v and v0 in samples a second.",
    limits="v → b/t for small batches, v → v0 for large ones; v0/2 at b = v0·t and 90 % at "
    "9·v0·t. The line is fitted to step times with relative weights, both numbers at least 0. The "
    f"band pools the scatter with a prior of {in_per_cent(lines.SD0)} (weight {lines.NU0:g}). It "
    f"widens by {in_per_cent(lines.KAPPA)} for each doubling outside the measured batches, where w "
    "lets g fade. Called a "
    f"guess beyond {fit.FAR:g} times the largest, refused beyond {fit.TOO_FAR:g} "
    "times.",
    source="The law of article 000 (“ideal learning speed” and “cost time”); the interval is our "
    "own, checked by the back-test.",
    sliders=(V0, OVERHEAD, LARGEST, BEND),
    picture=throughput_picture,
    evidence=(batch.QUESTION, INTERIOR, MEAN),
)


# -- epochs ------------------------------------------------------------------------------------


def epochs_picture(values: Values, look: Theme) -> Picture:
    """Return the interval of the total over N, for this session and for another."""
    seen, epochs = int(values["seen"]), int(values["epochs"])
    grid = np.unique(np.geomspace(seen, 2000, GRID).round())
    same, another = (_share(values, grid, sd) for sd in (0.0, projection.SESSION_SD))
    if isinstance(same, Refusal):
        return withheld(same)
    if isinstance(another, Refusal):
        return withheld(another)
    drawn = [
        figures.Share(label="another session or machine", short="another session", slot=1, x=grid,
                      value=0.0 * grid, low=another[0], high=another[1], largest=seen),
        figures.Share(label="the measured session", short="same session", slot=0, x=grid,
                      value=0.0 * grid, low=same[0], high=same[1], largest=seen),
    ]  # fmt: skip
    at = [float(np.interp(epochs, grid, high)) for _, high in (same, another)]
    total = _total(values, np.array([float(epochs)]), 0.0)
    total_text = in_words(float(np.asarray(total.value)[0])) if isinstance(total, Estimate) else ""
    return Picture(
        figure=figures.interval_of_epochs(drawn, epochs, look),
        sentences=(
            f"{epochs:,} epochs of a minute each, from {seen} measured: {total_text}, "
            f"±{at[0]:.1f} % in this session, ±{at[1]:.1f} % in another.",
        ),
        caption="A made-up run with epochs of one minute. The marker is where its measured epochs "
        "end; the lines are the ends of the 90 % interval.",
    )


def _total(values: Values, numbers: Floats, session_sd: float) -> Estimate | Refusal:
    return project_summary(
        epochs=numbers,
        later_epochs=int(values["seen"]) - 1,
        later_epoch_mean_s=EPOCH_S,
        later_epoch_sd_s=EPOCH_S * values["scatter"] / 100 if values["seen"] > 2 else None,
        pre_train_s=0.0,
        first_epoch_s=EPOCH_S,
        session_sd=session_sd,
    )


def _share(values: Values, numbers: Floats, session_sd: float) -> tuple[Floats, Floats] | Refusal:
    """Return both ends of the interval relative to the total [%]."""
    total = _total(values, numbers, session_sd)
    if isinstance(total, Refusal):
        return total
    value, low, high = (np.asarray(v) for v in (total.value, total.low, total.high))
    return 100 * (low / value - 1), 100 * (high / value - 1)


_SEEN, _SETTLED = f"{later_epochs.SEEN:g}", f"{later_epochs.SETTLED:g}"

EPOCHS: Final = Formula(
    slug="epochs",
    title="How long N epochs take",
    laws=(
        r"T(N) = p + e_1 + \bar{e}\,(N-1)",
        r"\mathrm{var} = s^2\left(m + \tfrac{m^2}{n}\right)\frac{1+\rho}{1-\rho}"
        r" + (d\,\bar{e}\,m)^2\,"
        rf"\frac{{\min(\max(m, {_SEEN}), {_SETTLED})}}{{{_SEEN}}}",
    ),
    words="The time before training **p**, epoch 1 **e₁** and the mean **ē** of the later epochs. "
    "Epoch 1 carries tracing, compiling and cold caches, so it is counted once and the mean starts "
    "at epoch 2. The interval of **m** further epochs after **n** measured ones is a Student t "
    "interval with the variance above. Epochs of one run resemble their neighbours (ρ) and drift "
    f"(d), ever further from {_SEEN} to {_SETTLED} epochs. A ratio of two runs adds both "
    "half-widths in quadrature. Where it includes 1 the answer is “not decided”.",
    units="All times in seconds; s² in seconds², ρ a correlation, d a share of the mean.",
    limits=f"s² is pooled with what other runs showed ({in_per_cent(later_epochs.SD0)} of the "
    f"mean, weight {later_epochs.NU0:g}); ρ = {later_epochs.RHO:g}, "
    f"d = {in_per_cent(later_epochs.DRIFT)}. In another session or on another machine of the "
    f"kind the whole total moves by σ = {in_per_cent(projection.SESSION_SD)}. Two sessions differ "
    "by √2·σ. One epoch is refused, and "
    f"so are epochs that vary by more than {in_per_cent(projection.MAX_CV)} or change on the way.",
    source="The sum is that of article 002; prior, correlation and drift were measured on its 80 "
    "public runs.",
    sliders=(SEEN, REQUESTED, SCATTER),
    picture=epochs_picture,
    evidence=(epochs.QUESTION, AFTER, epochs.STEADY),
)
