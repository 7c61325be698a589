"""The constants that were chosen, not derived: one table, with what chose each of them.

The values are read from the code, so the page cannot tell others.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Final

AGAIN: Final = "`python -m planner backtest --constants`"
BEFORE: Final = "before the project"
DATA: Final = {
    "five": "Colab TPU, Pollux T4, Sia, Gavel",
    "three": "Shallue, C4, MLPerf",
    "colab": "Colab TPU and GPU",
    "clusters": "Pollux, Sia",
    "devices": "Lambda v1, TensorFlow 2017, DLPerf, Pollux, Sia, ElasticFlow",
    "pairs": "Colab TPU, five pairs of sessions",
    "lambda": "Lambda v1",
}
COMMANDS: Final = {
    "again": AGAIN,
    "before": BEFORE,
    "both": f"{BEFORE}; {AGAIN}",
    "convergence": "`pytest -s tests/planner/test_convergence_public.py`",
    "scaling": "`pytest -s tests/planner/test_scaling_public.py`",
    "projection": "`pytest tests/planner/test_projection_public.py`",
    "described": "`pytest tests/planner/test_backtest_described.py`",
    "transfer": "`pytest -s tests/planner/test_transfer_public.py`",
}
TABLE: Final = """
estimate:LEVEL | share | nominal coverage of every interval | convention | none
lines:SD0 | relative sd | scatter of a step time before its points are looked at | five | again
lines:NU0 | degrees of freedom | weight of that belief | five | both
lines:KAPPA | relative sd per octave | doubt per doubling outside the measured batches
    | five | again
answers:NARROW | factor | two batches closer than this carry to twice away only | five | before
answers:TWICE | factor | beyond it an answer is called a guess | five | before
answers:TOO_FAR | factor | beyond it there is no answer | five | before
throughput:FALL | share | a throughput so far below a smaller batch's is a change
    | Pollux, Colab GPU | before
throughput:MAX_SCATTER | relative sd | above it a sweep is refused: healthy ones had 2 to 9 %
    | Colab | before
corrected:AMPLITUDE | relative sd | how far times stray from the line | five | both
corrected:LENGTH | ln(batch) | over which a deviation persists: ln 16 | five | both
corrected:NUGGET | relative sd | scatter of one measurement | five | both
corrected:NU0 | degrees of freedom | weight of the prior that these sizes are right | five | both
corrected:LEAST | batch sizes | fewer get the plain line | five | again
corrected:MOST | batch sizes | more get it too | none: no sweep has as many | none
corrected:GONE | octaves | beyond the range, where nothing is left of a correction | five | again
crossover:VISIBLE | share | step times that differ by more are drawn apart | none: a round number
    | none
convergence:PRIOR.sd | relative sd | scatter of samples to target before its points are looked at
    | three | again
convergence:PRIOR.dof | degrees of freedom | weight of that belief | three | again
convergence:PRIOR.sd_per_octave | relative sd per octave
    | doubt per doubling outside the measured batches | three | again
convergence:MAX_SCATTER | relative sd | above it a workload is refused: tuned ones had at most 19 %
    | three | convergence
convergence:OFF | factor
    | a batch so far off the law was tuned badly: tuned ones stayed within 1.44
    | three | convergence
scaling:FADING | share | what a doubling of devices costs of the one before | clusters | again
scaling_terms:GROWING | share | of a link's cost that grows, where one device count was measured
    | all device data, looked at | scaling
scaling_terms:DOF | degrees of freedom | of the interval | clusters | before
scaling_answers:KAPPA | relative sd per octave | doubt per doubling of devices outside the measured
    | clusters | both
later_epochs:NU0 | degrees of freedom | weight of the prior on epoch scatter | colab | both
later_epochs:SD0 | share of the mean | scatter before the run's own epochs are looked at
    | colab | both
later_epochs:RHO | correlation | of neighbouring epochs | colab | both
later_epochs:DRIFT | share of the mean | slow drift over a run | colab | both
later_epochs:SEEN | epochs | length of the runs behind that drift | colab | none
later_epochs:SETTLED | epochs | until when a pace wanders on | DAWNBench | again
projection:SESSION_SD | share of the total | deviation of one session | pairs | before
projection:SESSION_DOF | degrees of freedom | five pairs of sessions | pairs | before
projection:MAX_CV | share of the mean | above it epochs are not of one kind | DAWNBench | projection
steadiness:CHANGE | share | smaller changes are scatter or drift | none: a round number | projection
steadiness:SHORTEST | epochs | one epoch alone is a hiccup | none: a definition | projection
steadiness:NOISE | variances | scatter that a cut must explain | none fitted; simulated runs
    | projection
transfer.data_sheet:SHEET_RIDGE | variance ratio
    | how far coefficients of the data sheet are drawn to their prior | lambda | transfer
transfer.data_sheet:WORKLOAD_RIDGE | variance ratio | the same of each workload's own
    | lambda | transfer
transfer.prediction:CELL_SCATTER | relative sd | what counts as the same ratio between cards
    | lambda | transfer
transfer.prediction:ANOTHER | share | weight of a workload in another precision | lambda | transfer
compare.rates:MFU | share of the peak | what a described workload uses of it | devices | described
compare.rates:MFU_SD | relative sd | of that between public runs | devices | described
compare.rates:MFU_SHARED | relative sd | the part of it that is the workload's, alike on all cards
    | devices | described
compare.rates:MFU_DOF | degrees of freedom | of that interval | devices | none
compare.rates:OVERHEAD_S | s | overhead of a step where none was measured | ours, Pollux | none
compare.rates:HOST_FACTOR | factor | a measured overhead may be so much more on another host
    | none: a round number | none
compare.efficiency:NODE_LOSS | share | lost for every doubling of devices on one node | devices
    | described
compare.efficiency:NODE_SD | relative sd | of that, for every doubling | devices | described
compare.efficiency:NODES_LOSS | share | the same over several nodes | devices | described
compare.efficiency:NODES_SD | relative sd | of that | devices | described
compare.efficiency:SPREAD_DOF | degrees of freedom | of both intervals | devices | none
compare.memory:USABLE | share | of the memory, that a framework gets | none: a round number | none
compare.reckon:DECIDED | probability | one option must be better to be ranked first
    | the 90 % interval of a ratio leaves 1 out | none
compare.reckon:TIME_DOF | degrees of freedom | of drawn times | clusters, sessions | none
"""
"""Constant | unit | meaning | data | what chose or checked it; an indented line goes on."""


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
        module, path = self.name.split(":")
        found: object = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
        return float(str(found))


def _constant(line: str) -> Constant:
    name, unit, meaning, data, command = (cell.strip() for cell in line.split("|"))
    return Constant(
        f"planner.{name}", unit, meaning, DATA.get(data, data), COMMANDS.get(command, command)
    )


CONSTANTS: Final = tuple(
    _constant(line) for line in TABLE.strip().replace("\n    ", " ").splitlines()
)
