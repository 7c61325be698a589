"""docs/constants.md: shipped constants, and the choice without each data set.

Table of constants that were chosen, not derived, and how each was chosen.

The values are read from the code, so the page always matches it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Final

from backtest.choose.choice import Choice
from backtest.questions.source_table import Origin

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
    "whatif": "`python -m planner backtest --what-if`",
    "references": "`pytest tests/planner/time_to_target/test_reference_points.py`",
}
TABLE: Final = """
core._estimate:LEVEL | share | nominal coverage of every interval | convention | none
fits.lines:SD0 | relative sd | prior scatter of a step time | five | again
fits.lines:NU0 | degrees of freedom | weight of this prior | five | both
fits.lines:KAPPA | relative sd per octave | uncertainty per doubling outside the measured batches
    | five | again
fits._curve:NARROW | factor | two batches closer than this reach only to twice their range | five
    | before
fits._curve:TWICE | factor | beyond it an estimate is called a guess | five | before
fits._curve:TOO_FAR | factor | beyond it there is no estimate | five | before
throughput.fit:FALL | share | a throughput this far below a smaller batch's counts as a drop
    | Pollux, Colab GPU | before
throughput.fit:MAX_SCATTER | relative sd | above it a sweep is refused: healthy ones had 2 to 9 %
    | Colab | before
fits.corrected:AMPLITUDE | relative sd | deviation of times from the line | five | both
fits.corrected:LENGTH | ln(batch) | correlation length of a deviation: ln 16 | five | both
fits.corrected:NUGGET | relative sd | scatter of one measurement | five | both
fits.corrected:NU0 | degrees of freedom | weight of the prior of these sizes | five
    | both
fits.corrected:LEAST | batch sizes | below it the plain line is used | five | again
fits.corrected:MOST | batch sizes | above it the plain line is used too
    | none: no sweep has as many | none
fits.corrected:GONE | octaves | distance from the range at which a correction ends | five
    | again
fits.corrected:BEND | share | of the last point's residual, added to steps above the range
    | five
    | again
fits.corrected:WIDER | share | widening of intervals one octave above the range | five
    | again
scaling._terms:PUBLISHED.loss | logarithm | loss of published series per doubling of the devices
    | published | again
scaling._terms:PUBLISHED.fewer | logarithm
    | the same per halving of the batch per device, at steps of 1 s | published | again
scaling._terms:PUBLISHED.power | exponent | growth of that loss as steps shorten | published | again
scaling._terms:PUBLISHED.spread | relative sd | after one doubling or halving, at steps of 1 s
    | published | again
scaling._terms:SHORT_S | s | below it that sd is constant | published | law
scaling._terms:LONG_S | s | above it that sd is constant | published | law
scaling._terms:CROSSED_SD | relative sd | of a link between nodes that no run crossed | DLPerf | law
throughput.crossover:VISIBLE | share | step times that differ by more are drawn separately
    | none: a round number
    | none
throughput.curves:LOCATED | factor
    | upper over lower end of an interval up to which a crossover is stated
    | none: a round number
    | none
convergence.fit:PRIOR.sd | relative sd
    | prior scatter of samples to target
    | three | again
convergence.fit:PRIOR.dof | degrees of freedom | weight of this prior | three | again
convergence.fit:PRIOR.sd_per_octave | relative sd per octave
    | uncertainty per doubling outside the measured batches | three | again
convergence.fit:MAX_SCATTER | relative sd
    | above it a workload is refused: tuned ones had at most 19 %
    | three | convergence
convergence.fit:OFF | factor
    | a batch this far from the law was tuned badly: tuned ones stayed within 1.44
    | three | convergence
convergence.fit:NINE | factor | regimes end this far below and above the critical batch: 90 and 10 %
    | definition | none
convergence._targets:TOO_COARSE | share | above it steps only count evaluations | round
    | none
convergence._targets:COARSE | share | wider gaps between evaluations near the target are reported
    | round | none
scaling.fit:NO_FORM | relative sd | above it no curve: the worst of 15 workloads has 29 %
    | clusters | scaling
