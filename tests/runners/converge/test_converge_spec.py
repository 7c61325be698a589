"""Sweeps of steps to a target: read, checked, and what follows from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runners.converge.spec import ConvergePlan, Optimizer, from_table, of_networks, read
from runners.plan.spec import SWEEPS, SpecError
from tests.runners.converge_stand_in import BODY


def _problems(body: dict[str, Any]) -> str:
    with pytest.raises(SpecError) as result:
        from_table("broken", body)
    return "\n".join(result.value.problems)


def test_everything_that_is_wrong_is_reported_at_once() -> None:
    result = _problems(
        {
            "titel": "x",
            "workload": "mlp",
            "options": {"units": 64, "width": 3},
            "dataset": "synthetic-tokens",
            "batch": [8, 8],
            "seeds": 0,
            "target": 2.5,
            "sampling": "at random",
            "learning_rates": {"factor": 1, "count": 2, "widen": 1},
            "optimizers": {"sgdm": {"lowest_rate": 1}, "adam": {}, "sgd": {"lowest_rate": 0}},
            "limits": {"patience": 0.5, "steps": True},
        }
    )
    for part in (
        "titel: is unknown. Did you mean title?",
        "title: is missing",
        "options.width: is unknown",
        "dataset: synthetic-tokens holds tokens, mlp takes images",
        "batch: [8, 8] has a size twice",
        "seeds: is 0",
        "target: is 2.5; it must be a validation error between 0 and 1",
        "sampling: is 'at random'",
        "learning_rates.factor: is 1",
        "learning_rates.count: is 2",
        "learning_rates.widen: is unknown. Did you mean",
        "optimizers.sgdm: is unknown. Did you mean sgd?",
        "optimizers.adam.lowest_rate: is missing",
        "optimizers.sgd.lowest_rate: is 0",
        "limits.patience: is 0.5",
        "limits.steps: is True",
    ):
        assert part in result


def test_a_table_of_wrong_types_is_refused_and_not_a_crash() -> None:
    result = _problems({"title": 3, "workload": ["mlp"], "batch": 8, "target": "low",
                      "learning_rates": [1], "optimizers": {"sgd": 0.1}, "limits": 3})  # fmt: skip
    assert "workload: is ['mlp']" in result
    assert "optimizers.sgd: is 0.1; it must be a table" in result


def test_a_batch_larger_than_the_set_needs_sampling_with_replacement() -> None:
    body = {**BODY, "batch": [64, 2048]}
    assert "2048 is more than the 1280 training samples" in _problems(body)
    allowed = from_table("allowed", {**body, "sampling": "with replacement"})
    assert allowed.batch == (64, 2048)


def test_a_real_set_cannot_give_more_samples_than_it_holds() -> None:
    assert "the data set holds 1280" in _problems({**BODY, "train_samples": 1281})


def test_a_file_that_is_no_toml_is_reported_by_name(tmp_path: Path) -> None:
    (tmp_path / "torn.toml").write_text("title = ")
    with pytest.raises(SpecError, match=r"torn\.toml"):
        read(tmp_path / "torn.toml")


def test_shipped_sweeps_can_be_read() -> None:
    plans = [plan for p in sorted(SWEEPS.glob("digits-steps*.toml")) for plan in read(p)]
    full = next(p for p in plans if p.name == "digits-steps-to-target")
    assert len(plans) == 2
    assert (len(full.optimizers), full.batch[0], full.batch[-1]) == (3, 8, 2048)
    assert (full.learning_rates.count, full.seeds, full.target) == (11, 5, 0.025)


@pytest.mark.parametrize(("batch", "steps"), [(8, 8), (32, 4), (128, 1), (2048, 1)])
def test_large_batches_are_evaluated_at_every_step(batch: int, steps: int) -> None:
    assert _plan().interval(batch) == steps
    assert from_table("x", {**BODY, "evaluate_every": 5}).interval(batch) == 5


def test_the_step_limit_falls_with_the_batch_as_steps_to_a_target_do() -> None:
    plan = from_table("x", {**BODY, "limits": {"steps": 100, "epochs": 2}})
    assert plan.steps_limit(8) == 100 + 2 * 1280 // 8
    assert plan.steps_limit(1280) == 102


def test_more_batch_sizes_belong_to_the_same_set_but_another_target_does_not() -> None:
    assert _plan().digest == from_table("sweep", {**BODY, "batch": [16]}).digest
    assert _plan().digest != from_table("sweep", {**BODY, "target": 0.1}).digest


def _plan() -> ConvergePlan:
    return from_table("sweep", BODY)


def test_the_families_of_the_article_share_their_batch_sizes_and_target() -> None:
    plans = read(SWEEPS / "digits-families.toml")
    assert [p.workload for p in plans] == [
        "mlp", "row-lstm", "simple-cnn", "row-transformer", "vgg5", "resnet8-unnormalised",
    ]  # fmt: skip
    assert {(p.batch, p.seeds, p.target) for p in plans} == {
        ((4, 8, 16, 32, 64, 128, 256, 512, 1024), 5, 0.05)
    }
    assert all(p.at_once and len(p.optimizers) == 3 for p in plans)
    assert len({p.digest for p in plans}) == 6


def test_a_network_has_its_own_options_and_optimisers_and_the_rest_of_the_table() -> None:
    shared = {k: v for k, v in BODY.items() if k != "workload"}
    own = {"workload": "row-lstm", "optimizers": {"momentum": {"lowest_rate": 0.5}}}
    wide = {"workload": "mlp", "options": {"units": 8}}
    first, second = of_networks("several", {**shared, "networks": [wide, own]})
    assert (first.workload, first.options, list(first.optimizers)) == (
        "mlp", {"units": 8}, ["sgd", "adam"],
    )  # fmt: skip
    assert (second.workload, dict(second.optimizers)) == (
        "row-lstm", {"momentum": Optimizer(lowest_rate=0.5)},
    )  # fmt: skip
    assert first.batch == second.batch


@pytest.mark.parametrize(
    ("networks", "words"),
    [
        ([], "networks: must be tables, as [[networks]]."),
        ([{"workload": "mpl"}], "networks 1: workload: is 'mpl'"),
        ([{"workload": "mlp", "seeds": 3}], "networks 1: seeds: is unknown."),
        ([{"workload": "mlp"}, {"workload": "lstm"}], "lstm takes tokens"),
        ([{"workload": "mlp"}, {"workload": "mlp"}], "MLP 512-512 is listed twice."),
    ],
)
def test_problems_of_networks_are_reported(networks: list[dict[str, Any]], words: str) -> None:
    shared = {k: v for k, v in BODY.items() if k != "workload"}
    with pytest.raises(SpecError) as result:
        of_networks("broken", {**shared, "networks": networks})
    assert words in "\n".join(result.value.problems)


def test_a_sweep_can_name_the_batch_from_which_every_step_is_evaluated() -> None:
    plan = from_table("fine", {**BODY, "fine_batch": 512})
    assert [plan.interval(b) for b in (4, 64, 128, 512)] == [8, 8, 4, 1]
    assert plan.digest != _plan().digest
