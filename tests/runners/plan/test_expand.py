"""From a sweep to its cases: cross products, patterns, what is filled in, what cannot be."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from runners.plan import cases, spec
from runners.plan.cases import Case
from runners.plan.expand import (
    Expanded,
    Host,
    expand,
    steps_in,
)
from runners.plan.spec import SpecError, from_table
from tests.each import each
from tests.runners.stubs import case

BOTH = Host(device="cpu", backends=("tensorflow", "jax"))


def expanded(host: Host = BOTH, **body: Any) -> Expanded:  # noqa: ANN401 - parts of a sweep
    return expand(from_table("mine", {"title": "t"} | body), host)


def of(*blocks: dict[str, Any], **body: Any) -> tuple[Case, ...]:  # noqa: ANN401
    return expanded(runs=[{"workload": "mlp", "batch": 16} | b for b in blocks], **body).cases


def problem(host: Host = BOTH, **factors: Any) -> str:  # noqa: ANN401 - factors
    with pytest.raises(SpecError) as caught:
        expanded(host, runs=[{"workload": "mlp", "batch": 16} | factors])
    return "\n".join(caught.value.problems)


# -- products ------------------------------------------------------------------------------------


def test_a_block_is_the_cross_product_of_its_lists_in_their_order() -> None:
    made = of({"batch": [16, 32], "seed": [0, 1], "options": {"units": [8, 16]}})
    assert len(made) == len({c.case_id for c in made}) == 8
    result = [(dict(c.options)["units"], c.batch, c.seed) for c in made]
    assert result == sorted(result)


def test_repeats_are_runs_and_the_same_case_twice_is_one() -> None:
    assert [c.repeat for c in of({}, repeats=3)] == [0, 1, 2]
    assert len(of({}, {}, {"seed": [0, 1]})) == 2


def test_the_words_of_a_run_tell_a_compilation_that_is_not_the_backend_s_usual_one() -> None:
    both = {"backend": ["tensorflow", "jax"], "engine": "fit", "jit": [False, True]}
    assert [c.words for c in of(both)] == [
        "mlp, sgd, tensorflow, fit, numpy, batch 16",
        "mlp, sgd, tensorflow, fit, jit, numpy, batch 16",
        "mlp, sgd, jax, fit, no jit, numpy, batch 16",
        "mlp, sgd, jax, fit, numpy, batch 16",
    ]


@each("name", sorted(p.stem for p in spec.SWEEPS.glob("*.toml")))
def test_no_two_runs_of_a_shipped_sweep_have_the_same_words(name: str) -> None:
    body = spec.table(spec.find(name))
    if not spec.has_target(body):
        words = [c.words for c in expand(spec.from_table(name, body), BOTH).cases]
        assert len(words) == len(set(words))


def test_a_device_that_is_not_here_is_reported_before_anything_is_started() -> None:
    assert "device gpu is requested but not detected here" in problem(device="gpu")
    assert of({"device": "cpu"})


def test_patterns_set_factors_together() -> None:
    patterns = {"a": {"validation": True}, "b": {"drop_remainder": True, "seed": [1, 2]}}
    made = of({"pattern": ["a", "b"]}, patterns=patterns, defaults={"epochs": 7})
    assert [(c.validation, c.drop_remainder, c.seed) for c in made] == [
        (True, False, 0), (False, True, 1), (False, True, 2)]  # fmt: skip
    assert {c.epochs for c in made} == {7}


def test_an_accelerator_is_a_case_of_its_own_with_the_backend_and_device_of_its_nodes() -> None:
    v100 = Host(device="gpu", backends=("jax", "tensorflow"))
    cluster = Host(
        device="cpu", backends=("tensorflow",), accelerators={"v100": v100, "xeon": BOTH}
    )
    runs = [{"workload": "mlp", "batch": 16} | more
            for more in ({"accelerator": ["V100", "xeon"]}, {})]  # fmt: skip
    made = expanded(cluster, runs=runs).cases
    assert [(c.accelerator, c.device, c.backend) for c in made] == [
        ("v100", "gpu", "jax"),
        ("xeon", "cpu", "tensorflow"),
        (None, "cpu", "tensorflow"),
    ]
    assert len({c.case_id for c in made}) == 3
    assert made[2].case_id == of({})[0].case_id


@pytest.mark.parametrize(
    ("accelerators", "text"),
    [
        ({"v100": BOTH}, "no node has the accelerator 'h100'. The nodes have: v100."),
        ({}, "The nodes have: no declared accelerator."),
        (None, "Add --engine ray, or leave it out"),
    ],
)
def test_an_accelerator_that_no_node_has_is_refused(
    accelerators: dict[str, Host] | None, text: str
) -> None:
    assert text in problem(replace(BOTH, accelerators=accelerators), accelerator="h100")


def test_an_epoch_counted_in_steps_holds_that_many_full_batches() -> None:
    made = of({"batch": [16, 48], "steps_per_epoch": 10})
    assert [(c.train_samples, steps_in(c)) for c in made] == [(160, 10), (480, 10)]


@pytest.mark.parametrize(
    ("samples", "batch", "drop", "steps"),
    [(100, 10, False, 10), (101, 10, False, 11), (101, 10, True, 10), (10, 10, True, 1)],
)
def test_steps_count_the_smaller_last_batch_unless_it_is_dropped(
    samples: int, batch: int, steps: int, *, drop: bool
) -> None:
    one = case(train_samples=samples, batch=batch, drop_remainder=drop)
    assert steps_in(one) == steps


# -- what is filled in ---------------------------------------------------------------------------


def test_what_is_automatic_suits_the_machine() -> None:
    [plain] = of({})
    assert (plain.backend, plain.engine, plain.feed, plain.jit, plain.device) == (
        "tensorflow", "loop", "tf.data", False, "cpu")  # fmt: skip
    [jax] = expanded(Host(device="cpu", backends=("jax",)),
                     runs=[{"workload": "mlp", "batch": 16}]).cases  # fmt: skip
    assert (jax.backend, jax.engine, jax.feed, jax.jit) == ("jax", "fit", "numpy", True)
    [gpu] = expanded(Host(device="gpu", backends=("tensorflow",)),
                     runs=[{"workload": "mlp", "batch": 16, "device": "auto"}]).cases  # fmt: skip
    assert (gpu.device, gpu.jit) == ("gpu", True)


def test_auto_batches_are_groups_whose_members_have_any_batch() -> None:
    made = expanded(runs=[{"workload": "mlp", "batch": "auto", "steps_per_epoch": 5}])
    assert made.cases == ()
    [group] = made.automatic
    assert (group.at(64).batch, group.at(64).train_samples) == (64, 320)
    [whole] = expanded(runs=[{"workload": "mlp", "batch": "auto", "dataset": "digits"}]).automatic
    assert (whole.at(64).batch, whole.at(64).train_samples) == (64, 1_280)


# -- what cannot be measured ---------------------------------------------------------------------


@each(("factors", "result"), [
        ({"engine": "loop", "backend": "jax"}, "engine loop trains with TensorFlow only"),
        ({"engine": "predict"}, "engine predict is for mode inference"),
        ({"engine": "fit", "mode": "inference"}, "engine fit is for training"),
        ({"dataset": "synthetic-tokens"}, "mlp takes images, synthetic-tokens holds tokens"),
        ({"feed": "numpy"}, "engine loop is fed by tf.data, not by numpy"),
        ({"backend": "jax", "feed": "tf.data"}, "feed tf.data needs the tensorflow backend"),
        ({"engine": "fit", "feed": "numpy", "augmentation": True}, "feed numpy cannot augment"),
        ({"engine": "fit", "feed": "numpy", "storage": "storage"},
         "feed numpy reads from memory"),
        ({"engine": "fit", "feed": "directory"}, 'set storage = "storage"'),
        ({"workers": 2, "engine": "fit", "feed": "numpy"}, "workers is a factor of the feeds"),
        ({"validation": True, "validation_samples": 0}, "validation needs validation_samples"),
        ({"dataset": "digits", "train_samples": 2_000}, "digits has 1280 training samples"),
        ({"backend": "torch"}, "backend torch is not installed here"),
        ({"mode": "inference", "validation": True}, "inference has no storage, augmentation"),
    ])  # fmt: skip
def test_what_does_not_go_together_is_reported_with_what_to_do(
    factors: dict[str, Any], result: str
) -> None:
    assert result in problem(**factors)


def test_where_nothing_can_be_started_that_is_what_is_reported() -> None:
    assert "no backend can be started here" in problem(Host(device="cpu", backends=()))


def test_every_shipped_sweep_can_be_planned_where_both_backends_are() -> None:
    for path in sorted(spec.SWEEPS.glob("*.toml")):
        if not path.stem.startswith(
            ("digits-steps", "digits-families", "digits-stale")
        ):  # steps to a target have their own form
            made = expand(spec.read(path), BOTH)
            assert made.cases or made.automatic, path.name


# -- identity ------------------------------------------------------------------------------------


def test_every_field_but_the_attempt_makes_another_case() -> None:
    one = case()
    changed: dict[str, Any] = {"options": (("units", 8),), "workers": 2, "multiprocessing": True,
                               "threads": 1}  # fmt: skip
    for name in {f.name for f in fields(Case)} - {"attempt"}:
        value: Any = getattr(one, name)
        if name not in changed:
            changed[name] = f"{value}x" if isinstance(value, str | None) else value + 1
        assert replace(one, **{name: changed[name]}).case_id != one.case_id, name
    assert replace(one, attempt=2).case_id == one.case_id


def test_a_case_goes_through_json_and_stays_what_it_is() -> None:
    one = case(options=(("units", 8),), workers=2)
    assert cases.from_json(cases.to_json(one)) == one


def test_a_case_of_earlier_versions_keeps_its_identity() -> None:
    plain = Case(sweep="stub", workload="mlp", dataset="digits", train_samples=64,
                 validation_samples=0, batch=32, epochs=3)  # fmt: skip
    assert plain.case_id == "ddbdc666b01c2db5"
