"""Python interface of the comparison of hardware: plain arguments in, a frozen record out.

    >>> import planner
    >>> answer = planner.compare(network="Llama 3 8B", total_tokens="100M", precision="bfloat16")
    >>> answer.rows[0].time_s.value, answer.rows[0].samples_per_s

Parameters have the names of the page, the command and the HTTP interface
(`planner.answers.comparison._parameters.COMPARE`), and the numbers are the same.
"""

import functools
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from planner.answers._asking import compare_answered, hardware_comparison
from planner.answers.comparison import option_rows, samples_per_s_of, startup_s_of
from planner.answers.records import plain
from planner.compare.comparison import Comparison, Row
from planner.core import Estimate, Refusal, Text, text_of
from planner.store.catalog import own_folder, read_catalog
from planner.store.disk.folders import OWN, Folder, folders_from_environment
from planner.store.reader import Store

ROOT: Final = Path(__file__).resolve().parents[2]
Value = str | float | bool | Iterable[str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionAnswer:
    """An option: time [s], cost [USD], speed [samples/s], start-up time [s].

    `rank` is None where the option has no answer; `time_s` is then the refusal. `batch` is the
    global batch [samples], None where no run states one. `record` is the row of the command and
    the HTTP interface.
    """

    id: str
    label: str
    rank: int | None
    time_s: Estimate | Refusal
    cost_per_run: Estimate | Refusal
    samples_per_s: Estimate | None
    startup_s: float
    batch: float | None
    memory: str
    record: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonAnswer:
    """The answer: sentence, rows, and problems of the question.

    `query` is the same question for the page or the HTTP interface; `body` is that interface's
    answer. With problems, or without an option to compare, `rows` is empty and `problems` has the
    reasons. `cost_per_run` is in US dollars.
    """

    sentence: str
    undecided: str
    workload: str
    goal: str
    rows: tuple[OptionAnswer, ...]
    problems: tuple[str, ...]
    query: str
    body: Mapping[str, Any]


def compare(
    network: str | None = None,
    *,
    results: str | Path | None = None,
    catalog: str | Path | None = None,
    begins: datetime | None = None,
    **question: Value,
) -> ComparisonAnswer:
    """Return the comparison of rented and bought hardware for a job: time, cost, intervals.

    Args:
        network: a named network, as "Llama 3 8B"; None where `question` names the job.
        results: your folder of result sets; None: that of the environment, else `results`.
        catalog: your catalogue folder; None: that of the environment, else `catalog`.
        begins: start of the work, with its zone; None is now.
        question: parameters by their names in a page's link (docs/api.md): `workload`, `epochs`,
            `total_tokens`, `options`, `own`, `deadline` ... as numbers, texts such as
            "7B", flags or lists of texts. A description makes it a described workload.

    Raises:
        TypeError: a value has another type.
    """
    values = {"network": network, **question}
    texts = {name: _texts(name, value) for name, value in values.items() if value is not None}
    environment: dict[str, str] = dict(os.environ)
    if results is not None:
        environment[OWN] = str(Path(results).absolute())
    store = _store(folders_from_environment(ROOT, environment))
    store.refresh(wait=True)
    own = own_folder(ROOT, os.environ) if catalog is None else Path(catalog)
    begins = begins or datetime.now(UTC).replace(second=0, microsecond=0)
    rows = read_catalog(ROOT / "data" / "catalog", [own]).catalog
    answer = compare_answered(store, rows, texts, begins.date(), begins)
    problems = tuple(map(str, answer.problems))
    comparison = answer.answered.comparison
    if comparison is None or problems:
        return ComparisonAnswer(sentence="", undecided="", workload="", goal="", rows=(),
                                problems=problems, query=answer.query,
                                body=MappingProxyType({}))  # fmt: skip
    record = hardware_comparison(comparison, answer.display, answer.query, answer.by)
    return ComparisonAnswer(
        sentence=record.sentence,
        undecided=record.undecided or "",
        workload=record.workload,
        goal=record.goal,
        rows=_rows(comparison, option_rows(comparison, answer.display, begins)),
        problems=problems,
        query=answer.query,
        body=MappingProxyType(plain(record)),
    )


@functools.lru_cache(maxsize=4)
def _store(folders: tuple[Folder, ...]) -> Store:
    """Return the store of these folders, kept between calls: a refresh reads new files alone."""
    return Store(folders)


def _rows(comparison: Comparison, records: Iterable[Mapping[str, Any]]) -> tuple[OptionAnswer, ...]:
    return tuple(
        _option(row, comparison, record)
        for row, record in zip(comparison.rows, records, strict=True)
    )


def _option(row: Row, comparison: Comparison, record: Mapping[str, Any]) -> OptionAnswer:
    return OptionAnswer(
        id=row.candidate.id,
        label=row.candidate.label,
        rank=row.rank,
        time_s=row.time,
        cost_per_run=row.cost,
        samples_per_s=samples_per_s_of(row),
        startup_s=startup_s_of(row, comparison.question.job),
        batch=row.timed.batch,
        memory=row.timed.fit.sentence,
        record=MappingProxyType(dict(record)),
    )


def _texts(name: str, value: Value) -> list[str]:
    if isinstance(value, str | int | float):
        return [text_of(value)]
    if isinstance(value, Iterable):
        return [text_of(item) for item in value]
    raise TypeError(
        Text(
            "{name} is {value}. Give a text, a number, a flag or a list.",
            name=name,
            value=type(value).__name__,
        )
    )
