"""Formulas of training, with charts: throughput, N epochs, steps to a target, suspect runs."""

from functools import cache
from typing import Final

import numpy as np

from backtest.accuracy.targets import INTERIOR, THREE
from backtest.accuracy.verdicts import AFTER
from backtest.questions import batch, epochs, regret
from backtest.questions import convergence as of_convergence
from backtest.questions.figure import MEAN
from pages.method.formula import (
    GRID,
    LARGEST,
    OVERHEAD,
    SMALLEST,
    V0,
    Formula,
    Picture,
    Slider,
    Values,
    batches,
    in_per_cent,
    made_curve,
    made_line,
    parts_of,
    withheld,
)
from planner import figures
from planner.convergence import ConvergenceCurve, fit_convergence
from planner.convergence import fit as convergence
from planner.core import Estimate, Floats, Refusal, Text, in_words, plural, sentence_case
from planner.effects import FactorEffect, FactorRun, factor_effect
from planner.epochs import project_summary, projection
from planner.figures.frame import Theme
from planner.fits import corrected, lines
from planner.runs import CheckedRun, later_epochs
from planner.suspects import UNLIKE, suspects
from planner.suspects.neighbours import neighbours
from planner.throughput import TOO_FAR, fit, size
from planner.time_to_target import best_batch, minimum_time, time_to_target

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
            Text(
                "Half of v0 is reached at batch {half}, 90 % of it at batch {ninety}.",
                half=size(half.value),
                ninety=size(ninety.value),
            ),
            Text(
                "Measured from batch {smallest} to {largest_measured:,.0f}. Beyond "
                "{answers_up_to_batch:,.0f} there is no answer.",
                smallest=SMALLEST,
                largest_measured=curve.largest_measured,
                answers_up_to_batch=curve.answers_up_to_batch,
            ),
        ),
        caption="Made-up step times.",
    )


THROUGHPUT: Final = Formula(
    slug="throughput",
    title="Throughput at a batch size",
    laws=(
        r"T(b) = t + \frac{b}{v_0} \qquad v(b) = \frac{b}{T(b)}",
        r"T_{c}(b) = T(b)\,e^{w(b)\,g(\ln b)}",
    ),
    words=Text(
        "A step takes an overhead **t** that does not shrink with the batch, and after "
        "it **v0** samples a second. Small batches pay the overhead, large ones hide "
        "it. From {least} batch sizes on **g** bends the curve towards its points (a "
        "Gaussian process over ln b). The straight line alone gives v0, t and what "
        "follows from them.",
        least=corrected.LEAST,
    ),
    units="Step time T and overhead t are in seconds, batch b in samples over all devices. "
    "Throughput v and v0 are in samples a second.",
    limits=Text(
        "v → b/t for small batches, v → v0 for large ones. At b = v0·t it is v0/2. At 9·v0·t "
        "it is 90 % of v0. The line is fitted to step times with relative weights, both numbers "
        "at least 0. The band, of one new measurement, pools the scatter with a prior of "
        "{prior} (weight {nu0:g}). It widens by {growth} for each doubling outside the measured "
        "batches, where w lets g fade. Called a guess beyond {far:g} times the largest, "
        "refused beyond {too_far:g} times.",
        prior=in_per_cent(lines.SD0),
        nu0=lines.NU0,
        growth=in_per_cent(lines.KAPPA),
        far=fit.FAR,
        too_far=TOO_FAR,
    ),
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
        figures.ShareLine(label="another session or machine", short="another session", slot=1,
                          x=grid, value=0.0 * grid, low=another[0], high=another[1], largest=seen),
        figures.ShareLine(label="the measured session", short="same session", slot=0, x=grid,
                          value=0.0 * grid, low=same[0], high=same[1], largest=seen),
    ]  # fmt: skip
    at = [float(np.interp(epochs, grid, high)) for _, high in (same, another)]
    total = _total(values, np.array([float(epochs)]), 0.0)
    total_text = in_words(float(np.asarray(total.value)[0])) if isinstance(total, Estimate) else ""
    return Picture(
        figure=figures.interval_of_epochs(drawn, epochs, look),
        sentences=(
            Text(
                "{epochs:,} epochs of a minute each, from {seen} measured: "
                "{total_text}, ±{same:.1f} % in this session, ±{any:.1f} % in another.",
                epochs=epochs,
                seen=seen,
                total_text=total_text,
                same=at[0],
                any=at[1],
            ),
        ),
        caption="A made-up run with epochs of one minute.",
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
    value, low, high = total.arrays
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
    words=Text(
        "The time before training **p**, epoch 1 **e₁** and the mean **ē** of the later "
        "epochs. Epoch 1 carries tracing, compiling and cold caches, so it is counted "
        "once and the mean starts at epoch 2. The interval of **m** further epochs "
        "after **n** measured ones is a Student t interval with the variance above. "
        "Epochs of one run resemble their neighbours (ρ) and drift (d), ever further "
        "from {seen} to {settled} epochs. A ratio of two runs adds both half-widths in "
        "quadrature. Where it includes 1 the answer is “not decided”.",
        seen=_SEEN,
        settled=_SETTLED,
    ),
    units="All times in seconds; s² in seconds², ρ a correlation, d a share of the mean.",
    limits=Text(
        "s² is pooled with what other runs showed ({prior} of the mean, weight "
        "{nu0:g}); ρ = {rho:g}, d = {drift}. In another session or on another "
        "machine of the kind the whole total moves by σ = {sigma}. Two sessions "
        "differ by √2·σ. One epoch is refused, and so are epochs that vary by more than "
        "{most} or change on the way.",
        prior=in_per_cent(later_epochs.SD0),
        nu0=later_epochs.NU0,
        rho=later_epochs.RHO,
        drift=in_per_cent(later_epochs.DRIFT),
        sigma=in_per_cent(projection.SESSION_SD),
        most=in_per_cent(projection.MAX_CV),
    ),
    source="The sum is that of article 002; prior, correlation and drift were measured on its 80 "
    "public runs.",
    sliders=(SEEN, REQUESTED, SCATTER),
    picture=epochs_picture,
    evidence=(epochs.QUESTION, AFTER, epochs.STEADY),
)


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
    borders = [e.ends for e in (curve.regimes.perfect_up_to, curve.regimes.maximal_from)]
    critical = curve.critical_batch_size
    return Picture(
        figure=figures.steps_to_target(
            [line], look, borders=figures.Borders(perfect_up_to=borders[0], maximal_from=borders[1])
        ),
        sentences=(
            Text(
                "Perfect scaling up to batch {low}, hardly fewer steps from batch "
                "{high} on. The largest measured batch lies in “{of}”.",
                low=size(borders[0][0]),
                high=size(borders[1][0]),
                of=curve.regimes.of(curve.largest_measured),
            ),
            *critical.reasons[:1],
        ),
        caption="Made-up samples to target that lie on the law.",
    )


