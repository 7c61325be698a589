"""Tables of jobs and lines of a fleet: files, pasted spreadsheets, texts of a link, presets.

The columns are the parameters of `planner.answers.parameters.JOB`, in any order. A file separates
cells by commas or semicolons, a spreadsheet by tabs; both have a head. A text of a link writes one
job as `name=Fine-tune; network=llama-3-8b; total_tokens=100M; runs=120; within=4`, and one line of
a fleet as `2 x own|a100-sxm-80gb|8`, `1 x buy|h100-sxm|8|260000 total from 7`, or a count of an
option of Compare hardware. Owned machines begin with `own:` in place of `own|`.

Every problem is reported at once, with its row, its column, the rule, and what to do.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final

from planner.answers.parameters import JOB
from planner.capacity import MOST_JOBS, MonthlyJob, Stock
from planner.core import (
    Parameter,
    ParameterProblem,
    Text,
    bare,
    harmless,
    parsed,
    sentence_case,
    text_of,
)

BY_NAME: Final = MappingProxyType({p.name: p for p in JOB})
MOST_BYTES: Final = 200_000
USUAL_RUNS: Final = 4.0
"""Runs a month where a job states none."""
_OWN: Final = frozenset({"name", "runs", "within", "interruptible", "growth", "accelerators",
                         "workload", "network", "epochs", "total_tokens", "target"})  # fmt: skip
"""Parameters with a field of their own in a `MonthlyJob`."""
TITLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        **{name: sentence_case(name.replace("_", " ")) for name in BY_NAME},
        "name": "Job", "workload": "Measured workload", "tokens": "Tokens a sample",
        "accelerators": "GPUs", "runs": "Runs/month", "within": "Within (h)",
        "interruptible": "Spot", "growth": "Growth (%)",
    }
)  # fmt: skip
"""Heads of columns on the page."""
_UNIT: Final = re.compile(r"\s*[(\[].*[)\]]\s*$")
_ALIASES: Final[Mapping[str, str]] = MappingProxyType(
    {
        **{_UNIT.sub("", title).lower(): name for name, title in TITLES.items()},
        "job": "name", "runs a month": "runs", "runs_a_month": "runs", "runs/month": "runs",
        "finish within": "within", "must finish within": "within", "deadline": "within",
        "within_h": "within", "may be interrupted": "interruptible", "spot": "interruptible",
        "growth a month": "growth", "gpus": "accelerators", "tokens of the run": "total_tokens",
        "total tokens": "total_tokens",
    }
)  # fmt: skip
"""Other heads of columns, in small letters and without units in brackets."""
_YES: Final = frozenset({"on", "yes", "y", "true", "1", "x"})
_NO: Final = frozenset({"off", "no", "n", "false", "0"})
_RESULTS: Final = frozenset({"trains", "time_of_a_run", "machine", "accelerator-hours_a_month",
                             "late", "worst_quarter"})  # fmt: skip
"""Columns of an answer: its table of jobs is read again without them."""
_WHAT: Final = ("workload", "network", "params", "flops")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowProblem:
    """What is wrong in a table: `row` counts from 1 below the head, 0 is the head itself."""

    row: int
    column: str
    rule: str
    fix: str

    def __str__(self) -> str:
        where = f"Row {self.row}" if self.row else "Head"
        column = f", column {self.column}" if self.column else ""
        return f"{where}{column}: {self.rule} {self.fix}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTable:
    """The jobs of a table, and all of its problems; jobs of wrong rows are left out."""

    jobs: tuple[MonthlyJob, ...] = ()
    problems: tuple[RowProblem, ...] = ()


def read_jobs(text: str) -> JobTable:
    """Return the jobs of a CSV file or of cells pasted from a spreadsheet."""
    text = text.lstrip("\ufeff").strip("\r\n")
    if len(text) > MOST_BYTES:
        rule = Text(
            "The table has {text:,} letters; {most_bytes:,} are read.",
            text=len(text),
            most_bytes=MOST_BYTES,
        )
        return JobTable(problems=(_problem(0, "", rule, "Leave rows out."),))
    if not text.strip():
        return JobTable(problems=(_problem(0, "", "The table is empty.", _HEAD),))
    first = text.splitlines()[0]
    separator = "\t" if "\t" in first else ";" if first.count(";") > first.count(",") else ","
    try:
        lines = list(csv.reader(io.StringIO(text), delimiter=separator, strict=True))
    except csv.Error as error:
        rule = Text("The table cannot be read ({error}).", error=error)
        return JobTable(problems=(_problem(0, "", rule, "Close every quotation mark."),))
    head = [_column(cell) for cell in lines[0]]
    problems = _head_problems(head, lines[0])
    if "name" not in head or len(set(head)) < len(head):
        return JobTable(problems=tuple(problems))
    rows = [(n, line) for n, line in enumerate(lines[1:], start=1) if any(c.strip() for c in line)]
    if len(rows) > MOST_JOBS:
        problems.append(
            _problem(
                MOST_JOBS + 1,
                "",
                Text("{rows} jobs; {most_jobs} are planned.", rows=len(rows), most_jobs=MOST_JOBS),
                "Put similar jobs together.",
            )
        )
    rows = [(n, [bare(cell) for cell in line]) for n, line in rows]
    jobs = [_row(n, dict(zip(head, line, strict=False)), line, head, problems)
            for n, line in rows[:MOST_JOBS]]  # fmt: skip
    if not rows:
        problems.append(_problem(0, "", "The table has a head but no job.", "Add a row for each."))
    read = tuple(j for j in jobs if j is not None)
    twice = [name for name, n in Counter(j.name for j in read).items() if n > 1]
    for name in twice:
        at = [n for (n, _), j in zip(rows, jobs, strict=False) if j is not None and j.name == name]
        problems.append(
            _problem(
                at[1],
                "name",
                Text("{name!r} is the name of row {at} too.", name=name, at=at[0]),
                "Give each job its own name.",
            )
        )
    problems.sort(key=lambda p: p.row)
    return JobTable(jobs=() if twice else read, problems=tuple(problems))


def text_cells(text: str) -> dict[str, str]:
    """Return the cells of a text of a link by column, as they are written."""
    parts = (part.partition("=") for part in text.split(";"))
    return {_column(key): value.strip() for key, equals, value in parts if equals}


def job_of_text(text: str, number: int = 1) -> JobTable:
    """Return the job of a text of a link; `number` is its place, for the problems."""
    problems = [
        _problem(
            number,
            "",
            Text("{part!r} has no value.", part=part.strip()[:40]),
            "Write name=value; with semicolons between.",
        )
        for part in text.split(";")
        if part.strip() and "=" not in part
    ]
    cells = text_cells(text)
    head = list(cells)
    problems += [p for p in _head_problems(head, head, row=number) if p.column]
    if problems:
        return JobTable(problems=tuple(problems))
    job = _row(number, cells, list(cells.values()), head, problems)
    return JobTable(jobs=() if job is None else (job,), problems=tuple(problems))


def jobs_of_texts(
    texts: Sequence[str],
) -> tuple[tuple[MonthlyJob, ...], tuple[ParameterProblem, ...]]:
    """Return the jobs of the texts of a link, and their problems."""
    tables = [job_of_text(text, n) for n, text in enumerate(texts, start=1)]
    jobs = tuple(j for t in tables for j in t.jobs)
    problems = [
        ParameterProblem(parameter="jobs", message=str(p)) for t in tables for p in t.problems
    ]
    for name, times in Counter(j.name for j in jobs).items():
        if times > 1:
            message = Text(
                "{times} jobs are called {name!r}. Give each its own name.", times=times, name=name
            )
            problems.append(ParameterProblem(parameter="jobs", message=message))
    return jobs, tuple(problems)


def cells_of(job: MonthlyJob) -> dict[str, str]:
    """Return a job as texts by column, without defaults."""
    values: dict[str, Any] = {
        "name": job.name, "workload": job.workload or None, "network": job.network or None,
        "epochs": job.epochs, "total_tokens": job.total_tokens, "target": job.target,
        **dict(job.more), "accelerators": job.accelerators, "runs": job.runs_a_month,
        "within": job.within_h, "interruptible": job.interruptible,
        "growth": round(100.0 * job.growth, 9),
    }  # fmt: skip
    return {
        name: text_of(value)
        for name, value in values.items()
        if value is not None and (value != BY_NAME[name].default or name == "runs")
    }


def job_text(job: MonthlyJob) -> str:
    """Return a job as the text of a link; `job_of_text` restores it."""
    return "; ".join(f"{k}={v.replace(';', ',')}" for k, v in cells_of(job).items())


def jobs_csv(
    jobs: Sequence[MonthlyJob], results: Sequence[Mapping[str, object]] | None = None
) -> str:
    """Return the jobs as a CSV file with the columns that they use; `read_jobs` restores it.

    `results` are rows of the answer about them, whose own columns stand behind.
    """
    rows = [{name: _cell(text) for name, text in cells_of(j).items()} for j in jobs]
    used = [p.name for p in JOB if any(p.name in r for r in rows)]
    for row, result in zip(rows, results or (), strict=bool(results)):
        answered = {k: v for k, v in result.items() if _column(k) in _RESULTS}
        row |= {k: "" if v is None else _cell(str(v)) for k, v in answered.items()}
        used += [k for k in answered if k not in used]
    out = io.StringIO()
    writer = csv.DictWriter(out, used, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _cell(text: str) -> str:
    """Return a cell that no spreadsheet runs: a link may bring any name. Numbers stay numbers."""
    try:
        float(text)
    except ValueError:
        return harmless(text)
    return text


@cache
def presets() -> Mapping[str, tuple[MonthlyJob, ...]]:
    """Return the example tables by name."""
    folder = files("planner.capacity").joinpath("presets")
    tables = sorted((f for f in folder.iterdir() if f.name.endswith(".csv")), key=lambda f: f.name)
    return MappingProxyType(
        {f.name[:-4]: read_jobs(f.read_text(encoding="utf-8")).jobs for f in tables}
    )


def _column(cell: str) -> str:
    """Return the parameter of a head, without its unit; the head itself where there is none."""
    name = _UNIT.sub("", cell.strip()).strip().lower()
    return _ALIASES.get(name, name.replace(" ", "_"))


def _head_problems(head: Sequence[str], cells: Sequence[str], row: int = 0) -> list[RowProblem]:
    problems = [
        _problem(row, cell.strip()[:40], "There is no such column.", _near(name))
        for name, cell in zip(head, cells, strict=True)
        if name and name not in BY_NAME and name not in _RESULTS
    ]
    problems += [
        _problem(row, name, "The column is there twice.", "Leave one of them out.")
        for name, times in Counter(n for n in head if n).items()
        if times > 1
    ]
    if "name" not in head and not row:
        problems.append(_problem(row, "", "The column name is missing.", _HEAD))
    return problems


def _near(name: str) -> str:
    from planner.core.parameters import near_names

    near = near_names(name, list(BY_NAME), 1)
    return (
        Text("Perhaps {near}?", near=near[0])
        if near
        else f"Use {', '.join(list(BY_NAME)[:10])} ..."
    )


def _row(
    number: int, cells: Mapping[str, str], line: Sequence[str], head: Sequence[str],
    problems: list[RowProblem],
) -> MonthlyJob | None:  # fmt: skip
    """Return the job of a row; None with a problem, which is added to `problems`."""
    before = len(problems)
    if len(line) > len(head):
        rule = Text("{line} cells, but {head} columns.", line=len(line), head=len(head))
        fix = "Put a text with the separator into quotation marks."
        problems.append(_problem(number, "", rule, fix))
    values: dict[str, Any] = {}
    more: list[tuple[str, str]] = []
    for name, cell in cells.items():
        text = cell.strip()
        if name not in BY_NAME or not text:
            continue
        value, wrong = parsed(BY_NAME[name], _flag(BY_NAME[name], text))
        if wrong:
            problems.append(_problem(number, name, f"{text[:40]!r} {wrong}", _example(name)))
        elif name in _OWN:
            values[name] = value
        elif value != BY_NAME[name].default:
            more.append((name, _flag(BY_NAME[name], text)))
    if not values.get("name"):
        problems.append(_problem(number, "name", "The job has no name.", "Give it one."))
    if not any(values.get(n) or n in dict(more) for n in _WHAT):
        problems.append(_problem(number, "network", "Nothing says what is trained.",
                                 "Give network, workload, params or flops."))  # fmt: skip
    if len(problems) > before:
        return None
    return MonthlyJob(
        name=values["name"],
        workload=values.get("workload") or "",
        network=values.get("network") or "",
        epochs=values.get("epochs"),
        total_tokens=values.get("total_tokens"),
        target=values.get("target"),
        more=tuple(sorted(more, key=lambda pair: list(BY_NAME).index(pair[0]))),
        accelerators=values.get("accelerators"),
        runs_a_month=values.get("runs", USUAL_RUNS),
        within_h=values.get("within"),
        interruptible=values.get("interruptible", False),
        growth=values.get("growth", 0.0) / 100.0,
    )


def _flag(parameter: Parameter, text: str) -> str:
    """Return on or off for the other words of a flag; other texts unchanged."""
    if parameter.kind != "flag":
        return text
    return "on" if text.lower() in _YES else "off" if text.lower() in _NO else text


def _example(name: str) -> str:
    examples = {"interruptible": "Write yes or no.", "growth": "Write 5 for 5 % a month.",
                "within": "Write hours, as 24.", "runs": "Write a number, as 120."}  # fmt: skip
    return examples.get(name, "")


def _problem(row: int, column: str, rule: str, fix: str) -> RowProblem:
    return RowProblem(row=row, column=column, rule=rule, fix=fix)


_HEAD: Final = "Begin with a line such as name,network,total_tokens,runs,within."


OWN: Final = "own:"
OFFER: Final = "offer"
"""The way of a line that names an option of Compare hardware."""
_TOTAL: Final = " total"


STOCK_LINE: Final = re.compile(r"(?:([0-9]{1,3})\s*x\s+)?(.+?)(?:\s+from\s+([0-9]{1,2}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a fleet.

    way: own, buy, rent, spot, reserved-1, reserved-3, or `offer`.
    accelerator: its id; of an offer the id of the option.
    each: accelerators of one machine.
    price: of the whole machine in USD, of a rented one per hour; None is the list price.
    """

    way: str
    accelerator: str
    each: int = 8
    machines: int = 1
    price: float | None = None
    from_month: int = 1

    def cells(self) -> dict[str, Any]:
        """Return the cells of its row."""
        return {
            "way": self.way, "accelerator": self.accelerator, "each": self.each,
            "machines": self.machines, "price": self.price, "from_month": self.from_month,
        }  # fmt: skip