scaling.fit:FALLEN | share | a step with more devices that is shorter by more has fallen
    | clusters, at most 11 % of neighbours fall | scaling
scaling.fit:ROUGH | share | of fallen steps above which nothing is extrapolated
    | clusters, at most 11 % of neighbours fall | scaling
scaling.fit:ROUGH_PAIRS | pairs | fewest neighbouring counts that show it | round | none
scaling.fit:FADING | share | cost of a doubling of devices relative to the previous one
    | clusters | again
scaling.fit:STEEP | ratio | a cost in proportion to the devices: every doubling costs twice the last
    | definition | none
scaling.fit:STEEP_EVIDENCE | twice a log likelihood ratio
    | "very strong" evidence for growth in proportion (Kass and Raftery 1995)
    | clusters, from 4 devices none reaches it | scaling
scaling.fit:STEEP_SPARE | runs | fewest beyond the terms that show it | round | none
scaling._terms:GROWING | share | growing part of a link's cost, if one device count was measured
    | all device data, looked at | scaling
scaling._terms:DOF | degrees of freedom | of the interval | clusters | before
scaling.answers:KAPPA | relative sd per octave
    | uncertainty per doubling of devices outside the measured
    | clusters | both
scaling.crossover:WIDE | factor
    | upper over lower end of an interval from which a crossover is refused
    | round | none
scaling_out._sentences:HOST_SHARE | share | of overhead in a step from which the host sets the pace
    | definition | none
scaling_out._sentences:SEEN | share | of overhead in a step below which no ratio to it is stated
    | round | none
scaling_out._sentences:SLOW_LINK | factor
    | overhead with a link over that without it from which the link is slow
    | round | none
splits._splits:SPLIT_EFFICIENCY | share
    | of the peak that the products of a stage reach, the median of published cuts
    | published | whatif
splits._splits:NODE_LINK | bytes/s | of an accelerator to other machines, each direction
    | none: 200 Gbit/s, usual in published clusters
    | none
runs.later_epochs:NU0 | degrees of freedom | weight of the prior on epoch scatter | colab | both
runs.later_epochs:SD0 | share of the mean | prior scatter of the epochs
    | colab | both
runs.later_epochs:RHO | correlation | of neighbouring epochs | colab | both
runs.later_epochs:DRIFT | share of the mean | slow drift over a run | colab | both
runs.later_epochs:SEEN | epochs | length of the runs with that drift | colab | none
runs.later_epochs:SETTLED | epochs | time until which a pace wanders | DAWNBench | again
epochs.projection:SETS_SD | logarithm | difference of one result set's scatter from the prior
    | Colab, DAWNBench | again
epochs.projection:NOISIER | factor | above the usual scatter by less, a set counts as usual | round
    | none
epochs.projection:QUIETEST | share | a smaller scatter is rounding of the clock | round | none
epochs.projection:SESSION_SD | share of the total | deviation of one session | pairs | before
epochs.projection:SESSION_DOF | degrees of freedom | five pairs of sessions | pairs | before
suspects._checks:UNLIKE | robust z
    | beyond it a run differs from its neighbours: the faulty one has 20 or more
    | sweeps | suspects
suspects.neighbours:FEWEST | cells | minimum in each row and column of a table of neighbours
    | definition
    | none
suspects.neighbours:QUIET | share | smallest scatter of such a table: that of two sessions | pairs
    | before
suspects._curves:TOO_FAST | factor | a speed-up this far above the ideal one is a fault
    | clusters | suspects
suspects._curves:NEAR | factor | within this factor a number is near another | slips
    | suspects
suspects._checks:EVEN | factor | below it the starts of a case count as equal | slips | suspects
suspects._checks:EXACT | factor | a corrected slip (60, 1000, 3600) must match the sum within it
    | slips | suspects
suspects._checks:SAME_FACTORS | digits | equal digits that make a run of the same factors a copy
    | round | suspects
suspects._checks:OTHER_FACTORS | digits | equal digits that make a run of other factors a copy
    | round | suspects
effects._effect:VALIDATION_WORK | trained images
    | a validated image counts: one forward pass of three | definition | effects
