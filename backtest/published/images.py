"""Constants of the parts of an image network's step, chosen by published rows.

The logarithm of each constant is moved from a round start until the mean over sources of
|residual - level of the source| is least, with `PENALTY` times the squared moves and `CENTRE` times
the mean level added: who wrote the software has a separate level. Each choice is repeated without
each source.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from scipy.optimize import minimize

from backtest.published.mfu import ChosenConstants, question_of, shipped_value
from planner.core import Floats, shipped_rows
from planner.mfu import parts_of
from planner.published import Configuration

STARTS: Final = {
    "HALF_SHARE": 0.5,
    "SINGLE_SHARE": 0.5,
    "PASSES": 10.0,
    "SINGLE_PASSES": 10.0,
    "PARAMETER_BYTES": 24.0,
    "LAUNCH_S": 100e-6,
}
"""From where the choice of each constant starts."""
KINDS: Final = ("depthwise", "grouped", "dense", "vit")
PENALTY: Final = 0.01
CENTRE: Final = 0.1
"""Weight of the distance of the sources' mean level from the parts: loading needs true times."""
FEW_ROWS: Final = 7
"""Sources with fewer rows choose nothing."""


def image_constants(usable: Sequence[Configuration]) -> list[ChosenConstants]:
    """Return the choice of every constant of the parts."""
    rows = [run for run in usable if run.family in {"cnn", "vit"}]
    of = np.array([run.source for run in rows])
    sources = [name for name in sorted(set(of)) if np.sum(of == name) >= FEW_ROWS]
    if len(sources) < 2:
        return []
    times, factors, loading, truth = _parts(rows)
    names, ships, starts = _constants()
    start = np.log(starts / ships)
    groups = {name: np.flatnonzero(of == name) for name in sources}

    def chosen(left_out: str) -> Floats:
        kept = [where for name, where in groups.items() if name != left_out]

        def loss(moves: Floats) -> float:
            step = np.hypot(np.sum(times * np.exp(factors @ moves), axis=1), loading)
            left = np.log(step) - truth
            levels = [float(np.median(left[i])) for i in kept]
            apart = [np.mean(np.abs(left[i] - x)) for i, x in zip(kept, levels, strict=True)]
            centre = CENTRE * abs(float(np.mean(levels)))
            return float(np.mean(apart)) + centre + PENALTY * float(np.sum((moves - start) ** 2))

        moves = start
        for _ in range(2):
            moves = minimize(
                loss, moves, method="Powell", options={"maxiter": 30, "xtol": 1e-3, "ftol": 1e-4}
            ).x
        return np.asarray(ships * np.exp(moves))

    every, without = chosen(""), [chosen(name) for name in sources]
    return [
        ChosenConstants(
            name=name, ships=float(ships[i]), chosen=float(every[i]),
            without=tuple(float(x[i]) for x in without), points=len(rows),
        )
        for i, name in enumerate(names)
    ]  # fmt: skip


def _constants() -> tuple[list[str], Floats, Floats]:
    """Return names, shipped values and starts of the constants."""
    table = shipped_rows("planner.mfu", "image_kinds.csv", compute=float, memory=float)
    kinds = {row["kind"]: row for row in table if "kind" in row}
    names = [f"mfu._images.{name}" for name in STARTS]
    ships, starts = [shipped_value(name) for name in names], [*STARTS.values()]
    for column in ("compute", "memory"):
        names += [f"mfu/image_kinds.csv:{column}:{kind}" for kind in KINDS]
        ships += [kinds[kind][column] for kind in KINDS]
        starts += [1.0] * len(KINDS)
    return names, np.array(ships), np.array(starts)


def _parts(rows: Sequence[Configuration]) -> tuple[Floats, Floats, Floats, Floats]:
    """Return times of parts, powers of the constants in them, times of loading, ln of true times.

    Times (row, part) are in s, powers (row, part, constant).
    """
    names = list(STARTS)
    times = np.zeros((len(rows), 4))
    factors = np.zeros((len(rows), 4, len(names) + 2 * len(KINDS)))
    loading, truth = np.zeros(len(rows)), np.zeros(len(rows))
    for i, run in enumerate(rows):
        parts = parts_of(question_of(run))
        times[i] = parts.computes, parts.moves, parts.parameters, parts.launches
        single = run.precision in {"float32", "tensorfloat32"}
        factors[i, 0, names.index("SINGLE_SHARE" if single else "HALF_SHARE")] = -1.0
        factors[i, 1, names.index("SINGLE_PASSES" if single else "PASSES")] = 1.0
        factors[i, 2, names.index("PARAMETER_BYTES")] = 1.0
        factors[i, 3, names.index("LAUNCH_S")] = 1.0
        if parts.kind in KINDS:
            at = len(names) + KINDS.index(parts.kind)
            factors[i, 0, at], factors[i, 1, at + len(KINDS)] = -1.0, 1.0
        loading[i] = parts.loading
        truth[i] = np.log(run.devices / run.samples_per_s)
    return times, factors, loading, truth
