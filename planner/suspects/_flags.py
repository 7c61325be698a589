"""Flags of suspect runs: names, record and consequences."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from planner.runs import CheckedRun, grouped

FlagName = Literal[
    "unlike its neighbours", "unsteady epochs", "throughput falls", "impossible scaling",
    "duplicate", "zero for missing", "unit slip", "above the peak",
]  # fmt: skip
NAMES: Final[tuple[FlagName, ...]] = get_args(FlagName)
"""Every flag, in the order of the table of `planner.suspects._checks`."""
LEFT_OUT: Final[tuple[FlagName, ...]] = tuple(n for n in NAMES if n != "unsteady epochs")
"""Flags of a possibly wrong mean, so that a fit may exclude the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """Something odd about one run (`run` is its run_id), in a sentence and as a number."""

    name: FlagName
    run: str
    evidence: str
    value: float


def flag(name: FlagName, run: CheckedRun, evidence_text: str, value: float) -> Flag:
    """Return the flag of a run, its evidence headed by the run's label."""
    evidence = f"{run.label}: {evidence_text}"
    return Flag(name=name, run=run.run_id, evidence=evidence, value=float(value))


def by_run(flags: Iterable[Flag]) -> dict[str, tuple[Flag, ...]]:
    """Return the flags of each run that has any, by run_id, in the order of `NAMES`."""
    ranked = sorted(flags, key=lambda flag: NAMES.index(flag.name))
    return {group[0].run: tuple(group) for group in grouped(ranked, lambda flag: flag.run)}


def left_out(flags: Mapping[str, Sequence[Flag]]) -> frozenset[str]:
    """Return runs that a fit can do without: those with a flag of `LEFT_OUT`."""
    return frozenset(run for run, own in flags.items() if any(f.name in LEFT_OUT for f in own))


def named(flags: Iterable[Flag]) -> str:
    """Return the names of flags, each once: `throughput falls, unit slip`."""
    return ", ".join(dict.fromkeys(flag.name for flag in flags))