effects._effect:ENOUGH | pairs | from this many on, their own scatter is used | round | effects
effects._effect:DIFFER | logarithm | above it epochs and images are reported separately
    | round | none
epochs.projection:MAX_CV | share of the mean | above it epoch times change during the run
    | DAWNBench
    | projection
epochs.steadiness:CHANGE | share | smaller changes are scatter or drift | none: a round number
    | projection
epochs.steadiness:SHORTEST | epochs | shorter changes are ignored | none: a definition | projection
epochs.steadiness:STEP | logarithm | the same change, as a step of the logarithm | definition | none
epochs.steadiness:NOISE | variances | scatter that a cut must explain | none fitted; simulated runs
    | projection
transfer._rungs:SHEET_RIDGE | variance ratio
    | shrinkage of data-sheet coefficients to their prior | lambda | transfer
transfer._rungs:WORKLOAD_RIDGE | variance ratio | the same of each workload's own
    | lambda | transfer
transfer._rungs:CELL_SCATTER | relative sd | scatter of the same ratio between cards
    | lambda | transfer
transfer._rungs:ANOTHER | share | weight of a workload in another precision | lambda | transfer
transfer._rungs:SLOPE_RIDGE | variance ratio | shrinkage of slopes over benchmarks to 1
    | lambda | transfer
transfer._rungs:GROUPS | workloads or cards | below it errors give no interval
    | lambda | transfer
transfer._rungs:FALLBACK_SD | relative sd | of an estimate with too few errors | lambda
    | transfer
transfer._rungs:FALLBACK_DOF | degrees of freedom | of that | lambda | transfer
transfer._ladder:OUTSIDE | factor | a larger distance from the library's data sheets is reported
    | round | none
time_to_target._reference:SLIP | factor
    | a value this many times the median of its list is a slip
    | MLPerf: others stay below 1.9 | references
job.rates:MFU | share of the peak | used by a described workload | devices | described
job.rates:MFU_SD | relative sd | of that between public runs | devices | described
job.rates:MFU_SHARED | relative sd | part of it that is the workload's, equal on all cards
    | devices | described
job.rates:MFU_DOF | degrees of freedom | of that interval | devices | none
job.rates:OVERHEAD_S | s | overhead of a step if none was measured | ours, Pollux | none
job.rates:OVERHEAD_FACTOR | factor | uncertainty of that, either way | ours, Pollux | none
job.rates:DOUBLING_SD | relative sd | of the speed, for each doubling of devices
    of one machine | published | mfu
job.rates:MACHINES_SD | relative sd | the same for each doubling of machines
    | published | mfu
job.rates:ASSUMED_SD | relative sd | of an efficiency entered by a user
    | round | none
job._times:LONG_RUN | factor | time of a described run of days over that of its steps
    | published | law
job._times:LONG_RUN_SD | relative sd | of that factor | published | law
job._times:IMAGE_JOB_SD | sd of ln | of a whole described image job: data loading and augmentation
    | published | mfu
job._times:LONG_DAYS | days | from this length it counts in full; from one day on in part
    | round | none
mfu._model:MOST_OF_OWN_PEAK | share
    | upper limit of the estimate, of the peak of a run's own precision
    | published | mfu
mfu._questions:OWN_PEAK_POWER | 1 | how single-precision efficiency grows with its own peak
    | published | mfu
mfu._questions:ENCODER_PEAK_POWER | 1 | the same of encoders | published | mfu
mfu._questions:LARGE_MODEL | parameters | smaller language models reach less | published | mfu
mfu._questions:ENOUGH_TOKENS | tokens | fewer on a device and step reach less | published | mfu
mfu._questions:ENOUGH_SAMPLES | samples | of images: fewer on a device reach less | published | mfu
mfu._questions:USUAL_DOUBLINGS | log2
    | doublings of machines for which the loss of a language model is fitted | published | mfu
mfu._questions:EXPERT_DOUBLINGS | log2
    | doublings of machines that experts are spread over at most | published | mfu
