"""The Python door: `planner.compare` gives the numbers of the command and the HTTP interface."""

from __future__ import annotations

import functools
import subprocess
import sys
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

import planner
from planner.answers import compare_answered
from planner.answers._door import ComparisonAnswer
from planner.answers.comparison import option_rows
from planner.core import Estimate, Refusal, texts_of_link
from planner.store.catalog import read_catalog
from planner.store.disk.folders import folders_from_environment
from planner.store.reader import Store
from tests.store.build import a_set, row

ROOT: Final = Path(__file__).parent.parent.parent.parent
MEASURED: Final = "wideresnet-103m-cifar-100-adam-float32"
BEGINS: Final = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)
QUESTION: Final[dict[str, Any]] = {
    "network": "Llama 3 8B", "total_tokens": "100M", "precision": "bfloat16",
    "network_optimizer": "AdamW", "own": ["rent|h100-sxm|8|24", "rent|t4|1|0.5"],
}  # fmt: skip


@functools.cache  # an answer cannot be changed
def asked(**more: Any) -> ComparisonAnswer:  # noqa: ANN401 - any value of a link
    return planner.compare(begins=BEGINS, catalog="nowhere", **{**QUESTION, **more})


def test_plain_arguments_are_answered_with_time_money_speed_start_up_and_batch() -> None:
    found = asked(batch=64)
    assert found.problems == ()
    assert "finishes 100 million tokens of Llama 3 8B" in found.sentence
    assert found.workload == "Llama 3 8B"
    own = next(r for r in found.rows if r.id == "mine-rent-h100-sxm-8-24")
    assert isinstance(own.time_s, Estimate)
    assert isinstance(own.cost_per_run, Estimate)
    assert own.samples_per_s is not None
    assert own.batch == 64.0
    assert own.startup_s == 300.0
    samples = 100e6 / 8192
    work = samples / float(own.samples_per_s.value)
    assert float(own.time_s.value) == pytest.approx(own.startup_s + work, rel=0.1)
    assert own.record["samples_per_s"] == pytest.approx(float(own.samples_per_s.value), rel=1e-5)


def test_a_description_beside_a_measured_workload_is_a_problem() -> None:
    found = planner.compare(begins=BEGINS, workload=MEASURED, assumed_mfu=40)
    assert found.rows == ()
    assert found.problems == (
        "assumed_mfu: Only a described workload has it. Give workload=described and a network.",
    )


def test_what_does_not_fit_is_a_refusal_in_its_row() -> None:
    small = next(r for r in asked().rows if r.id == "mine-rent-t4-1-0.5")
    assert isinstance(small.time_s, Refusal)
    assert small.rank is None
    assert small.samples_per_s is None
    assert "Does not fit" in small.memory


def test_it_gives_the_numbers_of_every_other_edge() -> None:
    found = asked()
    store = Store(folders_from_environment(ROOT, {}))
    store.refresh()
    catalog = read_catalog(ROOT / "data" / "catalog", []).catalog
    given = texts_of_link(found.query)[1]
    result = compare_answered(store, catalog, given, BEGINS.date(), BEGINS)
    assert result.answered.comparison is not None
    records = option_rows(result.answered.comparison, result.display, BEGINS)
    assert [dict(r.record) for r in found.rows] == records
    assert found.body["sentence"] == found.sentence


def test_problems_are_returned_and_a_wrong_kind_of_value_raises() -> None:
    found = asked(network="no such network")
    assert any(p.startswith("network: ") for p in found.problems)
    assert found.rows == ()
    found = asked(epochs=0, precision="bf15")
    assert found.rows == (), "another question is not answered instead"
    assert {p.split(":")[0] for p in found.problems} == {"epochs", "precision"}
    assert planner.compare(nonsense=3, begins=BEGINS).problems[0].startswith("nonsense: ")
    with pytest.raises(TypeError, match="epochs is object"):
        planner.compare(epochs=object())  # type: ignore[arg-type]


def test_runs_are_read_once_and_new_ones_are_in_the_next_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Store] = []
    real = Store.__init__

    def counted(self: Store, *given: Any, **more: Any) -> None:  # noqa: ANN401 - as Store's
        opened.append(self)
        real(self, *given, **more)

    monkeypatch.setattr(Store, "__init__", counted)
    new: dict[str, Any] = {"results": tmp_path, "begins": BEGINS, "workload": "mine-only"}
    assert any(p.startswith("workload: ") for p in planner.compare(**new).problems)
    a_set(tmp_path, [row(model="mine only")])
    assert not any(p.startswith("workload: ") for p in planner.compare(**new).problems)
    assert len(opened) == 1


def test_an_answer_cannot_be_changed() -> None:
    found = asked()
    with pytest.raises(FrozenInstanceError):
        found.sentence = ""  # type: ignore[misc]
    with pytest.raises(TypeError):
        found.rows[0].record["rank"] = 1  # type: ignore[index]


def test_importing_the_planner_loads_none_of_it() -> None:
    program = "import sys, planner; print('duckdb' in sys.modules, callable(planner.compare))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]


def test_a_language_model_is_trained_in_bfloat16_unless_another_format_is_asked_for() -> None:
    usual, bf16, single = (asked(precision=name) for name in (None, "bf16", "fp32"))
    assert usual.rows[0].time_s == bf16.rows[0].time_s != single.rows[0].time_s
    assert "precision=bfloat16" in usual.query
    assert "FLOPs per sample in bfloat16" in str(usual.rows[0].record["notes"])
