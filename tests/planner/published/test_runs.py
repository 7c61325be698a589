"""A published row becomes a run with its source, or is left out with a reason."""

from __future__ import annotations

import functools
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from planner.catalog import Catalog
from planner.published import PublishedRow, RunRecords, configurations, run_records
from planner.runs import check_rows, table_from_rows
from planner.runs._records import complete
from planner.store.catalog import read_catalog
from tests.each import each

ROOT: Final = Path(__file__).resolve().parents[3]
NOON: Final = datetime(2026, 11, 22, 12, tzinfo=UTC)


@functools.cache
def catalog() -> Catalog:
    return read_catalog(ROOT / "data" / "catalog").catalog


def row(**cells: Any) -> PublishedRow:  # noqa: ANN401 - any cell
    usual: dict[str, Any] = {
        "file": "t.tsv", "line": 2, "source_id": "t", "repo_or_page": "github.com/a/b",
        "path": "docs/speed.md", "commit_or_date": "abcdef1", "licence": "MIT",
        "published": "2024-06", "model": "ResNet-50", "family": "cnn", "accelerator": "H100 80GB",
        "n_accelerators": 8, "global_batch": 256, "samples_per_s_total": 20_000.0,
    }  # fmt: skip
    return PublishedRow(**(usual | cells))


def made(*rows: PublishedRow) -> RunRecords:
    records = run_records(rows, catalog(), "a-set", NOON)
    assert check_rows([complete(r) for r in records.rows]) == []
    return records


def one(**cells: Any) -> dict[str, Any]:  # noqa: ANN401 - any cell
    [run] = made(row(**cells)).rows
    return run


def test_a_speed_becomes_a_run_with_system_batch_and_source() -> None:
    run = one()
    assert (run["model"], run["system_name"], run["throughput"]) == (
        "ResNet-50", "H100 SXM5 80GB", 20_000.0)  # fmt: skip
    assert (run["accelerators_per_node"], run["number_of_nodes"]) == (8, 1)
    assert (run["global_batch_size"], run["step_s"]) == (256, 0.0128)
    assert run["basis"] == "published"
    assert run["source_url"] == "https://github.com/a/b/blob/abcdef1/docs/speed.md"
    assert (run["repository"], run["source_path"], run["source_commit"], run["licence"]) == (
        "github.com/a/b", "docs/speed.md", "abcdef1", "MIT")  # fmt: skip
    assert run["published_on"] == "2024-06"


def test_tokens_per_second_and_a_length_become_sequences_per_second() -> None:
    run = one(
        model="Llama 3 8B", family="decoder", seq_len=8192, tokens_per_s_per_device=10_000.0,
        samples_per_s_total=None, global_batch=None,
    )  # fmt: skip
    assert run["throughput"] == pytest.approx(8 * 10_000 / 8192, rel=1e-5)
    assert run["sequence_length"] == 8192
    assert "suspect_reason" not in run


def test_a_layout_is_read_from_its_words() -> None:
    run = one(parallelism="tp4 pp2 cp1 ep8", micro_batch=2, activation_recompute="y")
    names = ("tensor_parallel", "pipeline_parallel", "expert_parallel", "micro_batch_size")
    assert [run[n] for n in names] == [4, 2, 8, 2]
    assert run["activation_recomputation"] is True


BENCHMARK: Final[dict[str, Any]] = {
    "repo_or_page": "github.com/mlcommons/training_results_v4.0", "path": "A/results/b/resnet",
    "model": "ResNet-50 v1.5 (MLPerf resnet)", "samples_per_s_total": None, "nodes": 1,
    "global_batch": 3_200, "time_to_train_h": 0.5,
    "note": "olympic mean of 5 runs; median epoch_num at stop 36; division closed; lr 10.5",
}  # fmt: skip