mfu._questions:SPARSITY_LOSS | logarithm
    | expected loss of a mixture of experts for each unit of ln(parameters / active)
    | published | mfu
mfu._questions:USUAL_SPARSITY | 1 | ln(parameters / active) without that loss | round | none
mfu._questions:LINKED_LOSS | logarithm
    | expected loss for each doubling of devices in a machine with links | published | mfu
mfu._questions:UNLINKED_LOSS | logarithm | the same without links | devices | mfu
mfu._questions:USUAL_UTTERANCES | samples
    | of speech on a device, where a question states no batch | round | none
mfu._questions:VERY_LONG | tokens | of a context; few longer runs are published
    | published | mfu
mfu._questions:VERY_LONG_SD | relative sd | of the efficiency there | published | mfu
mfu._questions:SHORT_STEP_S | s | fixed part of a step of an image network | published | mfu
mfu._questions:SHORT_ENCODER_S | s | fixed part of a step of an encoder | published | mfu
mfu._fit:TAILS | degrees of freedom | of residuals: outliers weigh less | published | mfu
mfu._fit:TERM_SD | relative sd | prior of a coefficient | round | mfu
mfu._fit:BASE_SD | relative sd | prior of the efficiency at the reference | round | mfu
mfu._fit:PRIOR_SD | relative sd | usual size of an effect of a group | round | mfu
mfu._fit:PRIOR_WEIGHT | effects | weight of this prior | round | mfu
mfu._questions:NODE | accelerators | of a usual server | round | none
mfu._questions:TPU_SLICE | chips | of a TPU slice, which counts as one machine | round | none
job._job:USUAL_RECORDS | samples | the same of a recommender | published | none
job.rates:LEAST_STEP_S | s | shortest step of a described workload | published | none
job._job:USUAL_BATCH | samples | batch of a described workload without one | round | none
job.rates:OVERHEAD_MATTERS | share | of a step: a larger overhead is reported | round | none
job.rates:HOST_FACTOR | factor | uncertainty of a measured overhead on another host
    | none: a round number | none
job._times:PRE_TRAIN_FACTOR | factor | uncertainty of a start on another machine
    | round | none
job.efficiency:NODE_LOSS | share | lost for every doubling of devices on one node | devices
    | described
job.efficiency:NODE_SD | relative sd | of that, for every doubling | devices | described
job.efficiency:LINKED_LOSS | share | the same for accelerators with direct links
    | published | mfu
job.efficiency:LINKED_SD | relative sd | of that, for every doubling
    | published | mfu
job.efficiency:NODES_LOSS | share | the same over several nodes | devices | described
job.efficiency:NODES_SD | relative sd | of that | devices | described
job.efficiency:NODE_SHARED | share | part of that variance on one node that is the workload's
    | devices | shared
job.efficiency:SPREAD_DOF | degrees of freedom | of both intervals | devices | none
job._stated:SUBMITTERS_SD | relative sd | between published runs on one accelerator and count
    | MLPerf
    | `pytest -s tests/planner/job/test_stated_public.py`
job._stated:SPREAD_RUNS | runs | weight of the spread of other cells
    | MLPerf
    | `pytest -s tests/planner/job/test_stated_public.py`
job._stated:BATCH_SD | relative sd | of a time scaled to another count, for every doubling
    | MLPerf
    | `pytest -s tests/planner/job/test_stated_public.py`
job._placing:PER_NODE | accelerators | of one machine, as servers are sold | round | none
job._memory:USABLE | share | of the memory that a framework gets | none: a round number | none
job._memory:TIGHT | share | of a card's memory above which a job fits tightly | round | none
job._memory:BARELY | share | of it above which a job barely fits | round | none
networks._memory:ADAPTER_SHARE | share | parameters of adapters relative to the network
    | none: LoRA of rank 16 on Llama 3 8B | none
networks._memory:FOUR_BIT_BYTES | bytes | of a frozen weight in 4 bits with its scales
    | none: Dettmers et al. 2023 | none
networks._memory:KEPT | bytes | of activations per token, layer and unit of width
    | none: Korthikanti et al. 2022 | none
