from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from runners.plan import spec
from runners.plan.cases import Case, parse, to_json
from runners.plan.expand import Host, expand
from tests.each import each
from tests.faults.outcomes import FULL
from tests.fork_server import JAX, ROOT, executable
from tests.runners.networks import answer

HOST = Host(device="cpu", backends=("tensorflow", "jax"))


# -- names, without Keras ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind", "share"),
    [("int8", "int8", 0.0), ("pruned 80 %", "pruned", 0.8), ("structured 5 %", "structured", 0.05),
     ("distilled", "distilled", 0.0)],
)  # fmt: skip
def test_a_variant_s_name_says_what_is_changed_and_how_much(
    name: str, kind: str, share: float
) -> None:
    found = parse(name)
    assert (found.kind, found.share) == (kind, share)


@pytest.mark.parametrize("name", ["int4", "pruned", "pruned 80%", "pruned 0 %", "structured 100 %"])
def test_an_unknown_variant_is_an_error_that_lists_the_known(name: str) -> None:
    with pytest.raises(ValueError, match=r"is unknown. Choose from: int8, pruned <1 to 99> %, "):
        parse(name)


def problems(**factors: Any) -> list[str]:  # noqa: ANN401 - any factor
    """What is wrong with a sweep of one block."""
    block = {"workload": "mlp", "dataset": "digits", "mode": "inference", "batch": 8, **factors}
    try:
        expand(spec.from_table("t", {"title": "t", "runs": [block]}), HOST)
    except spec.SpecError as error:
        return [text.removeprefix("[[runs]] block 1: ") for text in error.problems]
    return []


def test_a_sweep_with_what_cannot_be_made_says_what_to_change() -> None:
    resnet8 = {"workload": "resnet8", "dataset": "synthetic-cifar10"}
    assert problems(variant="quantised") == [
        "variant 'quantised' is unknown. Choose from: int8, pruned <1 to 99> %, "
        "structured <1 to 99> %, distilled."
    ]
    assert problems(**resnet8, variant="structured 50 %") == [
        "variant 'structured 50 %' can be made of mlp, simple-cnn, not of resnet8. "
        "Leave it out for this workload, or use int8 or pruned."
    ]
    assert problems(workload="wide-resnet", variant="distilled")[0].startswith(
        "variant 'distilled' can be made of mlp, simple-cnn, vgg11, resnet8, not of wide-resnet."
    )
    assert problems(variant="int8", precision="bfloat16") == [
        'int8 is made from a float32 network, not bfloat16. Set precision = "float32".'
    ]
    assert problems(steps_per_execution=4) == [
        "steps_per_execution is for training: each prediction is timed singly. Leave it out."
    ]


def test_weights_of_two_bytes_are_for_inference_only() -> None:
    assert problems(precision="bfloat16") == []
    assert problems(precision="float16", mode="training") == [
        "precision float16 is for mode inference: 16-bit weights lose updates. "
        "Train in mixed_float16."
    ]


def test_the_network_as_it_is_can_stand_beside_its_variants_in_a_list() -> None:
    block = {"workload": "mlp", "dataset": "digits", "mode": "inference", "batch": 8,
             "variant": ["none", "int8"]}  # fmt: skip
    cases = expand(spec.from_table("t", {"title": "t", "runs": [block]}), HOST).cases
    assert [case.variant for case in cases] == [None, "int8"]


def test_the_shipped_sweep_asks_for_every_kind_of_variant_up_to_batch_1024() -> None:
    cases = expand(spec.read(spec.find("inference")), HOST).cases
    kinds = {parse(c.variant).kind if c.variant else None for c in cases}
    assert kinds == {None, "int8", "pruned", "structured", "distilled"}
    assert {c.mode for c in cases} == {"inference"}
    assert {c.workload for c in cases} == {"mlp", "simple-cnn", "resnet8"}
    assert (min(c.batch for c in cases), max(c.batch for c in cases)) == (1, 1024)
    assert all(c.drop_remainder or c.train_samples % c.batch == 0 for c in cases)


# -- forms of two networks that know the digits --------------------------------------------------

