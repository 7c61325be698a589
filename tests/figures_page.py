"""Keep what `make bench` and `make load` print in docs/, and quote it in README.

    python -m tests.figures_page NAME MODULE [ARGUMENT ...]

runs `python -m MODULE ARGUMENT ...`, shows what it prints, and puts it between the two marker lines
of NAME in docs/figures.md or docs/reliability.md. Then the table of figures in README is written
again from both. So a further command needs a pair of marker lines there and, where README quotes
it, a row in `ROWS`.
A line of figures is `tests.bench.figures.figure`: name, value, unit, and the target where it has
one, in columns of fixed width below a heading.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
PAGES: Final = (ROOT / "docs" / "figures.md", ROOT / "docs" / "reliability.md")
README: Final = ROOT / "README.md"
TABLE: Final = "figures"
"""The name of the marker lines in README."""
FAULTS: Final = "make faults"
"""The name of the marker lines around the table of campaigns."""
LOAD: Final = "load average"
"""The name under which a heading's load average is a figure of its part."""
NAME_END, VALUE_END, UNIT_END = 54, 64, 73
"""Where the columns of a line of figures end."""
ROWS: Final = (
    ("168,160 runs x 425 evaluations (71.5 million) in one file; load; memory",
     "[[168,160 runs: size of the file]]; [[the store: load (hash, check, take in)]]; "
     "[[the store: peak memory after loading]]"),
    ("... slowest page question; one run's curve",
     "[[the store: worst of them]]; [[the store: one run's curve]]"),
    ("... a new target for all evaluations: first time; best of three more",
     "[[the store: a new target for all evaluations, first time]]; "
     "[[the store: a new target for all evaluations, best of 3]]"),
    ("... pandas on the same file: read the evaluations; memory; the same new target",
     "[[pandas on the same file: read the evaluations]]; [[pandas on the same file: peak memory]]; "
     "[[pandas on the same file: a new target for all evaluations]]"),
    ("10,000 files of one run: first load; look again",
     "[[10,000 files: first load]]; [[10,000 files: look again, nothing new]]"),
    ("... after compaction", "[[after compaction: first load]]; "
     "[[after compaction: look again, nothing new]]"),
    ("100,000 throughput fits: faster than scipy's loop; than lmfit's loop",
     "[[100,000 throughput laws: faster than scipy]]; "
     "[[100,000 throughput laws: faster than lmfit]]"),
    ("a month of jobs, 1,008 months simulated (time of the processor): 5 jobs; 3 jobs",
     "[[Capacity: model-team: simulated months, processor]]; "
     "[[Capacity: vision: simulated months, processor]]"),
    ("... the cheapest fleet of them, with its answer",
     "[[Capacity: model-team: fleet and answer, processor]]; "
     "[[Capacity: vision: fleet and answer, processor]]"),
    ("script of a rerun at a load of [[Pages: load average]]: How long?; Compare hardware; "
     "Throughput",
     "[[Pages: how_long: script of a rerun (median)]]; "
     "[[Pages: compare: script of a rerun (median)]]; "
     "[[Pages: throughput: script of a rerun (median)]]"),
    ("... Steps to target; Results; Method & accuracy",
     "[[Pages: steps_to_target: script of a rerun (median)]]; "
     "[[Pages: results: script of a rerun (median)]]; "
     "[[Pages: method: script of a rerun (median)]]"),
    ("click to answer; first chart on a warm server",
     "[[Pages: click to changed sentence (median)]]; "
     "[[Pages: first chart in Chromium, warm server]]"),
    ("`make sweep`, 12 runs in a fresh process each, at a load of [[`make sweep`: load average]]",
     "[[`make sweep`: the whole sweep]]"),
)  # fmt: skip
"""What README says of `make bench`: [[beginning of a heading: name of a figure]].

`load average` is a figure of each heading.
"""
QUOTED: Final = (
    ("steps to a target: 9 batch sizes x 11 rates x 5 seeds, each optimiser", "37 s",
     ("3 optimisers x 9 batch sizes x 11 learning rates x 5 seeds", "37 s an optimiser")),
)  # fmt: skip
"""What README says of campaigns that were counted once, and the words on the page it rests on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of figures; `target` is what was wanted where it was missed, else ""."""

    value: float
    unit: str
    target: str = ""

    def __str__(self) -> str:
        """Two digits that count, with the unit."""
        rounded = float(f"{self.value:.2g}")
        number = f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"
        missed = f" (missed: target {self.target} {self.unit})" if self.target else ""
        return f"{number} {self.unit}".rstrip() + missed


def between(name: str, text: str) -> str:
    """Return what stands between the marker lines of `name`.

    Raises:
        ValueError: there are no such lines.
    """
    found = re.search(_pattern(name), text, re.DOTALL)
    if found is None:
        raise ValueError(f"There is no section {name!r}: add its two marker lines.")
    return found[2]


