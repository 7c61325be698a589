from __future__ import annotations

from dataclasses import replace

from planner.runs import FormRun, form_rows

BASE = FormRun(None, "float32", "box", "TensorFlow 2.21", "loop", 128, 1_000.0, 0.98, 100,
               "accuracy")  # fmt: skip


def test_a_network_without_changed_forms_has_no_table() -> None:
    assert form_rows([BASE, replace(BASE, batch=1)]) == []


def test_each_form_reports_what_it_gains_and_loses_against_the_network_as_trained() -> None:
    int8 = replace(BASE, variant="int8", samples_per_s=500.0, metric=0.975)
    first, second = form_rows([int8, BASE])
    assert (first["Form"], first["Speed-up"], first["Points lost"]) == (
        "as trained, float32", "1.00x at 128", 0.0)  # fmt: skip
    assert (second["Form"], second["Speed-up"], second["Points lost"]) == (
        "int8", "0.50x at 128", 0.5)  # fmt: skip
    assert second["Accuracy"] == "97.5 %"


def test_speeds_are_compared_at_the_largest_batch_both_have() -> None:
    slim = replace(BASE, variant="distilled", samples_per_s=9_000.0, batch=1024)
    same = replace(slim, samples_per_s=2_000.0, batch=128)
    rows = form_rows([BASE, slim, same])
    assert rows[1]["Speed-up"] == "2.00x at 128"
    assert rows[1]["Samples/s"] == 9_000


def test_sixteen_bits_are_a_form_and_other_software_is_another_place() -> None:
    half = replace(BASE, precision="bfloat16")
    jax = replace(BASE, software="JAX 0.10.2", variant="int8")
    forms = [(r["Form"], r["Software"]) for r in form_rows([BASE, half, jax])]
    assert forms == [
        ("int8", "JAX 0.10.2, engine loop"),
        ("as trained, float32", "TensorFlow 2.21, engine loop"),
        ("bfloat16", "TensorFlow 2.21, engine loop"),
    ]


def test_made_up_data_has_no_accuracy_and_nothing_to_lose() -> None:
    bare = replace(BASE, metric=None, metric_name=None)
    rows = form_rows([bare, replace(bare, variant="int8")])
    assert [(r["Accuracy"], r["Points lost"]) for r in rows] == [(None, None)] * 2