NETWORKS: dict[str, dict[str, Any]] = {"mlp": {"units": 64}, "simple-cnn": {"width": 8}}
FORMS: list[tuple[str | None, str]] = [
    (None, "float32"), (None, "bfloat16"), ("int8", "float32"), ("pruned 73 %", "float32"),
    ("structured 50 %", "float32"), ("distilled", "float32"),
]  # fmt: skip
CUT_OR_CONVOLVED = {None, "int8", "structured 50 %"}
"""What is done otherwise to convolutions than to dense layers."""
WANTED: list[tuple[str, str | None, str]] = [
    (name, *form)
    for name in NETWORKS
    for form in FORMS
    if FULL or name == "mlp" or (form[0] in CUT_OR_CONVOLVED and form[1] == "float32")
]
OTHERS: dict[str, dict[str, int]] = {"transformer": {"layers": 1, "width": 8, "heads": 2}}
full = pytest.mark.skipif(not FULL, reason="`make faults` runs it")
SEEN = 25_600 if FULL else 12_800
"""Samples of a training: half are enough for nine digits in ten."""
if FULL:
    OTHERS |= {
        "resnet8": {"width": 4}, "lstm": {"units": 8}, "vgg11": {"width": 2},
        "wide-resnet": {"k": 1, "n": 1},
    }  # fmt: skip
MADE = """
import json
import keras
import numpy as np
from runners.plan.cases import from_json
from runners.child.forms import flops
from runners.child.forms import variants
from runners.child.engines import predict
from runners.workloads import DATASETS
told, known, train = [], {}, predict.train
usual, predict.SEEN = predict.SEEN, SEEN
def once(model, data, seen=usual):  # a network learns once, for all of its forms
    if seen != usual:  # a pruned one recovers
        return train(model, data, seen)
    if case.workload not in known:
        train(model, data, SEEN)
        known[case.workload] = model.get_weights()
    model.set_weights(known[case.workload])
predict.train = once
for body in json.loads(FORMS):
    keras.utils.clear_session()  # names of layers start from the first again
    case = from_json(body)
    made = variants.make(case)
    kernels = [keras.ops.convert_to_numpy(w) for w in variants.kernels(made.model)]
    counted = flops.by_hand(variants.counted(case, made.model))
    told.append({**made.columns, **made.extra, "forward": counted[0],
                 "zeros": [[k.size, int((k == 0).sum())] for k in kernels]})
keras.utils.clear_session()
predict.train = train
"""
CHANGED = """
from runners.plan.cases import Case
from runners.workloads import build
digits = DATASETS["digits"]
x = np.random.default_rng(0).integers(0, 256, (5, 8, 8, 1), dtype=np.uint8)
changed = {}
for name, options in {"mlp": {"units": 12}, "simple-cnn": {"width": 4}}.items():
    model = build(name, digits, options)
    for layer in model.layers[:-1]:  # every third unit is dead
        if weights := layer.get_weights():
            layer.set_weights([w * (np.arange(w.shape[-1]) % 4 > 0) for w in weights])
    small = variants.structured(model, 0.25)
    changed[name] = [np.asarray(model(x)).tolist(), np.asarray(small(x)).tolist()]
for name, options in json.loads(OTHERS).items():
    data = "synthetic-tokens" if name in {"lstm", "transformer"} else "synthetic-cifar10"
    def make(variant, precision):
        return variants.make(Case(sweep="t", workload=name, options=tuple(options.items()),
            dataset=data, train_samples=8, validation_samples=0, mode="inference", batch=2,
            epochs=1, variant=variant, precision=precision))
    given = np.zeros((2, *DATASETS[data].shape), "uint8")
    forms = [make(None, "float16"), make("int8", "float32"), make("pruned 50 %", "bfloat16")]
    changed[name] = [[np.asarray(m.model(given)).dtype.name, sorted(m.columns),
                      m.extra["params_by_dtype"]] for m in forms]
print(json.dumps([told, changed]))
"""


def a_case(workload: str, variant: str | None, precision: str = "float32", **more: Any) -> Case:  # noqa: ANN401
    return Case(**{
        "sweep": "t", "workload": workload, "options": tuple(NETWORKS[workload].items()),
        "dataset": "digits", "train_samples": 256, "validation_samples": 0, "mode": "inference",
        "variant": variant, "batch": 64, "epochs": 2, "precision": precision, **more,
    })  # fmt: skip


def with_form(variant: str | None, precision: str = "float32") -> list[str]:
    """The networks of which a form is made."""
    return [name for name in NETWORKS if (name, variant, precision) in WANTED]


Form = dict[str, Any]
Forms = dict[tuple[str, str | None, str], Form]


@pytest.fixture(scope="module")
def result() -> tuple[list[Form], dict[str, Any]]:
    """What one process with TensorFlow tells of all forms, and of changes of any network."""
    wanted = [to_json(a_case(*form)) for form in WANTED]
    given = f"FORMS, OTHERS, SEEN = {json.dumps(wanted)!r}, {json.dumps(OTHERS)!r}, {SEEN}\n"
    forms, changed = answer(f"{given}{MADE}{CHANGED}", "tensorflow")
    return forms, changed


