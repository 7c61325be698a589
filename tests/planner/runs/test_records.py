"""Rows are checked whole, and everything wrong is told at once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core import MAX_TEXT
from planner.runs import (
    ARROW_SCHEMA,
    BY_NAME,
    IDENTITY,
    SCHEMA_VERSION,
    RecordError,
    check_rows,
    run_id,
    table_from_rows,
)
from planner.runs._records import complete
from tests.each import each
from tests.store.build import NOON, full_row, row

NAN, INFINITE = float("nan"), float("inf")


def problems(*rows: dict[str, Any]) -> list[str]:
    with pytest.raises(RecordError) as caught:
        table_from_rows(rows)
    return [str(p) for p in caught.value.problems]


def problem(**changes: object) -> str:
    [only] = problems(row(**changes))
    return only


# -- run_id ------------------------------------------------------------------------------------


def test_the_run_id_of_a_known_row_never_changes() -> None:
    assert run_id(row()) == "5f765de1fff857e5193791954ea755f8"


@given(st.randoms(use_true_random=False))
def test_the_run_id_does_not_depend_on_the_order_of_keys(draw: Any) -> None:  # noqa: ANN401
    items = list(full_row().items())
    draw.shuffle(items)
    assert run_id(dict(items)) == run_id(full_row())


def test_the_run_id_does_not_depend_on_nulls() -> None:
    nulls = dict.fromkeys(IDENTITY)
    assert run_id(nulls | row()) == run_id(row())


@each("name", IDENTITY)
def test_every_identity_column_changes_the_run_id(name: str) -> None:
    assert run_id(full_row() | {name: None}) != run_id(full_row())


@each("name", sorted(set(BY_NAME) - set(IDENTITY)))
def test_no_other_column_changes_the_run_id(name: str) -> None:
    assert run_id(full_row() | {name: None}) == run_id(full_row())


def test_a_whole_learning_rate_is_the_same_run_as_it_comes_back_from_the_file() -> None:
    [kept] = table_from_rows([row(learning_rate=1)]).to_pylist()
    assert run_id(kept) == kept["run_id"] == run_id(row(learning_rate=1.0))


def test_a_given_run_id_and_version_are_not_believed() -> None:
    full = complete(row(run_id="mine", schema_version=99))
    assert (full["run_id"], full["schema_version"]) == (run_id(row()), SCHEMA_VERSION)


def test_a_row_without_a_time_is_recorded_now() -> None:
    before = datetime.now(UTC)
    kept = complete({k: v for k, v in row().items() if k != "recorded_at"})
    assert before <= kept["recorded_at"] <= datetime.now(UTC)


# -- the table ---------------------------------------------------------------------------------


def test_rows_become_the_run_table_with_every_column() -> None:
    table = table_from_rows([row(), full_row()])
    assert table.schema.equals(ARROW_SCHEMA)
    assert table.num_rows == 2


def test_values_of_a_full_row_come_back_as_they_went_in() -> None:
    [kept] = table_from_rows([full_row()]).to_pylist()
    assert {k: v for k, v in kept.items() if k not in {"run_id", "schema_version"}} == full_row()


def test_what_is_missing_stays_null_and_never_becomes_zero() -> None:
    [kept] = table_from_rows([row()]).to_pylist()
    assert {k for k, v in kept.items() if v is not None} == {*row(), "run_id", "schema_version"}


def test_times_are_kept_in_utc() -> None:
    there = NOON.astimezone(timezone(timedelta(hours=9)))
    [kept] = table_from_rows([row(recorded_at=there)]).to_pylist()
    assert kept["recorded_at"] == NOON


def test_no_rows_make_an_empty_table() -> None:
    assert table_from_rows([]).num_rows == 0


def test_a_diverged_loss_is_a_fact_and_is_kept() -> None:
    [kept] = table_from_rows([row(evaluations=[{"step": 1, "loss": NAN}])]).to_pylist()
    assert np.isnan(kept["evaluations"][0]["loss"])


# -- single values -----------------------------------------------------------------------------


@each(
    ("name", "value", "message"),
    [
        ("model", 5, "is 5; it must be text."),
        ("model", b"x", "is b'x'; it must be text."),
        ("model", " \n", "is empty. Leave it out instead: missing is NULL."),
        ("model", "\udc80", "holds half a character (a lone surrogate). Read the text again as"),
        ("model", "x" * (MAX_TEXT + 1), f"has {MAX_TEXT + 1} characters; at most {MAX_TEXT} are"),
        ("status", ["ok"], "is ['ok']; it must be text."),
        ("jit", 1, "is 1; it must be true or false."),
        ("jit", "true", "is 'true'; it must be true or false."),
        ("params", 1.5, "is 1.5; it must be a whole number."),
        ("params", True, "is True; it must be a whole number."),
        ("params", 2**63, f"is {2**63}; it must be a whole number."),
        ("params", np.int64(3), "is np.int64(3); it must be a whole number."),
        ("step_s", "0.1", "is '0.1'; it must be a number."),
        ("step_s", True, "is True; it must be a number."),
        ("step_s", NAN, "is nan. A number must be finite; leave it out where it is not known."),
        ("step_s", INFINITE, "is inf. A number must be finite"),
        ("step_s", 10**400, "A number must be finite"),
        ("step_s", 0.0, "is 0.0 s. It must be above 0; leave it out where it is not known."),
        ("step_s", -1, "is -1 s. It must be above 0"),
        ("workers", -1, "is -1 workers. It must not be negative."),
        ("recorded_at", NOON.replace(tzinfo=None), "it must be a time with a time zone."),
        ("recorded_at", "2026-03-01", "is '2026-03-01'; it must be a time with a time zone."),
        (
            "recorded_at",
            datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
            "is '0001-01-01T00:00:00+14:00', beyond the calendar in UTC.",
        ),
        (
            "recorded_at",
            datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-2))),
            "beyond the calendar in UTC.",
        ),
        ("extra", "{", "is not JSON (Expecting property name"),
        ("extra", "[1]", "is JSON but not an object. Write {...}."),
        ("extra", '{"a": NaN}', "is not JSON (NaN is not a JSON value). Write a JSON object."),
        ("extra", "[" * 9_000, "is not JSON ("),
    ],
)
def test_a_bad_value_is_reported_with_what_it_must_be(
    name: str, value: object, message: str
) -> None:
    result = problem(**{name: value})
    assert result.startswith(f"row 1, {name}: ")
    assert message in result


def test_an_unknown_column_has_a_hint() -> None:
    result = problem(temperature=3)
    assert result == "row 1, temperature: is not a column. Put it into the JSON map `extra`."


def test_zero_workers_are_a_fact() -> None:
    assert check_rows([complete(row(workers=0))]) == []


# -- nested records ----------------------------------------------------------------------------


@each(
    ("name", "value", "message"),
    [
        ("epochs", {"epoch": 1}, "is dict; it must be a list of records."),
        ("epochs", "abc", "is str; it must be a list of records."),
        ("epochs", [3], "item 1 must be a record with only epoch, epoch_s, loss, metric, samples,"),
        ("epochs", [{"epoch": 1, "epoch_s": 1.0, "speed": 2}], "item 1 must be a record with only"),
        (
            "epochs",
            [{"epoch": 1, "epoch_s": 0}],
            "epoch 1 took 0 s (epoch_s). A time must be above",
        ),
        ("epochs", [{"epoch": 1, "epoch_s": -2.5}], "A time must be above 0. Fix it or mark"),
        ("epochs", [{"epoch": 1, "epoch_s": NAN}], "epoch 1 took epoch_s=nan. A time must be fini"),
        ("epochs", [{"epoch": 1, "epoch_s": 10**400}], "A time must be finite."),
        ("epochs", [{"epoch": 1, "epoch_s": "1"}], "epoch 1 has epoch_s '1'; it must be a number."),
        ("epochs", [{"epoch": 1, "loss": 2.0}], "epoch 1 has no epoch_s."),
        ("epochs", [{"epoch": 0, "epoch_s": 1.0}], "item 1: epoch is 0; it must grow from 1."),
        ("epochs", [{"epoch": 2, "epoch_s": 1.0}] * 2, "item 2: epoch is 2; it must grow from 1."),
        ("epochs", [{"epoch": 2**63, "epoch_s": 1.0}], "it must grow from 1."),
        ("epochs", [{"epoch": 1, "epoch_s": 1.0, "samples": 1.5}], "has samples 1.5; it must be a"),
        ("epochs", [{"epoch": 1, "epoch_s": 1.0, "samples": -4}], "has samples -4; it must be a"),
        ("epochs", [{"epoch": 1, "epoch_s": 1.0, "loss": 10**400}], "must be finite"),
        ("steps", [{"step": 1}], "step 1 has no step_s."),
        ("steps", [{"step": 1, "step_s": 0.0}], "A time must be above 0."),
        ("evaluations", [{"step": True}], "it must grow from 1."),
        ("evaluations", [{"step": 5, "elapsed_s": -1.0}], "step 5 took -1.0 s (elapsed_s)."),
    ],
)
def test_a_bad_record_is_reported_by_its_number(name: str, value: object, message: str) -> None:
    assert message in problem(**{name: value})


def test_an_evaluation_may_come_at_once() -> None:
    assert check_rows([complete(row(evaluations=[{"step": 1, "elapsed_s": 0.0}]))]) == []


# -- between columns and rows ------------------------------------------------------------------


def test_a_run_that_failed_says_why() -> None:
    result = problem(status="oom")
    assert result == "row 1, status_reason: is missing. Say why the run ended as oom."


def test_the_number_of_epochs_agrees_with_their_records() -> None:
    result = problem(epochs_measured=3, epochs=[{"epoch": 1, "epoch_s": 1.0}])
    assert result == "row 1, epochs: has 1 entries but epochs_measured is 3."


@pytest.mark.parametrize("measured", [None, 1])
def test_a_mean_of_later_epochs_needs_two_epochs(measured: int | None) -> None:
    result = problem(later_epoch_mean_s=1.0, epochs_measured=measured)
    assert "must be at least 2 where later epochs are given" in result


def test_the_global_batch_is_the_product_of_its_parts() -> None:
    parts = {"per_device_batch_size": 32, "accelerators_per_node": 4, "number_of_nodes": 2}
    result = problem(global_batch_size=64, gradient_accumulation_steps=2, **parts)
    assert result == "row 1, global_batch_size: is 64, but the devices together take 512."


@pytest.mark.parametrize("split", ["stage", "branch"])
def test_a_model_cut_in_pieces_has_no_batch_product(split: str) -> None:
    parts = {"per_device_batch_size": 64, "accelerators_per_node": 4, "number_of_nodes": 1}
    assert check_rows([complete(row(parallelism=split, **parts))]) == []


def test_the_same_run_twice_is_reported_with_both_rows() -> None:
    result = problems(row(), row(seed=1), row(note="again"))
    assert len(result) == 1
    assert result[0].startswith("row 3, run_id: is the same run as row 1 ")


def test_all_problems_of_all_rows_are_reported_at_once() -> None:
    result = problems(row(step_s=0, jit=2), row(), row(model=None, speed=1), row())
    assert [t.split(":")[0] for t in result] == [
        "row 1, jit", "row 1, step_s", "row 3, speed", "row 3, model", "row 4, run_id",
    ]  # fmt: skip


def test_the_message_counts_all_and_shows_twenty() -> None:
    with pytest.raises(RecordError, match="30 problems") as caught:
        table_from_rows([row(repeat=i, step_s=0) for i in range(30)])
    assert str(caught.value).endswith("and 10 more")
    assert len(caught.value.problems) == 30


CELLS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9), st.binary(max_size=9)
)
CHANGES = st.lists(st.tuples(st.sampled_from(sorted(BY_NAME)), CELLS | st.lists(CELLS)), max_size=3)


@given(CHANGES)
def test_any_row_becomes_a_table_or_a_list_of_problems(changes: list[tuple[str, Any]]) -> None:
    try:
        table = table_from_rows([row() | dict(changes)])
    except RecordError as error:
        assert error.problems  # noqa: PT017 - either outcome is fine, nothing else is
    else:
        assert table.num_rows == 1


@pytest.mark.parametrize("value", [3, 2**53 + 1, 123_456_789_012_345_678])
def test_a_whole_number_is_kept_as_the_real_next_to_it(value: int) -> None:
    given = row(gemm_flops_per_s=value, epochs=[{"epoch": 1, "epoch_s": 3, "loss": value}])
    [kept] = table_from_rows([given]).to_pylist()
    assert kept["gemm_flops_per_s"] == kept["epochs"][0]["loss"] == float(value)
