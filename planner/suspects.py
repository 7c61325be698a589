"""Which measured runs need a second look before they are believed?

Every check is a pure function of flat records and answers with named flags. A flag accuses nobody:
it says what is odd, with its numbers, and the run stays where it is until a person decides.

    flag                       value of the flag                 flagged where
    unlike its neighbours      robust z [1]                      |z| > 10
    unsteady epochs            variation of later epochs [share] > 0.20
    throughput falls           share lost to a smaller batch     > 0.10
    impossible scaling         speed-up / ideal speed-up [1]     > 1.15
    duplicate                  numbers that are identical [1]    all of them, at least 2
    zero for missing           0                                 a number that cannot be 0 is 0
    unit slip                  factor against what is expected   half to twice 60, 1000 or 3600

The neighbours are those of `planner.neighbours`. A run's own scatter does not show such a fault: in
the one known sick run it is 5 %, as in healthy ones, but its neighbours say a third less time.

All but unsteady epochs make a run a candidate to leave out of a fit (`LEFT_OUT`): its mean may be
wrong. Epochs that vary alone make a mean less sure, not wrong, and where machines share their
cores they are many.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np

from planner.checked_runs import CheckedRun, case_of, configuration_of, grouped, is_known
from planner.curves import count
from planner.durations import in_words
from planner.neighbours import FEWEST, neighbours
from planner.projection import MAX_CV
from planner.throughput import FALL

FlagName = Literal[
    "unlike its neighbours", "unsteady epochs", "throughput falls", "impossible scaling",
    "duplicate", "zero for missing", "unit slip",
]  # fmt: skip
NAMES: Final[tuple[FlagName, ...]] = get_args(FlagName)
"""Every flag, in the order of the table above."""
LEFT_OUT: Final[tuple[FlagName, ...]] = tuple(n for n in NAMES if n != "unsteady epochs")
"""Flags that say a run's mean may be wrong, so that a fit can do without it."""

UNLIKE: Final = 10.0
"""Robust z above which a run is unlike its neighbours."""
TOO_FAST: Final = 1.15
"""Speed-up beyond this multiple of the ideal one is a fault of one of the two runs."""
SLIPS: Final = {60.0: "minutes for seconds", 1000.0: "milliseconds for seconds",
                3600.0: "hours for seconds"}  # fmt: skip
NEAR: Final = 2.0
"""So many times more or less than a slip's factor is near it."""
TIMES: Final = ("pre_train_s", "first_epoch_s", "until_first_epoch_end_s", "later_epoch_mean_s",
                "later_epoch_sd_s", "total_s")  # fmt: skip