def test_a_benchmark_is_a_trial_that_reached_its_target() -> None:
    run = one(**BENCHMARK)
    samples = 36 * 1_281_167
    assert (run["model"], run["variant"], run["dataset"]) == ("ResNet-50", "MLPerf", "ImageNet")
    assert (run["time_to_target_s"], run["target_value"]) == (1800.0, 0.759)
    assert run["samples_to_target"] == samples
    assert run["steps_to_target"] == round(samples / 3_200)
    [last] = run["evaluations"]
    assert (last["step"], last["elapsed_s"], last["value"]) == (
        run["steps_to_target"], 1800.0, 0.759)  # fmt: skip
    assert run["throughput"] == pytest.approx(samples / 1800.0, rel=1e-5)
    assert (run["train_samples"], run["learning_rate"]) == (1_281_167, 10.5)


def test_bert_of_the_first_rounds_has_the_target_of_those_rounds() -> None:
    cells = BENCHMARK | {"model": "BERT-large (MLPerf bert)", "family": "encoder"}
    assert one(**cells | {"published": "2020-07"})["target_value"] == 0.712
    assert one(**cells | {"published": "2021-06"})["target_value"] == 0.72


BERT: Final[dict[str, Any]] = BENCHMARK | {
    "model": "BERT-large (MLPerf bert)", "family": "encoder", "params": 340_000_000,
    "published": "2022-06", "global_batch": 448,
}  # fmt: skip


@pytest.mark.parametrize("number", ["1", "6.5", "496", "978", "11718"])
def test_a_bert_log_of_epochs_or_steps_states_no_samples(number: str) -> None:
    run = one(**BERT | {"note": f"median epoch_num at stop {number}; division closed"})
    assert (run["time_to_target_s"], run["target_reached"]) == (1800.0, True)
    missing = ("throughput", "step_s", "samples_to_target", "steps_to_target", "evaluations")
    assert [name for name in missing if name in run] == []


def test_a_bert_log_of_samples_gives_speed_and_steps() -> None:
    run = one(**BERT | {"note": "median epoch_num at stop 2.5e+06; division closed"})
    assert run["samples_to_target"] == 2_500_000
    assert run["throughput"] == pytest.approx(2.5e6 / 1800.0, rel=1e-5)


def test_an_open_submission_of_a_larger_network_is_no_run_of_bert() -> None:
    records = made(row(**BERT | {"path": "Google/results/tpu-v4-4096-TF/bert"}))
    assert records.rows == []
    assert records.left_out == {"its open submission trained a larger network": 1}


def test_of_successive_releases_the_newest_is_kept_and_the_others_are_counted() -> None:
    old = row(source_id="megatron_bridge", published="2025-09", note="25.09")
    new = row(source_id="megatron_bridge", published="2026-08", note="26.08", line=3,
              samples_per_s_total=21_000.0)  # fmt: skip
    records = made(old, new)
    assert [r["throughput"] for r in records.rows] == [21_000.0]
    assert records.earlier == 1
    assert records.rows[0]["note"] == (
        "26.08; 1 earlier release of the same configuration left out"
    )


def test_equal_configurations_of_one_table_are_repeats_and_copied_rows_are_one() -> None:
    again = row(samples_per_s_total=20_100.0, line=3)
    records = made(row(), again, row(line=4))
    assert [(r["throughput"], r.get("repeat")) for r in records.rows] == [
        (20_000.0, None), (20_100.0, 1)]  # fmt: skip
    assert len(set(table_from_rows(records.rows)["run_id"].to_pylist())) == 2


def test_a_speed_above_the_peak_is_kept_and_says_so() -> None:
    run = one(samples_per_s_total=2_000_000.0)
    assert "exceed the peak of the H100 SXM5 80GB" in run["suspect_reason"]


@pytest.mark.parametrize(
    ("model", "family", "factor"),
    [("ResNet-50", "cnn", 1e-3), ("Llama 3 8B", "decoder", 0.05)],
)
def test_a_speed_far_below_that_of_any_training_is_kept_and_says_so(
    model: str, family: str, factor: float
) -> None:
    of = {"model": model, "family": family, "seq_len": 8192, "n_accelerators": 1}
    flops = one(**of)["train_flops_per_sample"]
    least = factor * 989.4e12 / flops
    reason = one(**of, samples_per_s_total=0.9 * least, global_batch=1)["suspect_reason"]
    assert "% of the peak of the H100 SXM5 80GB is unusually low" in reason
    assert "suspect_reason" not in one(**of, samples_per_s_total=1.1 * least, global_batch=1)