@pytest.fixture(scope="module")
def forms(result: tuple[list[Form], dict[str, Any]]) -> Forms:
    """Columns, extra, forward FLOP and zeros in kernels of every form of both networks."""
    return dict(zip(WANTED, result[0], strict=True))


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_recognises_more_than_nine_in_ten_digits(name: str, forms: Forms) -> None:
    result = forms[name, None, "float32"]
    assert result["evaluation_metric"] == "accuracy"
    assert result["evaluation_higher_is_better"] is True
    assert result["validation_samples"] == 517
    assert result["final_metric"] == result["float32_accuracy"] > 0.9


@pytest.mark.parametrize("name", NETWORKS)
def test_fewer_bits_cost_at_most_a_few_points(name: str, forms: Forms) -> None:
    before = forms[name, None, "float32"]["final_metric"]
    assert abs(forms[name, "int8", "float32"]["final_metric"] - before) < 0.03
    if name in with_form(None, "bfloat16"):
        assert abs(forms[name, None, "bfloat16"]["final_metric"] - before) < 0.03


def test_eight_bits_reach_dense_layers_but_no_convolutions(forms: Forms) -> None:
    mlp, cnn = (forms[name, "int8", "float32"] for name in NETWORKS)
    assert mlp["int8_layers"] == ["dense", "dense_1", "logits"]
    assert cnn["int8_layers"] == ["dense", "logits"]
    dense = 2 * 2 * 16 * 128 + 128 * 10
    assert cnn["params_by_dtype"]["int8"] == dense
    assert cnn["int8_share_of_params"] == pytest.approx(dense / cnn["params"])


@pytest.mark.parametrize("name", NETWORKS)
def test_eight_bits_change_bytes_but_neither_parameters_nor_operations(
    name: str, forms: Forms
) -> None:
    plain, eight = forms[name, None, "float32"], forms[name, "int8", "float32"]
    assert (eight["params"], eight["forward"]) == (plain["params"], plain["forward"])
    assert plain["weight_bytes"] == 4 * plain["params"]
    assert eight["weight_bytes"] < plain["weight_bytes"] / 2


@pytest.mark.parametrize("name", with_form(None, "bfloat16"))
def test_all_weights_but_the_logits_have_two_bytes_in_bfloat16(name: str, forms: Forms) -> None:
    result = forms[name, None, "bfloat16"]
    logits = (64 if name == "mlp" else 128) * 10 + 10
    assert result["params_by_dtype"] == {"bfloat16": result["params"] - logits, "float32": logits}
    assert result["weight_bytes"] == 2 * result["params"] + 2 * logits


@pytest.mark.parametrize("name", with_form("pruned 73 %"))
def test_pruning_leaves_exactly_the_asked_share_of_zeros_in_each_kernel(
    name: str, forms: Forms
) -> None:
    result = forms[name, "pruned 73 %", "float32"]
    assert [zeros for _, zeros in result["zeros"]] == [
        round(0.73 * size) for size, _ in result["zeros"]
    ]
    assert result["params"] == forms[name, None, "float32"]["params"]
    assert result["nonzero_params"] <= result["params"] - sum(zeros for _, zeros in result["zeros"])
    assert result["final_metric"] > 0.9


def test_structured_pruning_leaves_the_parameters_that_a_hand_counts(forms: Forms) -> None:
    mlp, cnn = (forms[name, "structured 50 %", "float32"] for name in NETWORKS)
    assert mlp["params"] == (64 * 32 + 32) + (32 * 32 + 32) + (32 * 10 + 10)
    assert cnn["params"] == ((9 * 4 + 4) + (9 * 4 * 8 + 8) + (2 * 2 * 8 * 64 + 64) + (64 * 10 + 10))
    assert mlp["forward"] == 2 * (64 * 32 + 32 * 32 + 32 * 10)
    assert min(mlp["final_metric"], cnn["final_metric"]) > 0.9


def test_a_student_is_smaller_than_its_teacher_and_still_knows_the_digits(forms: Forms) -> None:
    students = {name: forms[name, "distilled", "float32"] for name in with_form("distilled")}
    titles = {"mlp": "MLP 16-16", "simple-cnn": "simple CNN 2-4"}
    assert students["mlp"]["params"] == (64 * 16 + 16) + (16 * 16 + 16) + (16 * 10 + 10)
    for name, result in students.items():
        assert result["student"] == titles[name]
        assert result["params"] < forms[name, None, "float32"]["params"]
        assert result["forward"] < forms[name, None, "float32"]["forward"]
        assert result["final_metric"] > 0.7


# -- what pruning and casting do to any network --------------------------------------------------