networks._memory:RECOMPUTED | bytes | the same if activations are recomputed
    | ml-engineering, Llama 3.1 8B at 8k to 256k tokens | none
networks._memory:LOGITS | bytes | per token and word of the vocabulary
    | definition | none
networks._memory:USUAL_VOCABULARY | words | of a language model without a stated one
    | round | none
networks._memory:IMAGE_BYTES | bytes | activations of a sample at 1e9 multiply-adds
    | published | mfu
networks._memory:IMAGE_POWER | 1 | exponent of their growth with the multiply-adds
    | published | mfu
networks._memory:IMAGE_RECOMPUTED | share | kept if activations are recomputed
    | none: Chen et al. 2016 | none
networks._memory:FORWARD_PART | factor | training operations over multiply-adds of the forward pass
    | definition | none
job._memory:UNKNOWN_MOMENTS | copies | per weight, for an optimiser that is not in the table
    | Adam's | none
networks._memory:FORWARD_PER_PARAMETER | FLOP | per weight and token, forward
    | none: Kaplan et al. 2020 | none
networks._memory:BACKWARD_PER_FORWARD | factor
    | operations of the backward over the forward pass
    | none: Kaplan et al. 2020 | none
networks._memory:ATTENTION_PER_TOKEN | FLOP | per layer, width and token of the context, forward
    | none: Narayanan et al. 2021 | none
mfu._model:REPEAT_SD | sd of ln | between two runs of one configuration
    | MLPerf Training, submitters of one accelerator, count and batch | mfu
mfu._model:COUNT_SD | sd of ln | of the speed per square root of a doubling of the device count
    | published | mfu
mfu._model:WIDER | factor | on the sd that remains after a timed step | hidden sources | mfu
compare.undecided:LEAST_GAIN | share
    | of its interval that a time keeps at most where a timed step is proposed | round | none
compare.undecided:MINUTES | minutes | rental time of a machine to time a step | round | none
catalog._combine:STALE_MONTHS | months | an older price is marked and its interval is wider
    | round | none
compare.evaluation:LIKELY_IN_TIME | probability | of meeting a deadline: above it likely in time
    | definition | none
compare._summary:SURE | probability | of meeting the limits: above it likely | round | none
compare._sentences:ALMOST_SURE | probability | above it a probability is shown as certain
    | 4,096 draws | none
answers.comparison._snapshot:MOVED | share | a smaller change of a stored number is rounding
    | round | none
compare.undecided:EPOCHS_TO_MEASURE | epochs | of the run that decides | definition | none
compare.evaluation:DECIDED | probability | of being better, required to be ranked first
    | the 90 % interval of a ratio leaves 1 out | none
job._times:TIME_DOF | degrees of freedom | of drawn times | clusters, sessions | none
capacity._search:LOADED | share | planned utilisation of a machine before the fleet is simulated
    | round | none
capacity._search:PERIOD | months | between two dates at which machines may be added | round | none
capacity._search:QUARTER | months | runs taken together to judge a deadline | definition | none
capacity._answer:USUAL_USE | share | utilisation of one machine in the cost lines, where a fleet
    has no standing machine | round | none
capacity._what_if:DEMAND | share | change of the runs in the sensitivity, up and down | round
    | none
"""
"""Constant | unit | meaning | data | how it was chosen or checked; indented lines continue."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant: its place in the code, unit, meaning, data and command."""

    name: str
    unit: str
    meaning: str
    data: str
    command: str

    @property
    def value(self) -> float:
        """Value in the code."""
        module, path = self.name.split(":")
        member: object = import_module(module)
        for part in path.split("."):
            member = getattr(member, part)
        return float(str(member))


def _constant(line: str) -> Constant:
    name, unit, meaning, data, command = (cell.strip() for cell in line.split("|"))
    return Constant(
        f"planner.{name}", unit, meaning, DATA.get(data, data), COMMANDS.get(command, command)
    )


CONSTANTS: Final = tuple(
    _constant(line) for line in TABLE.strip().replace("\n    ", " ").splitlines()
)