@pytest.mark.parametrize("samples_per_s", [2_000_000.0, 20_000.0, 10.0])
def test_a_run_is_suspect_where_described_workloads_leave_its_row_out(samples_per_s: float) -> None:
    of = row(samples_per_s_total=samples_per_s, precision=None)
    usable, left_out = configurations([of], catalog())
    [run] = made(of).rows
    reasons = [line.split(": ", 1)[1] for line in left_out]
    assert reasons == ([run["suspect_reason"]] if "suspect_reason" in run else [])
    assert bool(usable) is ("suspect_reason" not in run)


def test_a_run_on_an_accelerator_without_a_published_peak_is_not_suspect() -> None:
    assert "suspect_reason" not in one(accelerator="Gaudi", samples_per_s_total=1000.0)


def test_a_mixture_of_experts_has_the_active_parameters_of_its_network() -> None:
    of = {"family": "moe", "seq_len": 4096, "n_accelerators": 64, "samples_per_s_total": 100.0}
    run = one(model="GPT OSS 120B", **of)
    assert (run["params"], run["active_params"]) == (116_800_000_000, 5_100_000_000)
    assert one(model="Mixtral 8x7B", active_params=13 * 10**9, **of)["active_params"] == 13 * 10**9
    assert "active_params" not in one(model="Llama 3 8B", **of | {"family": "decoder"})


def test_a_step_of_hours_of_an_uncounted_network_is_suspect() -> None:
    of = {"model": "Own recommender", "family": "recsys", "global_batch": 1_048_576}
    assert "is unusually long" in one(**of, samples_per_s_total=142.9)["suspect_reason"]
    assert "suspect_reason" not in one(**of, samples_per_s_total=142.9e6)


def test_half_precision_of_a_turing_laptop_card_is_compared_with_its_tensor_cores() -> None:
    of = {"accelerator": "RTX 2060 MaxQ", "n_accelerators": 1, "model": "vgg19", "global_batch": 12}
    assert "suspect_reason" not in one(**of, samples_per_s_total=96.0, precision="fp16")
    assert "in float32" in one(**of, samples_per_s_total=96.0, precision="fp32")["suspect_reason"]


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"accelerator": "Abacus 3000"}, "the accelerator is not in the catalogue"),
        ({"n_accelerators": None}, "the accelerator count is not stated"),
        (
            {"samples_per_s_total": None, "model_tflops_per_device": 400.0},
            "it states no speed in samples and no time to a target",
        ),
        ({"note": "Evaluation performance: one GPU"}, "it is no training"),
    ],
)
def test_what_is_no_run_is_counted_with_its_reason(cells: dict[str, Any], reason: str) -> None:
    records = made(row(**cells))
    assert records.rows == []
    assert records.left_out == {reason: 1}


@each("name", ["whisper", "vit-pytorch", "t5", "BERT (fit)", "Qwen", "vit_b", "SD"])
def test_a_name_without_a_size_gets_no_parameters(name: str) -> None:
    run = one(model=name, family="speech", n_accelerators=1, samples_per_s_total=826.17)
    assert "params" not in run
    assert "arge" not in run["model"]
    assert "ase" not in run["model"]


def test_milabench_s_whisper_is_the_encoder_of_the_smallest_network() -> None:
    assert one(model="whisper", family="speech")["model"] == "Whisper tiny encoder"


def test_a_benchmark_and_a_stated_size_keep_their_parameters() -> None:
    assert one(model="TensorFlow/LanguageModeling/BERT", family="encoder")["params"] > 3e8
    assert one(model="whisper_small [common_voice]", family="speech")["params"] > 2e8