def line_of(text: str) -> Line:
    """Return the line of a text; owned machines begin with `own:`."""
    owned = text.startswith(OWN)
    stock = stock_of(text.removeprefix(OWN))
    common: dict[str, Any] = {"machines": stock.count, "from_month": stock.from_month}
    parts = stock.machine.split("|")
    if owned:
        parts = ["own", *parts]
    if len(parts) == 1:
        return Line(way=OFFER, accelerator=stock.machine, each=1, **common)
    way, accelerator, each, *rest = (*parts, "1") if len(parts) == 2 else parts
    price = rest[0].removesuffix(_TOTAL).strip() if rest else ""
    return Line(way=way, accelerator=accelerator, each=_whole(each, 1),
                price=_amount(price), **common)  # fmt: skip


def line_text(cells: Mapping[str, Any]) -> str:
    """Return the text of a row of the table; "" where it names no accelerator."""
    way, accelerator = str(cells.get("way") or "buy"), str(cells.get("accelerator") or "")
    if not accelerator:
        return ""
    machines = cells.get("machines")
    count = 1 if machines is None else int(machines)
    begin = int(cells.get("from_month") or 1)
    start = "" if begin == 1 else f" from {begin}"
    if way == OFFER:
        return f"{count} x {accelerator}{start}"
    each = int(cells.get("each") or 8)
    if way == "own":
        return f"{OWN}{count} x {accelerator}|{each}"
    price = cells.get("price")
    words = "" if price is None else f"|{float(price):.12g}"
    total = _TOTAL if words and way == "buy" else ""
    return f"{count} x {way}|{accelerator}|{each}{words}{total}{start}"


def stock_of(text: str) -> Stock:
    """Return a line of a fleet: '2 x own|a100-sxm-80gb|8', '1 x buy|h100-sxm|8|9 total from 12'."""
    match = STOCK_LINE.fullmatch(text.strip())
    count, machine, start = match.groups() if match else (None, text, None)
    return Stock(machine=machine, count=int(count or 1), from_month=max(int(start or 1), 1))


def _whole(text: str, default: int) -> int:
    return int(text) if text.strip().isdecimal() else default


def _amount(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