@pytest.fixture(scope="module")
def changed(result: tuple[list[Form], dict[str, Any]]) -> dict[str, Any]:
    """Logits before and after dead units were cut out; types and columns of other networks."""
    return result[1]


@pytest.mark.parametrize("name", ["mlp", "simple-cnn"])
def test_cutting_out_dead_units_leaves_the_logits_as_they_were(
    name: str, changed: dict[str, Any]
) -> None:
    before, after = changed[name]
    for rows in zip(before, after, strict=True):
        assert rows[1] == pytest.approx(rows[0], rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", OTHERS)
def test_a_synthetic_set_gets_its_variant_but_no_accuracy(
    name: str, changed: dict[str, Any]
) -> None:
    half, eight, pruned = changed[name]
    assert {result[0] for result in (half, eight, pruned)} == {"float32"}, "logits"
    assert {tuple(result[1]) for result in (half, eight, pruned)} == {("params",)}
    assert set(half[2]) == {"float16", "float32"}
    assert set(eight[2]) == {"int8", "float32"}
    assert set(pruned[2]) == {"bfloat16", "float32"}


# -- real children -------------------------------------------------------------------------------


def child(case: Case, *, fresh: bool = False) -> dict[str, dict[str, Any]]:
    """The last event of each kind of a measured child, started as the supervisor starts it."""
    if case.backend == "jax" and not JAX.exists():
        pytest.skip("there is no .venv-jax; `make jax` makes it")
    python = sys.executable if fresh else executable(case.backend)
    request = json.dumps({"case": to_json(case), "spawned_at_s": 0, "cache": ""})
    quiet = {"KERAS_BACKEND": case.backend, "TF_CPP_MIN_LOG_LEVEL": "3",
             "CUDA_VISIBLE_DEVICES": "-1"}  # fmt: skip
    done = subprocess.run(
        [python, "-m", "runners.child"], cwd=ROOT, env={**os.environ, **quiet}, input=request,
        capture_output=True, text=True,
    )  # fmt: skip
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"event"')]
    assert done.returncode == 0, events[-1:]
    return {event["event"]: event for event in events}


@pytest.fixture(scope="module")
def children() -> dict[str, dict[str, dict[str, Any]]]:
    """Two unprepared forms: each trained, changed and timed by a child of its own."""
    structured = {"engine": "predict", "timing": "per step"}
    return {
        "mlp": child(a_case("mlp", "int8"), fresh=True),
        "simple-cnn": child(a_case("simple-cnn", "structured 50 %", **structured)),
    }


@full
@pytest.mark.parametrize("name", NETWORKS)
def test_every_form_starts_from_the_same_float32_network_in_whatever_process(
    name: str, children: dict[str, dict[str, dict[str, Any]]], forms: Forms
) -> None:
    plain = forms[name, None, "float32"]
    assert children[name]["built"]["extra"]["float32_accuracy"] == plain["final_metric"]


@full
def test_a_seed_gives_the_same_accuracy_in_another_process(
    children: dict[str, dict[str, dict[str, Any]]], forms: Forms
) -> None:
    result, before = children["mlp"], forms["mlp", "int8", "float32"]
    assert result["built"]["columns"]["final_metric"] == before["final_metric"]
    assert result["built"]["extra"]["nonzero_params"] == before["nonzero_params"]


@full
def test_operations_are_those_of_the_smaller_network_that_was_timed(
    children: dict[str, dict[str, dict[str, Any]]], forms: Forms
) -> None:
    result, before = children["simple-cnn"], forms["simple-cnn", "structured 50 %", "float32"]
    assert result["epoch"]["samples"] == 256
    assert result["epoch"]["loss"] is None
    assert len(result["epoch"]["step_seconds"]) == 256 // 64
    assert result["result"]["extra"]["flops_by_hand"] == before["forward"]
    assert result["result"]["columns"]["train_flops_method"].endswith(", forward")
    counted = result["result"]["columns"]["train_flops_per_sample"]
    assert counted == pytest.approx(before["forward"], rel=0.1), "bias, ReLU, pooling come on top"


@each("engine", ["loop", *(["predict"] if FULL else [])])
def test_int8_runs_on_jax_without_tensorflow(engine: str) -> None:
    case = a_case("mlp", "int8", backend="jax", engine=engine, jit=True)
    result = child(case)
    assert result["imported"]["extra"] == {}, "JAX cannot be asked for its threads"
    before = result["built"]["extra"]["float32_accuracy"]
    assert before > 0.9
    assert abs(result["built"]["columns"]["final_metric"] - before) < 0.03
    assert result["result"]["extra"]["flops_by_hand"] == 2 * (64 * 64 + 64 * 64 + 64 * 10)
