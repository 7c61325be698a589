"""How long? and Compare have one answer for every run of the published library."""

from __future__ import annotations

import functools
import os
from datetime import date

import pytest

from planner.answers import compare_answered, how_long_answered, mfu_shares, results_answered
from planner.core import Estimate
from planner.core.slugs import slugs
from planner.epochs import MOST_CHOSEN, options_of
from planner.published import half_peak
from planner.store import queries
from planner.store.catalog import read_catalog
from tests.shipped import ROOT, STEP, library

CATALOG = read_catalog(ROOT / "data" / "catalog").catalog
TODAY = date(2026, 11, 23)
EPOCHS = "137"
SAMPLES = "100000"


@functools.cache
def _published() -> dict[str, str]:
    rows = library().rows("SELECT DISTINCT workload FROM runs WHERE repository IS NOT NULL")
    names = {str(row[0]) for row in rows}
    every = {s: w for s, w in slugs(queries.workloads(library())).items() if w in names}
    step = 1 if os.environ.get("EPOCHWISE_FAULTS") == "full" else STEP
    return dict(list(every.items())[::step])


def test_an_option_of_compare_takes_as_long_as_the_same_run_on_how_long() -> None:
    compared = 0
    for workload, name in _published().items():
        for pattern in slugs(queries.patterns(library(), name)):
            compared += _agree(workload, pattern)
    assert compared >= 10


def _agree(workload: str, pattern: str) -> int:
    place = {"workload": [workload], "pattern": [pattern], "epochs": [EPOCHS],
             "samples_per_epoch": [SAMPLES]}  # fmt: skip
    answer = compare_answered(library(), CATALOG, place, TODAY).answered.comparison
    if answer is None:
        return 0
    words = slugs(queries.patterns(library(), _published()[workload]))[pattern]
    options = options_of(queries.runs_of(library(), _published()[workload], words))
    names = slugs([o.label for o in options])
    by_run = {o.run.run_id: s for s, o in zip(names, options, strict=True)}
    by_system: dict[str, list[str]] = {}
    for short, option in zip(names, options, strict=True):
        by_system.setdefault(option.run.system, []).append(short)
    compared = 0
    for row in answer.rows:
        if row.candidate.run is None:
            continue
        run = row.candidate.run.run
        own = by_run[run.run_id]
        same = list(dict.fromkeys([own, *by_system[run.system]]))[:MOST_CHOSEN]
        asked = {**place, "session": ["on"], "baseline": [own], "systems": same}
        result = how_long_answered(library(), asked).result
        assert result is not None
        totals = {a.option.run.run_id: a.total for a in result.answers}
        assert type(totals[run.run_id]) is type(row.timed.total), (workload, run.system)
        if not isinstance(row.timed.total, Estimate):
            continue
        here = totals[run.run_id]
        for end in ("value", "low", "high"):
            assert float(getattr(row.timed.total, end)) == pytest.approx(
                float(getattr(here, end)), rel=1e-9
            ), (workload, run.system, end)  # fmt: skip
        if len(by_system[run.system]) <= MOST_CHOSEN:
            fastest = min(float(t.value) for t in totals.values() if isinstance(t, Estimate))
            assert float(row.timed.total.value) == pytest.approx(fastest, rel=1e-9)
        compared += 1
    return compared


def test_the_shares_of_the_peak_are_those_of_each_run_alone() -> None:
    question = {"family": ["moe"], "basis": ["published"]}
    peaks = {a.name: half_peak(a) for a in CATALOG.accelerators}
    expected = []
    for row in results_answered(library(), question | {"limit": ["1000"]}).rows:
        run = queries.all_columns(library(), row["run_id"])
        peak = peaks.get(run["accelerator_model_name"])
        if peak and run.get("train_flops_per_sample") and row["samples_per_s"]:
            count = run.get("accelerators_per_node", 1) * run.get("number_of_nodes", 1)
            expected.append(row["samples_per_s"] * run["train_flops_per_sample"] / (count * peak))
    shares = mfu_shares(library(), question, CATALOG.accelerators)
    assert len(shares) > 40
    assert shares == pytest.approx(sorted(s for s in expected if s <= 1.0))
    assert mfu_shares(library(), {"family": ["graph"]}, CATALOG.accelerators) == ()
