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
    "published": "published tables (MLPerf, language models, vendor tables)",
    "five": "Colab TPU, Pollux T4, Sia, Gavel",
    "three": "Shallue, C4, MLPerf",
    "colab": "Colab TPU and GPU",
    "clusters": "Pollux, Sia",
    "devices": "Lambda v1, TensorFlow 2017, DLPerf, Pollux, Sia, ElasticFlow",
    "pairs": "Colab TPU, five pairs of sessions",
    "lambda": "Lambda v1",
    "sweeps": "Colab, article 002",
    "slips": "none: made-up slips on the published sweeps",
    "definition": "none: a definition",
    "round": "none: a round number",
}
COMMANDS: Final = {
    "again": AGAIN,
    "before": BEFORE,
    "both": f"{BEFORE}; {AGAIN}",
    "convergence": "`pytest -s tests/planner/convergence/test_convergence_public.py`",
    "law": "`python -m planner backtest DIR --json`",
    "mfu": "`python -m planner mfu DIR` (docs/efficiency.md)",
    "scaling": "`pytest -s tests/planner/scaling/test_scaling_public.py`",
    "projection": "`pytest tests/planner/epochs/test_projection_public.py`",
    "described": "`pytest tests/backtest/test_backtest_described.py`",
    "shared": "`pytest tests/backtest/test_backtest_shared_scaling.py`",
    "transfer": "`pytest -s tests/planner/test_transfer_public.py`",
    "suspects": "`pytest tests/planner/suspects/test_suspects_public.py`",
    "effects": "`pytest tests/planner/effects/test_effect_pairs.py`",
    "references": "`pytest tests/planner/time_to_target/test_reference_points.py`",
}
TABLE: Final = """
core._estimate:LEVEL | share | nominal coverage of every interval | convention | none
fits.lines:SD0 | relative sd | scatter of a step time before its points are looked at | five | again
fits.lines:NU0 | degrees of freedom | weight of that belief | five | both
fits.lines:KAPPA | relative sd per octave | doubt per doubling outside the measured batches
    | five | again
fits._curve:NARROW | factor | two batches closer than this carry to twice away only | five | before
fits._curve:TWICE | factor | beyond it an answer is called a guess | five | before
fits._curve:TOO_FAR | factor | beyond it there is no answer | five | before
throughput.fit:FALL | share | a throughput so far below a smaller batch's is a change
    | Pollux, Colab GPU | before
throughput.fit:MAX_SCATTER | relative sd | above it a sweep is refused: healthy ones had 2 to 9 %
    | Colab | before
fits.corrected:AMPLITUDE | relative sd | how far times stray from the line | five | both
fits.corrected:LENGTH | ln(batch) | over which a deviation persists: ln 16 | five | both
fits.corrected:NUGGET | relative sd | scatter of one measurement | five | both
fits.corrected:NU0 | degrees of freedom | weight of the prior that these sizes are right | five
    | both
fits.corrected:LEAST | batch sizes | fewer get the plain line | five | again
fits.corrected:MOST | batch sizes | more get it too | none: no sweep has as many | none
fits.corrected:GONE | octaves | beyond the range, where nothing is left of a correction | five
    | again
fits.corrected:BEND | share | of the last point's residual, that steps above the range bend up by
    | five
    | again
fits.corrected:WIDER | share | by which intervals are wider one octave above the range | five
    | again
scaling._law:PUBLISHED.loss | logarithm | published series lose per doubling of the devices
    | published | again
scaling._law:PUBLISHED.fewer | logarithm
    | the same per halving of the batch per device, at steps of 1 s | published | again
scaling._law:PUBLISHED.power | exponent | how that grows as steps shorten | published | again
scaling._law:PUBLISHED.spread | relative sd | after one doubling or halving, at steps of 1 s
    | published | again
scaling._law:SHORT_S | s | that sd grows no further for shorter steps | published | law
scaling._law:LONG_S | s | nor shrinks for longer ones | published | law
scaling._law:CROSSED_SD | relative sd | of a link between nodes that no run crossed | DLPerf | law
throughput.crossover:VISIBLE | share | step times that differ by more are drawn apart
    | none: a round number
    | none
convergence.fit:PRIOR.sd | relative sd
    | scatter of samples to target before its points are looked at
    | three | again
convergence.fit:PRIOR.dof | degrees of freedom | weight of that belief | three | again
convergence.fit:PRIOR.sd_per_octave | relative sd per octave
    | doubt per doubling outside the measured batches | three | again
convergence.fit:MAX_SCATTER | relative sd
    | above it a workload is refused: tuned ones had at most 19 %
    | three | convergence
convergence.fit:OFF | factor
    | a batch so far off the law was tuned badly: tuned ones stayed within 1.44
    | three | convergence
convergence.fit:NINE | factor | regimes end so far below and above the critical batch: 90 and 10 %
    | definition | none
convergence._resolution:TOO_COARSE | share | the grid of evaluations is what was counted | round
    | none
convergence._resolution:COARSE | share | evaluations farther apart near the target are told
    | round | none
scaling.fit:NO_FORM | relative sd | above it no curve: the worst of 15 workloads has 29 %
    | clusters | scaling
scaling.fit:FADING | share | what a doubling of devices costs of the one before | clusters | again
scaling._terms:GROWING | share | of a link's cost that grows, where one device count was measured
    | all device data, looked at | scaling
scaling._terms:DOF | degrees of freedom | of the interval | clusters | before
scaling.answers:KAPPA | relative sd per octave | doubt per doubling of devices outside the measured
    | clusters | both
runs.later_epochs:NU0 | degrees of freedom | weight of the prior on epoch scatter | colab | both
runs.later_epochs:SD0 | share of the mean | scatter before the run's own epochs are looked at
    | colab | both
runs.later_epochs:RHO | correlation | of neighbouring epochs | colab | both
runs.later_epochs:DRIFT | share of the mean | slow drift over a run | colab | both
runs.later_epochs:SEEN | epochs | length of the runs behind that drift | colab | none
runs.later_epochs:SETTLED | epochs | until when a pace wanders on | DAWNBench | again
epochs._scatter:SETS_SD | logarithm | how far the scatter of one result set lies from that
    | Colab, DAWNBench | again
epochs._scatter:NOISIER | factor | a set that scatters less above the usual is a usual one | round
    | none
epochs._scatter:QUIETEST | share | a scatter below it is that of the clock's digits | round | none
epochs.projection:SESSION_SD | share of the total | deviation of one session | pairs | before
epochs.projection:SESSION_DOF | degrees of freedom | five pairs of sessions | pairs | before
suspects._checks:UNLIKE | robust z
    | beyond it a run is unlike its neighbours: the sick one has 20 or more
    | sweeps | suspects
suspects.neighbours:FEWEST | cells | that each row and column of a table of neighbours has
    | definition
    | none
suspects.neighbours:QUIET | share | least scatter of such a table: that of two sessions | pairs
    | before
suspects._curves:TOO_FAST | factor | a speed-up so far above the ideal one is a fault
    | clusters | suspects
suspects._curves:NEAR | factor | so many times more or less than a number is near it | slips
    | suspects
suspects._units:EVEN | factor | starts of a case are even where they span less | slips | suspects
suspects._units:EXACT | factor | a slip (60, 1000, 3600) taken back makes a sum right within it
    | slips | suspects
suspects._copies:SAME_FACTORS | digits | that runs of the same factors share before one is a copy
    | round | suspects
suspects._copies:OTHER_FACTORS | digits | that runs of other factors share before one is a copy
    | round | suspects
effects._pairs:VALIDATION_WORK | trained images
    | a validated image counts: one forward pass of three | definition | effects
effects._pooling:ENOUGH | pairs | from so many on their own scatter speaks | round | effects
effects._sentences:DIFFER | logarithm | from here on epoch and image are told apart | round | none
epochs.projection:MAX_CV | share of the mean | above it epochs are not of one kind | DAWNBench
    | projection
epochs.steadiness:CHANGE | share | smaller changes are scatter or drift | none: a round number
    | projection
epochs.steadiness:SHORTEST | epochs | one epoch alone is a hiccup | none: a definition | projection
epochs.steadiness:STEP | logarithm | the same change, as a step of the logarithm | definition | none
epochs.steadiness:NOISE | variances | scatter that a cut must explain | none fitted; simulated runs
    | projection
transfer._data_sheet:SHEET_RIDGE | variance ratio
    | how far coefficients of the data sheet are drawn to their prior | lambda | transfer
transfer._data_sheet:WORKLOAD_RIDGE | variance ratio | the same of each workload's own
    | lambda | transfer
transfer._prediction:CELL_SCATTER | relative sd | what counts as the same ratio between cards
    | lambda | transfer
transfer._prediction:ANOTHER | share | weight of a workload in another precision | lambda | transfer
transfer._benchmarks:SLOPE_RIDGE | variance ratio | how far slopes over benchmarks are drawn to 1
    | lambda | transfer
transfer._conformal:GROUPS | workloads or cards | fewer left out give no interval of their own
    | lambda | transfer
transfer._conformal:FALLBACK_SD | relative sd | of an answer whose own errors are too few | lambda
    | transfer
transfer._conformal:FALLBACK_DOF | degrees of freedom | of that | lambda | transfer
transfer._sentences:OUTSIDE | factor | beyond the library's data sheets by more is pointed out
    | round | none
time_to_target._reference_points:SLIP | factor
    | a value so many times the median of its list is a slip
    | MLPerf: others stay below 1.9 | references
job.rates:MFU | share of the peak | what a described workload uses of it | devices | described
job.rates:MFU_SD | relative sd | of that between public runs | devices | described
job.rates:MFU_SHARED | relative sd | the part of it that is the workload's, alike on all cards
    | devices | described
job.rates:MFU_DOF | degrees of freedom | of that interval | devices | none
job.rates:OVERHEAD_S | s | overhead of a step where none was measured | ours, Pollux | none
job.rates:OVERHEAD_FACTOR | factor | that may be so much less or more | ours, Pollux | none
job._described_rates:DOUBLING_SD | relative sd | of the speed, for each doubling of devices
    of one machine | published | mfu
job._described_rates:MACHINES_SD | relative sd | the same for each doubling of machines
    | published | mfu
job._described_rates:ASSUMED_SD | relative sd | of an efficiency that a person gives
    | round | none
job._times:LONG_RUN | factor | time of a described run of days over that of its steps
    | published | law
job._times:LONG_RUN_SD | relative sd | of that factor | published | law
job._times:LONG_DAYS | days | from which it counts in full; from one day on in part
    | round | none
mfu._model:MOST_OF_OWN_PEAK | share | most that is estimated of the peak of a run's own precision
    | published | mfu
mfu._questions:OWN_PEAK_POWER | 1 | how single-precision efficiency grows with its own peak
    | published | mfu
mfu._questions:LARGE_MODEL | parameters | smaller language models reach less | published | mfu
mfu._questions:ENOUGH_TOKENS | tokens | fewer on a device and step reach less | published | mfu
mfu._questions:ENOUGH_SAMPLES | samples | of images: fewer on a device reach less | published | mfu
mfu._questions:VERY_LONG | tokens | of a context beyond which few runs are published
    | published | mfu
mfu._questions:VERY_LONG_SD | relative sd | of the efficiency there | published | mfu
mfu._questions:SHORT_STEP_S | s | fixed part of a step of an image network | published | mfu
mfu._questions:SHORT_ENCODER_S | s | fixed part of a step of an encoder | published | mfu
mfu._fit:TAILS | degrees of freedom | of residuals: outliers weigh less | published | mfu
mfu._fit:TERM_SD | relative sd | of a coefficient before the rows are looked at | round | mfu
mfu._fit:BASE_SD | relative sd | of the efficiency at the reference before that | round | mfu
mfu._fit:PRIOR_SD | relative sd | usual size of an effect of a group | round | mfu
mfu._fit:PRIOR_WEIGHT | effects | weight of that belief | round | mfu
mfu._generations:NODE | accelerators | of a usual server | round | none
mfu._generations:TPU_SLICE | chips | of a TPU slice, which counts as one machine | round | none
job._batches:USUAL_BATCH | samples | batch of a described workload that names none | round | none
job.rates:OVERHEAD_MATTERS | share | of a step: a larger overhead is told | round | none
job.rates:HOST_FACTOR | factor | a measured overhead may be so much more on another host
    | none: a round number | none
job._times:PRE_TRAIN_FACTOR | factor | a start may take so much less or more on another machine
    | round | none
job.efficiency:NODE_LOSS | share | lost for every doubling of devices on one node | devices
    | described
job.efficiency:NODE_SD | relative sd | of that, for every doubling | devices | described
job.efficiency:LINKED_LOSS | share | the same where accelerators have links of their own
    | NVIDIA's tables, 396 ratios to one device | none
job.efficiency:LINKED_SD | relative sd | of that, for every doubling
    | NVIDIA's tables, A100 and V100 | none
job.efficiency:NODES_LOSS | share | the same over several nodes | devices | described
job.efficiency:NODES_SD | relative sd | of that | devices | described
job.efficiency:NODE_SHARED | share | of that variance on one node: the workload's, alike on all
    | devices | shared
job.efficiency:SPREAD_DOF | degrees of freedom | of both intervals | devices | none
job._placing:PER_NODE | accelerators | of one machine, as servers are sold | round | none
job._memory:USABLE | share | of the memory, that a framework gets | none: a round number | none
job._memory:TIGHT | share | of a card's memory above which a job fits tightly | round | none
job._memory:SMALLEST_STATE | bytes | a parameter with 8-bit moments and no master weights
    | none: Dettmers et al. 2022 | none
job._memory:BARELY | share | of it from which on a job barely fits | round | none
networks._memory:ADAPTER_SHARE | share | parameters of adapters over those of the network
    | none: LoRA of rank 16 on Llama 3 8B | none
networks._memory:FOUR_BIT_BYTES | bytes | of a frozen weight in 4 bits with its scales
    | none: Dettmers et al. 2023 | none
networks._memory:KEPT | bytes | of activations per token, layer and unit of width
    | none: Korthikanti et al. 2022 | none
networks._memory:RECOMPUTED | bytes | the same where activations are recomputed
    | ml-engineering, Llama 3.1 8B at 8k to 256k tokens | none
networks._memory:LOGITS | bytes | per token and word of the vocabulary
    | definition | none
networks._memory:USUAL_VOCABULARY | words | of a language model that states none
    | round | none
networks._memory:IMAGE_BYTES | bytes | activations of a sample at 1e9 multiply-adds
    | milabench | none
networks._memory:IMAGE_POWER | 1 | their growth with the multiply-adds
    | milabench | none
networks._memory:IMAGE_RECOMPUTED | share | of them that recomputing keeps
    | none: Chen et al. 2016 | none
networks._memory:FORWARD_PART | factor | training operations over multiply-adds of the forward pass
    | definition | none
job._optimizers:UNKNOWN_MOMENTS | copies | per weight, for an optimiser that is not in the table
    | Adam's | none
networks._operations:FORWARD_PER_PARAMETER | FLOP | per weight and token, forward
    | none: Kaplan et al. 2020 | none
networks._operations:BACKWARD_PER_FORWARD | factor
    | operations of the backward over the forward pass
    | none: Kaplan et al. 2020 | none
networks._operations:ATTENTION_PER_TOKEN | FLOP | per layer, width and token of the context, forward
    | none: Narayanan et al. 2021 | none
cost._costs:MUCH_LOST | share | of the time interrupted: above it the wall time is > 3 % too long
    | definition | none
mfu._step:REPEAT_SD | sd of ln | between two runs of one configuration
    | MLPerf Training, submitters of one accelerator, count and batch | none
mfu._step:COUNT_SD | sd of ln | of the speed for a doubling of the device count, as a root
    | MLPerf Training | none
mfu._step:WIDER | factor | on the sd that a timed step leaves | hidden sources | none
compare._timed_step:MINUTES | minutes | that a machine is rented to time a step | round | none
catalog._combine:STALE_MONTHS | months | an older price is marked and drawn wider | round | none
compare.ranking:LIKELY_IN_TIME | probability | of keeping a deadline: in time more likely than not
    | definition | none
compare._limits:SURE | probability | of meeting the limits: likely in time | round | none
compare._sentences:ALMOST_SURE | probability | above it a probability is told as certain
    | 4,096 draws | none
answers.comparison._snapshot:MOVED | share | a told number that changed by less is rounding
    | round | none
compare.undecided:EPOCHS_TO_MEASURE | epochs | of the run that would decide | definition | none
compare.ranking:DECIDED | probability | one option must be better to be ranked first
    | the 90 % interval of a ratio leaves 1 out | none
job._drawn_times:TIME_DOF | degrees of freedom | of drawn times | clusters, sessions | none
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
