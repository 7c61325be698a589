"""What a campaign found: its counts, one line for each, and a table of all of them at the end.

Cases are drawn from a seed and a number (`drawn`), so any of them can be repeated alone.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

FULL: Final = os.environ.get("EPOCHWISE_FAULTS") == "full"
"""The full counts of `make faults`, or the short ones of `make test`."""
SEED: Final = 20260301
HANG_S: Final = 5.0
"""An answer that takes longer counts as a hang [s]."""
PROGRESS_S: Final = 30.0
"""Time between two lines that say how far a full campaign is [s]."""
MOST_NOTED: Final = 12
"""Faults that are described; the rest is only counted."""
FIGURES: Final = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN: Final = "<!-- make faults: begin -->"
END: Final = "<!-- make faults: end -->"
HEADER: Final = (
    "| campaign | cases | counts | pages down | wrong numbers | hangs over 5 s | slowest [s] |"
)
_RULE: Final = "|---|---:|---|---:|---:|---:|---:|"


def drawn(campaign: str, number: int) -> random.Random:
    """The draws of one case: the same for the same campaign and number."""
    return random.Random(f"{SEED} {campaign} {number}")


@dataclass(slots=True, kw_only=True)
class Outcome:
    """Counts of one campaign.

    `counts` says how its cases ended. `down` counts exceptions, error pages and answers 5xx,
    `wrong` numbers that differ or cannot be and runs that are lost, doubled or torn, `hangs` cases
    above `HANG_S`. `slowest_s` is None where no answer is timed: then there are no hangs to count.
    """

    name: str
    cases: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    down: int = 0
    wrong: int = 0
    hangs: int = 0
    slowest_s: float | None = None
    faults: list[str] = field(default_factory=list)
    looks: int = 0
    _said_s: float = field(default_factory=time.monotonic)

    @contextlib.contextmanager
    def case(self, what: str) -> Iterator[None]:
        """Count and time one case; an exception inside is a page down."""
        self.cases += 1
        with self.step(what):
            yield

    @contextlib.contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Time a part of a case; an exception inside is a page down."""
        began = time.perf_counter()
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever comes out is what is counted
            self.broken(f"{what}: {type(error).__name__}: {str(error)[:300]}")
        self.timed(what, time.perf_counter() - began)

    def took(self, what: str, seconds: float) -> None:
        """Count one case that took so long [s]."""
        self.cases += 1
        self.timed(what, seconds)

    def timed(self, what: str, seconds: float) -> None:
        """A part of a case took so long [s]."""
        self.slowest_s = max(self.slowest_s or 0.0, seconds)
        self.looks += 1
        if FULL and time.monotonic() - self._said_s > PROGRESS_S:
            self._said_s = time.monotonic()
            print(f"{self.name}: {self.looks:,} answers timed so far", flush=True)
        if seconds > HANG_S:
            self.hangs += 1
            self._note(f"{what}: {seconds:.1f} s")

    def broken(self, what: str) -> None:
        """Count a page, an answer or a refresh that failed."""
        self.down += 1
        self._note(what)

    def differs(self, what: str, count: int = 1) -> None:
        """Count a number that is wrong, or so many runs that are lost, doubled or torn."""
        self.wrong += count
        self._note(what)

    def _note(self, what: str) -> None:
        if len(self.faults) < MOST_NOTED:
            self.faults.append(what)

    @property
    def result(self) -> str:
        """How the cases ended, most frequent first."""
        return ", ".join(f"{count:,} {name}" for name, count in self.counts.most_common())

    @property
    def line(self) -> str:
        """One line for the terminal."""
        counts = (
            f"{self.name}: {self.cases:,} cases ({self.result}); {self.down} pages down, "
            f"{self.wrong} wrong numbers"
        )
        if self.slowest_s is None:
            return counts
        return f"{counts}, {self.hangs} hangs over {HANG_S:g} s, slowest {self.slowest_s:.2f} s"

    @property
    def row(self) -> str:
        """One row of the table in docs/reliability.md; no hangs and no time where none is timed."""
        untimed = self.slowest_s is None
        cells = (
            self.name, f"{self.cases:,}", self.result, str(self.down), str(self.wrong),
            "" if untimed else str(self.hangs), "" if untimed else f"{self.slowest_s:.2f}",
        )  # fmt: skip
        return f"| {' | '.join(cells)} |"


FINISHED: Final[list[Outcome]] = []
"""The campaigns that this process has run."""


def finish(outcome: Outcome) -> None:
    """Print the line of a campaign, keep it for the table, and fail where it found a fault.

    Times count in `make faults` only: `make test` may share its machine with anything.
    """
    FINISHED.append(outcome)
    print(f"\n{outcome.line}")
    hangs = outcome.hangs if FULL else 0
    found = (outcome.down, outcome.wrong, hangs)
    assert found == (0, 0, 0), "\n".join([outcome.line, *outcome.faults])


def table(outcomes: Sequence[Outcome]) -> list[str]:
    """The table of all campaigns."""
    return [HEADER, _RULE, *(o.row for o in outcomes)]


def write_figures(outcomes: Sequence[Outcome], page: Path = FIGURES) -> None:
    """Replace the rows of these campaigns in the page; rows of others stay as they are.

    Raises:
        ValueError: the page has no section for `make faults`.
    """
    text = page.read_text(encoding="utf-8")
    found = re.search(f"{re.escape(BEGIN)}\n(.*?){re.escape(END)}", text, re.DOTALL)
    if found is None:
        raise ValueError(f"{page} has no lines {BEGIN} and {END}. Restore them.")
    old = [line for line in found[1].splitlines() if line.startswith("| ")][1:]
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in old}
    rows |= {o.name: o.row for o in outcomes}
    body = "\n".join([BEGIN, "", HEADER, _RULE, *rows.values(), "", END])
    page.write_text(text.replace(found[0], body), encoding="utf-8")
