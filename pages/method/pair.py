"""Formulas of a system beside another or its peak, with pictures: crossover and utilisation."""

from __future__ import annotations

from typing import Final

import numpy as np

from pages.method.formula import (
    Formula,
    Picture,
    Slider,
    Values,
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
    made_line,
    parts_of,
)
from planner import figures
from planner.catalog import Catalog
from planner.core import Refusal
from planner.figures.palette import Theme
from planner.job import sentence, utilizations
from planner.throughput import crossover, crossover_batch, size

GIGA: Final = 1e9
TERA: Final = 1e12
V0_OTHER: Final = Slider(
    name="v0b", label="v0 of the other system", unit="samples/s", default=1024,
    options=(64, 256, 1024, 4096, 16384, 65536),
)  # fmt: skip
OVERHEAD_OTHER: Final = Slider(
    name="tb", label="Overhead t of the other", unit="s", default=0.01,
    options=(0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1),
)  # fmt: skip
FLOPS: Final = Slider(
    name="gflop", label="Operations of a sample F", unit="GFLOP", default=24,
    options=(0.1, 1, 4, 12, 24, 70, 200, 1000),
)  # fmt: skip
PEAK: Final = Slider(
    name="peak", label="Peak of the device P", unit="TFLOP/s", default=312,
    options=(5, 15, 65, 125, 312, 989),
)  # fmt: skip
NAMES: Final = ("system A", "system B")


# -- crossover ---------------------------------------------------------------------------------


def crossover_picture(values: Values, look: Theme) -> Picture:
    """Return two curves over the batch, with their crossover."""
    a = made_curve({k: values[k] for k in ("v0", "t", "largest")})
    b = made_curve({"v0": values["v0b"], "t": values["tb"], "largest": values["largest"]})
    if isinstance(a, Refusal):
        return withheld(a)
    if isinstance(b, Refusal):
        return withheld(b)
    crossing = crossover_batch(a, b, names=NAMES)
    sentences = (
        (crossing.reason, crossing.measure_next)
        if isinstance(crossing, Refusal)
        else (
            f"The two take the same time at batch {size(crossing.value)}; above it the one with "
            "the larger v0 is faster, below it the one with the smaller overhead.",
            *crossing.reasons,
        )
    )
    grid = np.geomspace(SMALLEST / 2, 4 * values["largest"], GRID)
    drawn = [
        made_line(curve, grid, label=name, short=name, slot=slot, kind="gpu")
        for slot, (curve, name) in enumerate(zip((a, b), NAMES, strict=True))
    ]
    return Picture(
        figure=figures.throughput(drawn, look, log=True),
        sentences=sentences,
        caption="Made-up step times of two systems that lie on their laws.",
    )


CROSSOVER: Final = Formula(
    slug="crossover",
    title="From which batch on is one system faster?",
    laws=(r"b_\times = \frac{t_2 - t_1}{1/v_1 - 1/v_2}",),
    words="Two systems take the same time where their step times cross. Below that batch the "
    "smaller overhead **t** wins, above it the larger asymptotic throughput **v0**. Where one "
    "system has both, the lines do not cross and it is faster at every batch.",
    units="Batches in samples, overheads in seconds, v in samples a second.",
    limits="A number of the two straight lines, as v0 and t are. A reason names measured points "
    f"that bend about their lines by more than {100 * crossover.VISIBLE:g}\u00a0%. The interval "
    "is taken in the logarithm and is very wide where the curves are close. Refused where one "
    "curve refuses that batch.",
    source="Follows from the law of throughput; interval by the delta method.",
    sliders=(V0, OVERHEAD, V0_OTHER, OVERHEAD_OTHER, LARGEST),
    picture=crossover_picture,
)


# -- utilisation -------------------------------------------------------------------------------


def utilisation_picture(values: Values, look: Theme) -> Picture:
    """Return the chart of MFU at every batch of a made-up curve."""
    curve = made_curve({k: values[k] for k in ("v0", "t", "largest")})
    if isinstance(curve, Refusal):
        return withheld(curve)
    sizes = batches(values["largest"])
    speeds, _, _ = parts_of(curve.throughput(sizes), sizes)
    runs = [
        {"train_flops_per_sample": GIGA * values["gflop"], "throughput": float(speed),
         "gemm_flops_per_s": TERA * values["peak"]}
        for speed in speeds
    ]  # fmt: skip
    rows = [
        figures.Dot(label=f"batch {batch:,.0f}", slot=0, value=100 * share)
        for batch, run in zip(sizes, runs, strict=True)
        for share in (used.share for used in utilizations(run, Catalog()))
        if not isinstance(share, Refusal)
    ]
    text = sentence(runs[-1], Catalog()) or ""
    scale = figures.Scale(title="share of the peak (%)", unit="%", least=0.01)
    return Picture(
        figure=figures.dots(rows, scale, look) if rows else None,
        sentences=(f"At batch {sizes[-1]:,.0f}: {text}",),
        caption="Made-up step times; the peak stands for a matrix product measured beside them. A "
        "batch at which the run would be faster than its peak is refused and not drawn.",
    )


UTILISATION: Final = Formula(
    slug="utilisation",
    title="Which share of the peak is used? (MFU)",
    laws=(r"\mathrm{MFU} = \frac{F\,v(b)}{P}",),
    words="Operations of a sample **F** times samples a second, over the peak **P** of the device. "
    "**F** counts forward and backward; a fused multiply-add is two. **P** is the fastest matrix "
    "product measured beside the run, or the data sheet at that precision. MFU follows "
    "throughput, so it grows with the batch until v0.",
    units="F in operations a sample, v in samples a second, P in operations a second.",
    limits="At most 1: a run faster than its peak is refused. Then another card or number format "
    "was used than recorded, or a method that needs fewer operations. Cards whose name "
    "stands for several (PCIe) have no peak here, processors and TPUs only the measured one.",
    source="Model FLOPs utilisation of Chowdhery et al. 2022 (PaLM); peaks from data sheets.",
    sliders=(V0, OVERHEAD, LARGEST, FLOPS, PEAK),
    picture=utilisation_picture,
)