def replaced(name: str, content: str, text: str) -> str:
    """Return the text with other content between the marker lines of `name`."""
    between(name, text)
    return re.sub(
        _pattern(name), lambda m: f"{m[1]}{content}{m[3]}", text, count=1, flags=re.DOTALL
    )


def _pattern(name: str) -> str:
    mark = re.escape(name)
    return f"(<!-- {mark}: begin -->\n)(.*?)(<!-- {mark}: end -->)"


def figures(text: str) -> dict[str, dict[str, Figure]]:
    """Return the figures of the page by heading and name."""
    found: dict[str, dict[str, Figure]] = {}
    heading = ""
    for line in text.splitlines():
        if result := re.fullmatch(r"(\S.*?)\s+\[load averages? ([0-9.]+)[^]]*\]", line):
            heading = result[1]
            found.setdefault(heading, {})[LOAD] = Figure(value=float(result[2]), unit="")
        elif heading and line.startswith("  ") and (figure := _figure(line)) is not None:
            found.setdefault(heading, {})[line[2:NAME_END].strip()] = figure
        elif not line.strip() or line.startswith("```"):
            continue
    return found


def _figure(line: str) -> Figure | None:
    try:
        value = float(line[NAME_END:VALUE_END].replace(",", ""))
    except ValueError:
        return None
    missed = re.search(r"target ([^:]+): MISSED", line[UNIT_END:])
    unit = line[VALUE_END:UNIT_END].strip()
    return Figure(value=value, unit=unit, target=missed[1] if missed else "")


def readme_table(page: str) -> str:
    """Return README's table of figures as the page gives them.

    Raises:
        ValueError: a figure that README quotes is not on the page.
    """
    known = figures(page)

    def filled(text: str) -> str:
        return re.sub(r"\[\[(.*?)\]\]", lambda m: _quoted(m[1], known), text)

    rows = [(filled(what), filled(said)) for what, said in ROWS]
    rows += [(what, said) for what, said, _ in QUOTED]
    rows += _campaigns(between(FAULTS, page))
    lines = ["| what | figure |", "|---|---|", *(f"| {what} | {said} |" for what, said in rows)]
    return "\n".join(lines) + "\n"


def _quoted(asked: str, known: Mapping[str, Mapping[str, Figure]]) -> str:
    start, name = asked.split(": ", 1)
    for heading, named in known.items():
        if heading.startswith(start) and name in named:
            return str(named[name])
    raise ValueError(f"docs/figures.md has no {name!r} under {start!r}. Run `make bench`.")


def _campaigns(table: str) -> list[tuple[str, str]]:
    """Return one row for all campaigns of `make faults`; none where the table is empty."""
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")]
            for line in table.splitlines()]  # fmt: skip
    # The heading and the line below it have no number of cases.
    rows = [r for r in rows if len(r) == 7 and re.fullmatch(r"[0-9,]+", r[1])]
    if not rows:
        return []
    cases, down, wrong, hangs = (
        sum(int(row[at].replace(",", "") or 0) for row in rows) for at in (1, 3, 4, 5)
    )  # columns as `tests.faults.outcomes.HEADER` names them
    slowest_s = max((float(row[6]) for row in rows if row[6]), default=0.0)
    return [
        (f"{len(rows)} campaigns of `make faults`: {cases:,} cases",
         f"{down} pages down, {wrong} wrong numbers, {hangs} hangs over 5 s; "
         f"slowest answer {slowest_s:.2g} s")
    ]  # fmt: skip


def pages() -> str:
    """Return the text of both pages."""
    return "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


def keep(name: str, printed: str) -> None:
    """Put what a command printed between its marker lines, and README's table after it."""
    between(name, pages())
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if f"<!-- {name}: begin -->" in text:
            text = replaced(name, f"```\n{printed.strip(chr(10))}\n```\n", text)
            page.write_text(text, encoding="utf-8")
    write_readme()


def write_readme() -> None:
    """Write README's table of figures from the pages."""
    readme = README.read_text(encoding="utf-8")
    README.write_text(replaced(TABLE, readme_table(pages()), readme), encoding="utf-8")


def run(name: str, module: str, arguments: Sequence[str] = ()) -> int:
    """Run a module, show and keep what it prints; its exit code, and nothing kept unless 0."""
    lines = []
    command = [sys.executable, "-m", module, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as child:
        assert child.stdout is not None
        for line in child.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            lines.append(line.rstrip() + "\n")
    if child.returncode == 0:
        keep(name, "".join(lines))
    return child.returncode


if __name__ == "__main__":
    if sys.argv[1:] == ["readme"]:
        write_readme()
    else:
        raise SystemExit(run(sys.argv[1], sys.argv[2], sys.argv[3:]))
