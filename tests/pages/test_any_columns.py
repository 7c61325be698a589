"""Runs may have any columns of the summary: no page, address or command depends on all of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette

from api.routes import Rules, routes
from pages.common import hardware
from pages.common import kept as state
from planner.__main__ import main
from planner.commands import words
from planner.core.slugs import slugs
from planner.runs import RecordError, table_from_rows
from planner.store import queries
from tests.api.served import ask
from tests.faults.outcomes import FULL
from tests.pages.conftest import show
from tests.store.build import a_set, row

PAGES: Final = ("how-long", "throughput", "compare", "steps-to-target", "results", "method")
SECONDS: Final = st.sampled_from([0.25, 3.0, 10.0, 11.5, 600.0])
COLUMNS: Final[dict[str, st.SearchStrategy[Any]]] = {
    "global_batch_size": st.sampled_from([1, 64, 128, 1024]),
    "pre_train_s": st.sampled_from([0.0, 2.5, 60.0]),
    "first_epoch_s": SECONDS,
    "until_first_epoch_end_s": SECONDS,
    "later_epoch_mean_s": SECONDS,
    "later_epoch_sd_s": st.sampled_from([0.0, 0.05, 2.0]),
    "epochs_measured": st.sampled_from([1, 2, 3, 20]),
    "total_s": st.sampled_from([5.0, 700.0, 1e5]),
    "steps_per_epoch": st.sampled_from([1, 12, 782]),
    "samples_per_epoch": st.sampled_from([48, 49_152, 50_000]),
    "train_samples": st.sampled_from([48, 50_000]),
    "step_s": st.sampled_from([1e-4, 0.05, 2.0]),
    "throughput": st.sampled_from([0.5, 900.0]),
    "asymptotic_throughput": st.sampled_from([258.1, 1e6]),
    "overhead_s": st.sampled_from([0.0, 0.054]),
    "peak_memory_bytes": st.sampled_from([1, 10**9, 10**12]),
    "params": st.sampled_from([1, 10**9]),
    "train_flops_per_sample": st.sampled_from([1.0, 1e12]),
    "accelerators_per_node": st.sampled_from([1, 8]),
    "number_of_nodes": st.sampled_from([1, 4]),
    "accelerator_model_name": st.sampled_from(["T4", "A100", "nonsense"]),
    "epochs": st.sampled_from([[12.0], [12.0, 10.0, 10.1], [12.0, *[10.0] * 6, *[20.0] * 6]]),
}  # fmt: skip
"""Columns that answers are made of, and what may stand in each."""


ANSWERS: Final = (
    "", "how-long", "compare", "throughput", "steps-to-target", "scaling-out", "explore", "results"
)  # fmt: skip
"""Pages that show something of the runs."""


@st.composite
def tables(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Up to six rows that each have some of the columns."""
    made = []
    for place in range(draw(st.integers(1, 6))):
        names = draw(st.sets(st.sampled_from(sorted(COLUMNS)), min_size=2))
        values = {name: draw(COLUMNS[name]) for name in sorted(names)}
        if "epochs" in values:
            times = enumerate(values["epochs"], start=1)
            values["epochs"] = [{"epoch": n, "epoch_s": s} for n, s in times]
        system = draw(st.sampled_from(["T4", "A100", "box"]))
        made.append(row(repeat=place, system_name=system, global_batch_size=None) | values)
    return made


def _kept(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that a commit takes; the others it names, and only with a `RecordError`."""
    kept = []
    for one in rows:
        try:
            table_from_rows([one])
        except RecordError:
            continue
        kept.append(one)
    return kept


def _answers(name: str, **question: str) -> None:
    """The interface answers, or says what is wrong with the question."""
    rules = Rules(store=lambda _: state.store(), catalogs=(hardware.SHIPPED,))
    result = ask(Starlette(routes=routes(rules)), f"/api/v1/{name}?{urlencode(question)}")
    nothing = result.status == 404 and not queries.workloads(state.store())
    assert result.status in (200, 400) or nothing, result.body
    json.loads(result.body, parse_constant=pytest.fail)


@pytest.mark.usefixtures("folders")
@settings(
    max_examples=2, deadline=None, derandomize=True, phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(rows=tables())
def test_rows_with_any_columns_break_no_page_no_address_and_no_command(
    rows: list[dict[str, Any]], alone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in alone.glob("*/*.parquet"):
        path.unlink()
    a_set(alone, _kept(rows))
    state.store().refresh()
    for page in PAGES if FULL else ANSWERS:
        show(page)
    for name in ("projection", "curve", "compare", "results"):
        _answers(name)
    for workload in slugs(queries.workloads(state.store())):
        for command in ("how-long", "curve", "compare"):
            asked = [command, "--workload", workload, "--results", str(alone), "--json"]
            assert main(asked) in (words.ANSWERED, words.REFUSED), capsys.readouterr().err
    capsys.readouterr()