STEPS: Final = Formula(
    slug="steps",
    title="Steps to a target",
    laws=(
        r"S(B) = S_{min}\left(1 + \frac{B_{crit}}{B}\right) \qquad E(B) = S(B)\,B",
        r"B_{noise} = \frac{\mathrm{tr}(\Sigma)}{|G|^2}",
    ),
    words="**Smin** is the least number of steps, however large the batch. At the critical batch "
    "size **Bcrit** training needs twice the samples. Up to Bcrit/9 twice the batch takes "
    "half of the steps (perfect scaling). Beyond 9·Bcrit it saves almost none (maximal data "
    "parallelism). Between them returns diminish. The gradient noise scale **Bnoise** is the "
    "scatter of single gradients over the square of their mean. It estimates Bcrit in another way "
    "and is shown where it was measured.",
    units="Steps S and Smin in steps; batches B, Bcrit, Bnoise and samples E in samples.",
    limits=Text(
        "Bcrit belongs to data, network, optimiser and target together. Where the "
        "points do not exclude that steps go on falling, the answer is “no limit seen "
        "up to B”. The prior on scatter is {prior}. Above {most} scatter "
        "there is no curve, and beyond {too_far:g} times the largest batch no answer.",
        prior=in_per_cent(convergence.PRIOR.sd),
        most=in_per_cent(convergence.MAX_SCATTER),
        too_far=TOO_FAR,
    ),
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
    clipped = float(best.value) in {SMALLEST, values["largest"]}
    return Picture(
        figure=figures.time_to_target([line], look),
        sentences=(
            Text(
                "The best batch is {best:,.0f} (90 %: {low:,.0f} to {high:,.0f}); it "
                "reaches the target in {least}.",
                best=float(best.value),
                low=float(best.low),
                high=float(best.high),
                least=in_words(float(least.value)),
            ),
            *(best.reasons[:1] if clipped else ()),
        ),
        caption="Made-up step times and samples to target that lie on their laws.",
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
    "mean of these two. Half or twice of it costs at most an eighth more time. Goodput is "
    "throughput times efficiency: useful samples a second.",
    units="Time in seconds, batches in samples, goodput in useful samples a second.",
    limits="Never outside the batches that both curves were measured for. Where that moves the "
    "best batch, a reason names the optimum of the two laws and what the move costs. "
    "Half-widths of the two logarithms add in quadrature.",
    source="Follows from the two laws above; the word goodput is that of Qiao et al. 2021 "
    "(Pollux).",
    sliders=(V0, OVERHEAD, SMIN, BCRIT, LARGEST),
    picture=best_picture,
    evidence=(
        regret.QUESTION,
        Text("time to target, target {targets:g}", targets=regret.TARGETS[0]),
        MEAN,
    ),
)


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
            run_id=str(i),
            label=Text("the odd run at batch {sizes}", sizes=SIZES[i // PATTERNS]),
            workload="w",
            software="",
            pattern=str(i % PATTERNS),
            system_name="s",
            global_batch_size=int(SIZES[i // PATTERNS]),
            later_epoch_mean_s=float(epoch_s[i]),
        )
        for i in range(epoch_s.size)
    ]


@cache
def _checked(times: float, spread: float) -> tuple[Floats, Floats, tuple[str, ...], int]:
    """Return batches, robust deviations, flags of the odd run, and count of other flagged runs."""
    runs = _made_runs(times, spread)
    flags = suspects(runs)
    odd_flags = tuple(f"{sentence_case(f.name)}: {f.evidence}" for f in flags if f.run == str(ODD))
    others = len({f.run for f in flags} - {str(ODD)})
    batch = np.array([float(run.global_batch_size or 0) for run in runs])
    return batch, neighbours(runs).z, odd_flags, others


def suspects_picture(values: Values, look: Theme) -> Picture:
    """Return the chart of robust deviations, and the flags of the odd run."""
    batch, z, odd_flags, others = _checked(values["times"], values["spread"])
    flagged = plural(others, "{count} healthy run is flagged.", "{count} healthy runs are flagged.")
    return Picture(
        figure=figures.unlike_neighbours(batch, z, ODD, UNLIKE, look),
        sentences=(
            *(odd_flags or ("The odd run is not flagged: it is within scatter.",)),
            flagged if others else "No healthy run is flagged.",
        ),
        caption="A made-up sweep of six batches under eight input patterns.",
    )


SUSPECTS: Final = Formula(
    slug="suspects",
    title="Suspect runs",
    laws=(
        r"z = \frac{\ln e - \text{row} - \text{column}}"
        r"{1.4826 \cdot \mathrm{median}\,|\text{rest}|}",
    ),
    words="Runs of one workload stand in a table of configurations by input patterns. Median "
    "polish takes both effects out of the logarithm of the epoch time **e**. The rest, over "
    "its robust scatter, is **z**. Further flags: unsteady epochs, falling throughput, scaling "
    "above the ideal, duplicates. Zeros for missing values and slips of a unit (60, 1000, 3600) "
    "are flagged too.",
    units="e in seconds; z counts robust standard deviations.",
    limits=Text(
        "Flagged where |z| is above {unlike:g}. Rows and columns need three cells each. "
        "A flagged run stays listed; only a visible switch leaves it out of a fit.",
        unlike=UNLIKE,
    ),
    source="Median polish: Tukey 1977. The known faulty run of a public sweep of 50 has z = 20, "
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
                          compare=1.0, compared="no effect", whisker="90 % interval")  # fmt: skip
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
    "workers, feed, jit, precision, framework) make a pair. Ratios multiply, so **n** pairs are "
    "averaged in logarithms. It is stated per epoch and per processed image. Where epochs "
    "differ in their number of images, the effect is the one per image.",
    units="Ratios of times; above 1 the factor costs time. e in seconds.",
    limits="Student t on the pairs' logarithms from three pairs on; with fewer the scatter between "
    "two sessions stands in. A validated image counts a third of a trained one: a forward pass "
    "alone.",
    source="Paired comparison in logarithms. Article 002 finds augmentation faster. One cause: its "
    "pattern (T, T, F) validated less, 64 images an epoch at batch 4096 where others took 8,192. "
    "Against (T, F, T) it takes 0.93 times as long per epoch, but 0.98 times per processed image.",
    sliders=(EFFECT, PAIRS, VALIDATED),
    picture=effects_picture,
)