"""Measured numbers that two runs never share by chance."""
NEVER_ZERO: Final = (
    "pre_train_s", "first_epoch_s", "until_first_epoch_end_s", "later_epoch_mean_s", "total_s",
    "step_time_s", "samples_per_s", "steps_per_epoch", "samples_per_epoch", "global_batch_size",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """Something odd about one run (`run` is its run_id), in a sentence and as a number."""

    name: FlagName
    run: str
    evidence: str
    value: float


def suspects(runs: Sequence[CheckedRun]) -> tuple[Flag, ...]:
    """All flags of all checks; one run may have several.

    Runs with a slip of a unit are no measure of others, so the checks that compare leave them out.
    """
    slips = unit_flags(runs)
    slipped = {flag.run for flag in slips}
    sound = [run for run in runs if run.run_id not in slipped]
    return (
        *neighbour_flags(sound),
        *epoch_flags(runs),
        *falling_flags(sound),
        *scaling_flags(sound),
        *duplicate_flags(runs),
        *zero_flags(runs),
        *slips,
    )


def by_run(flags: Iterable[Flag]) -> dict[str, tuple[Flag, ...]]:
    """The flags of each run that has any, by run_id, in the order of `NAMES`."""
    ranked = sorted(flags, key=lambda flag: NAMES.index(flag.name))
    return {group[0].run: tuple(group) for group in grouped(ranked, lambda flag: flag.run)}


def left_out(flags: Mapping[str, Sequence[Flag]]) -> frozenset[str]:
    """Runs that a fit can do without: those with a flag of `LEFT_OUT`."""
    return frozenset(run for run, own in flags.items() if any(f.name in LEFT_OUT for f in own))


def named(flags: Iterable[Flag]) -> str:
    """The names of flags, each once: `throughput falls, unit slip`."""
    return ", ".join(dict.fromkeys(flag.name for flag in flags))


def neighbour_flags(runs: Sequence[CheckedRun]) -> list[Flag]:
    """Runs whose epoch time is not what configuration and pattern of the others say."""
    found = neighbours(runs)
    flags = []
    for run, ratio, z in zip(runs, found.ratio, found.z, strict=True):
        if abs(z) > UNLIKE:
            told = (
                f"{in_words(run.later_epoch_mean_s or math.nan)} an epoch, {ratio:.2f} times what "
            )
            told += f"its neighbours in batch and pattern say; robust z is {z:.1f}, at most "
            told += f"{UNLIKE:g} is scatter."
            flags.append(_flag("unlike its neighbours", run, told, z))
    return flags


def epoch_flags(runs: Sequence[CheckedRun]) -> list[Flag]:
    """Runs whose later epochs vary by more than 20 % (ddof = 1)."""
    found = []
    for run in runs:
        later, sd = (run.epochs_measured or 1) - 1, run.later_epoch_sd_s
        if later < 2 or sd is None or not is_known(run.later_epoch_mean_s):
            continue
        variation = math.sqrt(later / (later - 1)) * sd / (run.later_epoch_mean_s or math.nan)
        if variation > MAX_CV:
            told = f"its {later} later epochs vary by {variation:.1%} (standard deviation over "
            told += "mean); above 20 % they are not of one kind."
            found.append(_flag("unsteady epochs", run, told, variation))
    return found


def falling_flags(runs: Sequence[CheckedRun]) -> list[Flag]:
    """Runs more than 10 % slower in samples/s than a smaller batch of the same case."""
    found = []
    for members in _curves(runs):
        typical = _by_batch(members)
        for run in members:
            here = run.samples_per_s or math.nan
            most = max((v for b, v in typical if b < (run.global_batch_size or 0)), default=here)
            if here < (1.0 - FALL) * most:
                lost = 1.0 - here / most
                told = f"{count(here)} samples/s, {lost:.0%} less than a smaller batch reaches "
                told += f"({count(most)}). Something changed there."
                found.append(_flag("throughput falls", run, told, lost))
    return found


def scaling_flags(runs: Sequence[CheckedRun]) -> list[Flag]:
    """Runs that gain more than 1.15 times the ideal from devices, against the fastest with fewer.

    Compared at the same batch per device (weak scaling) or the same global batch (strong).
    """
    found = []
    for members in grouped(filter(_on_a_curve, runs), case_of):
        for run in members:
            fewer = [r for r in members if r.devices < run.devices and _same_batch(r, run)]
            ratio = _each(run) / max(map(_each, fewer), default=math.inf)
            if ratio > TOO_FAST:
                told = (
                    f"{run.devices} devices do {ratio:.2f} times what perfect scaling from fewer "
                )
                told += f"would give; above {TOO_FAST} one of the two runs is wrong."
                found.append(_flag("impossible scaling", run, told, ratio))
    return found


def duplicate_flags(runs: Sequence[CheckedRun]) -> list[Flag]:
    """Runs of the same factors with identical measured times: copies, not repeats."""
    first: dict[Hashable, CheckedRun] = {}
    found = []
    for run in runs:
        numbers = tuple(getattr(run, name) for name in TIMES)
        known = sum(n is not None for n in numbers)
        original = first.setdefault((case_of(run), configuration_of(run), numbers), run)
        if original is not run and known > 1:
            told = (
                f"all {known} measured times are those of run {original.run_id} to the last digit. "
            )
            found.append(_flag("duplicate", run, f"{told}One is a copy.", known))
    return found


def zero_flags(runs: Sequence[CheckedRun]) -> list[Flag]:
    """Runs with a 0 where only a missing value can be: times, counts, the scatter of 3 epochs."""
    found = []
    for run in runs:
        zeros = [name for name in NEVER_ZERO if getattr(run, name) == 0]
        if run.later_epoch_sd_s == 0 and (run.epochs_measured or 0) > 2:
            zeros.append("later_epoch_sd_s")
        if zeros:
            told = f"{', '.join(zeros)} is 0, which nobody measures. Leave out what is not known."
            found.append(_flag("zero for missing", run, told, 0.0))
    return found


def unit_flags(runs: Sequence[CheckedRun]) -> list[Flag]:
    """Runs with a number about 60, 1000 or 3600 times what the rest says.

    Asked in this order: its neighbours, the other batches of its case, the run's own numbers.
    """
    against, others = neighbours(runs).ratio, _against_other_batches(runs)
    found = []
    for run, near in zip(runs, against, strict=True):
        said = ((float(near), "an epoch against what its neighbours say"),
                (others.get(run.run_id, math.nan), "a step against what other batches say"),
                *_own_ratios(run))  # fmt: skip
        if odd := next(((r, slip, what) for r, what in said if (slip := _slip(r))), None):
            ratio, slip, what = odd
            many = f"{ratio:,.0f} times" if ratio > 1.0 else f"1/{1.0 / ratio:,.0f}"
            told = f"{what} is {many} as much, near {slip:g}: {SLIPS[slip]}?"
            found.append(_flag("unit slip", run, told, ratio))
    return found


def _flag(name: FlagName, run: CheckedRun, told: str, value: float) -> Flag:
    evidence = f"{run.label}: {told}".replace("%", " %").replace("  %", " %")
    return Flag(name=name, run=run.run_id, evidence=evidence, value=float(value))


# -- curves and units ----------------------------------------------------------------------------


def _on_a_curve(run: CheckedRun) -> bool:
    return is_known(run.global_batch_size) and is_known(run.samples_per_s)


def _curves(runs: Iterable[CheckedRun]) -> list[list[CheckedRun]]:
    """Runs that differ in batch only."""
    return grouped(filter(_on_a_curve, runs), lambda r: (case_of(r), r.devices))


def _by_batch(members: Sequence[CheckedRun]) -> list[tuple[int, float]]:
    """Median throughput of the repeats at each batch."""
    groups = grouped(members, lambda r: r.global_batch_size)
    return [(g[0].global_batch_size or 0, float(np.median([r.samples_per_s for r in g])))
            for g in groups]  # fmt: skip


def _each(run: CheckedRun) -> float:
    return (run.samples_per_s or math.nan) / run.devices


def _same_batch(a: CheckedRun, b: CheckedRun) -> bool:
    first, second = a.global_batch_size or 0, b.global_batch_size or 0
    return first == second or first * b.devices == second * a.devices


def _against_other_batches(runs: Sequence[CheckedRun]) -> dict[str, float]:
    """Step time over what the other batches of its case say, by run_id.

    A power law with the median slope between 0 and 1, because a step of a larger batch takes
    longer, but never more than in proportion; the median of what each other batch says.
    """
    found = {}
    for members in _curves(runs):
        size, speed = (np.array(v) for v in zip(*_by_batch(members), strict=True))
        if size.size < FEWEST:
            continue
        batch, step = np.log(size), np.log(size / speed)
        first, second = np.triu_indices(size.size, 1)
        slopes = (step[first] - step[second]) / (batch[first] - batch[second])
        slope = np.clip(np.median(slopes), 0.0, 1.0)
        for run in members:
            here, own = run.global_batch_size or 1, run.samples_per_s or math.nan
            said = (step + slope * (math.log(here) - batch))[size != here]
            found[run.run_id] = here / own / math.exp(float(np.median(said)))
    return found


def _own_ratios(run: CheckedRun) -> Iterator[tuple[float, str]]:
    """Numbers of one run that say the same thing twice, as ratios, with their names."""
    mean, later = run.later_epoch_mean_s, (run.epochs_measured or 0) - 1
    start = run.until_first_epoch_end_s or (run.pre_train_s or 0.0) + (run.first_epoch_s or 0.0)
    if run.total_s and mean and start and later > 0:
        yield run.total_s / (start + later * mean), "total_s against the sum of its epochs"
    if run.step_time_s and mean and run.steps_per_epoch:
        yield mean / (run.step_time_s * run.steps_per_epoch), "an epoch against its steps"
    if run.samples_per_s and mean and run.samples_per_epoch:
        yield run.samples_per_s * mean / run.samples_per_epoch, "an epoch against its samples/s"


def _slip(ratio: float) -> float | None:
    """The factor a ratio is near, either way round."""
    if not is_known(ratio):
        return None
    size = abs(math.log(ratio))
    nearest = min(SLIPS, key=lambda factor: abs(size - math.log(factor)))
    return nearest if abs(size - math.log(nearest)) < math.log(NEAR) else None