INTRODUCTION: Final = (
    "All numbers that were chosen from data; the values are those of the code. "
    'Made by `python -m planner backtest {folder}`. "Before the project" means: by hand, on fuller '
    "copies of the same public data. The last column is the choice of the data today, with each "
    "whole data set left out in turn (below). [accuracy.md](accuracy.md) has the resulting errors.",
)
CHOSEN_AGAIN: Final = (
    "Output of `python -m planner backtest --constants`: the setting with the smallest "
    "interval score over all data sets but the one named, next to the shipped setting. The "
    "score is the width plus penalised misses (Gneiting & Raftery 2007). Rules, forms and "
    "shares that move the estimate itself have the smallest mean error instead. A constant "
    "that changes with the data set left out is uncertain by that much.",
    "Where the shipped setting differs from the choice. *Step times*: the score prefers a "
    "lighter prior (dof 1), which would widen the intervals of two and three batches. *Corner "
    "of samples to target*: a corner sharper than the law's (a = 1.25) has smaller errors on "
    "all questions (9.1 instead of 10.0 % from three batches, 13.6 instead of 16.4 % at twice "
    "the largest). But two of the three sets barely change: without the language models the "
    "others choose the law itself. The interval score prefers the law too, and only the law "
    "has a closed form of the best batch. *Reach of a correction*: in full everywhere, the "
    "error four times beyond the largest batch would be smaller (18.9 instead of 20.3 % in the "
    "mean), but larger on the one quiet sweep (7.9 instead of 6.9 %). A clean curve should not "
    "lose accuracy far outside. *Sizes of the correction*: the errors are the same (4.6 % "
    "inside, 8.3 % at twice), the intervals narrower, with a coverage of 88 instead of 90 %. "
    "*Uncertainty per doubling of devices*: half of it would be enough on these four clusters. "
    "A fifth, not in the data here, had the largest errors, so the value stays. *Epochs*: every "
    "group of runs prefers another prior, so the one chosen on Colab stays. The runs of 181 "
    "epochs prefer a wandering pace, and so do the others without them, for 50 epochs. *Scatter "
    "of other runs*: only the runs of 181 epochs have neighbours on shared processors, so "
    "without them the others choose no drift.",
    "Not chosen here: shares of links (GROWING), checked on all device data; ridges and "
    "similarities between cards, chosen with cards of the single table left out; limits of "
    "refusal, which are definitions with their evidence in [refusals.md](refusals.md).",
)


def constants_page(choices: Sequence[Choice], origin: Origin) -> str:
    """Return the page; texts about the public data appear only if all of it was read."""
    introduction = [text.format(folder=origin.folder) for text in INTRODUCTION]
    parts = ["# Constants", "", *_paragraphs(introduction)]
    parts += [
        "| constant | value | unit | meaning | data | chosen or checked by | without one set |",
        "|---" * 7 + "|",
    ]
    parts += [
        f"| `{c.name.replace(':', '.')}` | {c.value:.4g} | {c.unit} | {c.meaning} | {c.data} "
        f"| {c.command} | {_without(c, choices)} |"
        for c in CONSTANTS
    ]
    if not choices:
        return "\n".join(parts) + "\n"
    parts += [
        "",
        "## Chosen again",
        "",
        *_paragraphs(CHOSEN_AGAIN if origin.whole else CHOSEN_AGAIN[:1]),
    ]
    parts += ["| use | data set left out | the others choose | ships |", "|---" * 4 + "|"]
    parts += [f"| {c.use} | {c.left_out} | {c.chosen} | {c.ships} |" for c in choices]
    return "\n".join(parts) + "\n"


def _without(constant: Constant, choices: Sequence[Choice]) -> str:
    """Return the range of values that the others choose; "" if not chosen here."""
    name = constant.name.removeprefix("planner.")
    values = sorted({choice.values[name] for choice in choices if name in choice.values})
    if not values:
        return ""
    low, high = f"{values[0]:.4g}", f"{values[-1]:.4g}"
    return low if low == high else f"{low} to {high}"


def _paragraphs(texts: Sequence[str]) -> list[str]:
    return [line for text in texts for line in (textwrap.fill(text, 100), "")]
