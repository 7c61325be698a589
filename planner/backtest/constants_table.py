"""The constants that were chosen, not derived: one table, with what chose each of them.

The values are read from the code, so the page cannot tell others.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Final

CHOICE: Final = "`python -m planner backtest --constants`"
BEFORE: Final = "before the project"
SCALING: Final = "`pytest -s tests/planner/test_scaling_public.py`"
PROJECTION: Final = "`pytest tests/planner/test_projection_public.py`"
CONVERGENCE: Final = "`pytest -s tests/planner/test_convergence_public.py`"
TRANSFER: Final = "`pytest -s tests/planner/test_transfer_public.py`"
FIVE: Final = "Colab TPU, Pollux T4, Sia, Gavel"
THREE: Final = "Shallue, C4, MLPerf"
COLAB: Final = "Colab TPU and GPU"
LAMBDA: Final = "Lambda v1"
SIA: Final = "Pollux, Sia"


@dataclass(frozen=True, slots=True)
class Constant:
    """Where it is in the code, its unit, what it means, the data and the command that chose it."""

    name: str
    unit: str
    meaning: str
    data: str
    command: str

    @property
    def value(self) -> float:
        """As the code has it."""
        module, *path = self.name.split(":")
        found: object = import_module(module)
        for part in path[0].split("."):
            found = getattr(found, part)
        return float(str(found))


def _of(module: str, *constants: tuple[str, str, str, str, str]) -> tuple[Constant, ...]:
    return tuple(Constant(f"planner.{module}:{name}", *rest) for name, *rest in constants)


CONSTANTS: Final = (
    *_of(
        "estimate",
        ("LEVEL", "share", "nominal coverage of every interval", "convention", "none"),
    ),
    *_of(
        "lines",
        (
            "SD0",
            "relative sd",
            "scatter of a step time before its points are looked at",
            FIVE,
            CHOICE,
        ),
        ("NU0", "degrees of freedom", "weight of that belief", FIVE, f"{BEFORE}; {CHOICE}: 1"),
        (
            "KAPPA",
            "relative sd per octave",
            "doubt per doubling outside the measured batches",
            FIVE,
            CHOICE,
        ),
    ),
    *_of(
        "throughput",
        ("NARROW", "factor", "two batches closer than this carry to twice away only", FIVE, BEFORE),
        ("FAR", "factor", "beyond it an answer is called a guess", FIVE, BEFORE),
        ("TOO_FAR", "factor", "beyond it there is no answer", FIVE, BEFORE),
        (
            "FALL",
            "share",
            "a throughput so far below a smaller batch's is a change",
            "Pollux, Colab GPU",
            BEFORE,
        ),
        (
            "MAX_SCATTER",
            "relative sd",
            "above it a sweep is refused: healthy ones had 2 to 9 %",
            "Colab",
            BEFORE,
        ),
    ),
    *_of(
        "corrected",
        ("AMPLITUDE", "relative sd", "how far times stray from the line", FIVE, BEFORE),
        ("LENGTH", "ln(batch)", "over which a deviation persists: ln 16", FIVE, BEFORE),
        ("NUGGET", "relative sd", "scatter of one measurement", FIVE, BEFORE),
        (
            "NU0",
            "degrees of freedom",
            "weight of the prior that these sizes are right",
            FIVE,
            BEFORE,
        ),
        ("LEAST", "points", "fewer get the plain line", FIVE, CHOICE),
    ),
    *_of(
        "convergence",
        (
            "PRIOR.sd",
            "relative sd",
            "scatter of samples to target before its points are looked at",
            THREE,
            CHOICE,
        ),
        ("PRIOR.dof", "degrees of freedom", "weight of that belief", THREE, CHOICE),
        (
            "PRIOR.sd_per_octave",
            "relative sd per octave",
            "doubt per doubling outside the measured batches",
            THREE,
            CHOICE,
        ),
        (
            "NARROW",
            "factor",
            "two batches closer than this carry to twice away only",
            THREE,
            CONVERGENCE,
        ),
        ("TOO_FAR", "factor", "beyond it there is no answer", THREE, CONVERGENCE),
        (
            "MAX_SCATTER",
            "relative sd",
            "above it a workload is refused: tuned ones had at most 19 %",
            THREE,
            CONVERGENCE,
        ),
        (
            "OFF",
            "factor",
            "a batch so far off the law was tuned badly: tuned ones stayed within 1.44",
            THREE,
            CONVERGENCE,
        ),
    ),
    *_of(
        "scaling",
        (
            "FADING",
            "share",
            "what a doubling of devices costs of the one before",
            "Pollux T4, Sia; 0.85 to 0.9 with one cluster left out",
            SCALING,
        ),
    ),
    *_of(
        "scaling_terms",
        (
            "GROWING",
            "share",
            "of a link's cost that grows, where one device count was measured",
            "all device data, looked at",
            SCALING,
        ),
        ("DOF", "degrees of freedom", "of the interval", SIA, BEFORE),
    ),
    *_of(
        "scaling_answers",
        (
            "KAPPA",
            "relative sd per octave",
            "doubt per doubling of devices outside the measured",
            SIA,
            BEFORE,
        ),
    ),
    *_of(
        "projection",
        ("NU0", "degrees of freedom", "weight of the prior on epoch scatter", COLAB, BEFORE),
        (
            "SD0",
            "share of the mean",
            "scatter before the run's own epochs are looked at",
            COLAB,
            BEFORE,
        ),
        ("RHO", "correlation", "of neighbouring epochs", COLAB, BEFORE),
        ("DRIFT", "share of the mean", "slow drift over a run", COLAB, BEFORE),
        (
            "SESSION_SD",
            "share of the total",
            "deviation of one session",
            "Colab TPU, five pairs",
            BEFORE,
        ),
        (
            "SESSION_DOF",
            "degrees of freedom",
            "five pairs of sessions",
            "Colab TPU, five pairs",
            BEFORE,
        ),
        (
            "MAX_CV",
            "share of the mean",
            "above it epochs are not of one kind",
            "DAWNBench",
            PROJECTION,
        ),
    ),
    *_of(
        "steadiness",
        (
            "CHANGE",
            "share",
            "smaller changes are scatter or drift",
            "none: a round number",
            PROJECTION,
        ),
        ("SHORTEST", "epochs", "one epoch alone is a hiccup", "none: a definition", PROJECTION),
        (
            "NOISE",
            "variances",
            "scatter that a cut must explain",
            "none fitted; simulated runs",
            PROJECTION,
        ),
    ),
    *_of(
        "transfer.data_sheet",
        (
            "SHEET_RIDGE",
            "variance ratio",
            "how far coefficients of the data sheet are drawn to their prior",
            LAMBDA,
            TRANSFER,
        ),
        ("WORKLOAD_RIDGE", "variance ratio", "the same of each workload's own", LAMBDA, TRANSFER),
    ),
    *_of(
        "transfer.prediction",
        (
            "CELL_SCATTER",
            "relative sd",
            "what counts as the same ratio between cards",
            LAMBDA,
            TRANSFER,
        ),
        ("ANOTHER", "share", "weight of a workload in another precision", LAMBDA, TRANSFER),
    ),
)
