from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from planner.networks import layers_width_of
from planner.published import (
    COLUMNS,
    Configuration,
    PublishedRow,
    configurations,
    faults,
    format_of,
    half_peak,
    network_key,
    own_peak,
    read_rows,
    rows_of,
    workload_of,
)
from planner.store.catalog import read_catalog
from tests.each import each

ROOT: Final = Path(__file__).parents[3]
CATALOG: Final = read_catalog(ROOT / "data" / "catalog").catalog
LIBRARY: Final = ROOT.parent / "shared" / "library"
MINIMAL: Final = {"source_id": "somewhere", "n_accelerators": "8", "accelerator": "H100 80GB"}
LLAMA: Final = {
    **MINIMAL, "model": "Llama 3 8B", "family": "decoder", "params": "8000000000",
    "seq_len": "8192", "precision": "bf16", "global_batch": "128",
}  # fmt: skip
RESNET: Final = {**MINIMAL, "model": "resnet50", "family": "cnn", "precision": "amp"}


def _table(*rows: dict[str, str]) -> str:
    lines = ["\t".join(COLUMNS), *("\t".join(r.get(c, "") for c in COLUMNS) for r in rows)]
    return "\n".join(lines)


def _cleaned(*rows: dict[str, str]) -> tuple[list[Configuration], list[str]]:
    found, skipped = rows_of(_table(*rows), "made.tsv")
    assert skipped == []
    return configurations(found, CATALOG)


def _one(**columns: str) -> Configuration:
    found, left_out = _cleaned({**LLAMA, **columns})
    assert left_out == []
    return found[0]


# -- cells that keep a row from being a question --------------------------------------------------


@each(
    ("column", "cell", "value"),
    [
        ("n_accelerators", "3-5", "is '3-5', no single number"),
        ("n_accelerators", "nan", "is 'nan', no single number"),
        ("n_accelerators", "n/a", "is 'n/a', no single number"),
        ("n_accelerators", "", "is empty, no single number"),
        ("family", "martian", "is 'martian', no family"),
        ("family", "", "is empty, no family"),
        ("tokens_per_s_per_device", "1e30", "is '1e+30', an implausible speed"),
        ("params", "7-8", "is '7-8', no single number"),
    ],
)
def test_a_row_that_a_cell_keeps_from_being_asked_is_named(
    column: str, cell: str, value: str
) -> None:
    whole = {**LLAMA, "model": "Own net", "tokens_per_s_per_device": "9000",
             "throughput_unit": "tokens/s total"}  # fmt: skip
    rows, skipped = rows_of(_table(whole, {**whole, column: cell}), "made.tsv")
    assert skipped == []
    [line] = faults(rows, CATALOG)
    assert line.startswith(f"made.tsv, line 3: {column} {value}")
    assert line.endswith("Described workloads leave the row out.")


def test_a_precision_that_is_no_number_format_is_named() -> None:
    rate = {**LLAMA, "tokens_per_s_per_device": "9000"}
    rows, _ = rows_of(_table(rate, {**rate, "precision": "bananas"}), "made.tsv")
    [line] = faults(rows, CATALOG)
    assert line.startswith("made.tsv, line 3: precision is 'bananas', no number format.")


def test_an_odd_count_is_named_where_a_usual_server_is_assumed() -> None:
    rate = {**LLAMA, "tokens_per_s_per_device": "9000", "n_accelerators": "4 to 8"}
    [line] = faults(rows_of(_table(rate), "made.tsv")[0], CATALOG)
    assert line.endswith("'4 to 8', no single number. 8 accelerators are assumed.")


def test_a_row_of_more_nodes_than_accelerators_is_skipped_by_name() -> None:
    rows, skipped = rows_of(_table(LLAMA, {**LLAMA, "nodes": "999999"}), "made.tsv")
    assert len(rows) == 1
    assert len(skipped) == 1
    assert "line 3" in skipped[0]
    assert "has 999,999 nodes for 8 accelerators" in skipped[0]


def test_equal_reasons_share_a_line_with_every_row_after_three() -> None:
    bad = {**LLAMA, "n_accelerators": "", "samples_per_s_total": "17"}
    lines = faults(rows_of(_table(*[bad] * 9), "made.tsv")[0], CATALOG)
    assert [line.split(":")[0] for line in lines[:3]] == [f"made.tsv, line {n}" for n in (2, 3, 4)]
    assert lines[3].startswith("made.tsv, lines 5 to 10: n_accelerators likewise, ")
    assert len(lines) == 4


def test_sound_rows_of_no_task_are_not_named() -> None:
    speech = {**RESNET, "model": "Own recogniser", "family": "speech", "samples_per_s_total": "9"}
    unknown = {**LLAMA, "accelerator": "No such card", "n_accelerators": ""}
    assert faults(rows_of(_table(speech, unknown, LLAMA), "made.tsv")[0], CATALOG) == []


@pytest.mark.skipif(not LIBRARY.is_dir(), reason="the library is not beside this checkout")
def test_the_library_has_no_false_alarms_by_the_hundred() -> None:
    assert len(faults(read_rows(LIBRARY)[0], CATALOG)) < 60


# -- one speed, whatever the unit -----------------------------------------------------------------


@each(
    "columns",
    [
        {"tokens_per_s_per_device": "8192"},
        {"samples_per_s_total": "8"},
        {"throughput_value": "8192", "throughput_unit": "tokens/s/GPU"},
        {"throughput_value": "65536", "throughput_unit": "tokens/s total"},
        {"throughput_value": "65.536", "throughput_unit": "k tokens/s"},
        {"throughput_value": "8", "throughput_unit": "samples/s"},
        {"throughput_value": "1", "throughput_unit": "samples/s per device"},
        {"throughput_value": "8", "throughput_unit": "sequences/sec total"},
        {"step_time_s": "16"},
    ],
)
def test_a_speed_is_read_in_every_unit_tables_use(columns: dict[str, str]) -> None:
    assert _one(**columns).samples_per_s == pytest.approx(8.0)


def test_tflops_and_mfu_become_a_speed_by_our_own_operations() -> None:
    by_rate = _one(throughput_value="400", throughput_unit="TFLOP/s/GPU",
                   model_tflops_per_device="400")  # fmt: skip
    assert by_rate.achieved_flops_per_s == pytest.approx(400e12)
    by_share = _one(mfu_stated="0.4")
    assert by_share.achieved_flops_per_s == pytest.approx(0.4 * 989.4e12, rel=1e-3)


def test_tflops_that_count_recomputation_count_three_quarters() -> None:
    found = _one(model_tflops_per_device="400", note="TFLOPS may include recompute")
    assert found.achieved_flops_per_s == pytest.approx(300e12)


def test_images_per_second_are_read_and_milliseconds_of_a_step_too() -> None:
    found, _ = _cleaned({**RESNET, "throughput_value": "9000", "throughput_unit": "images/sec"})
    assert found[0].samples_per_s == 9000.0
    found, _ = _cleaned({**RESNET, "global_batch": "512", "step_time_s": "0.064"})
    assert found[0].samples_per_s == pytest.approx(8000.0)


# -- operations -----------------------------------------------------------------------------------


def test_operations_of_a_decoder_are_6n_and_attention() -> None:
    found = _one(samples_per_s_total="8")
    attention = 12.0 * 32 * 4096 * 8192.0**2
    assert found.train_flops_per_sample == pytest.approx(6.0 * 8e9 * 8192.0 + attention)
    other = _one(samples_per_s_total="8", model="Own net")
    attention = 12.0 * layers_width_of(8e9) * 8192.0**2
    assert other.train_flops_per_sample == pytest.approx(6.0 * 8e9 * 8192.0 + attention)


def test_a_named_mixture_of_experts_has_its_own_parameters_and_layers() -> None:
    found = _one(model="Qwen3 30B-A3B", family="moe", params="30000000000", seq_len="4096",
                 tokens_per_s_per_device="20000")  # fmt: skip
    assert found.active_params == pytest.approx(3.35e9)
    assert found.layers_width == 48 * 32 * 128
    assert found.train_flops_per_sample == pytest.approx(
        (6.0 * 3.35e9 + 12.0 * found.layers_width * 4096.0) * 4096.0
    )


def test_layers_that_see_a_window_have_fewer_operations() -> None:
    found = _one(model="GPT OSS 120B", family="moe", params="117000000000", seq_len="8192",
                 tokens_per_s_per_device="9000")  # fmt: skip
    every = 12.0 * 36 * 64 * 64 * 8192.0
    attention = found.train_flops_per_sample / 8192.0 - 6.0 * 5.1e9
    assert 0.5 < attention / every < 0.55


def test_lora_has_two_thirds_of_the_operations_and_a_family_of_its_own() -> None:
    full = _one(samples_per_s_total="500", seq_len="128")
    lora = _one(samples_per_s_total="500", seq_len="128", model="Llama 3 8B [LoRA]")
    assert lora.family == "lora"
    ratio = lora.train_flops_per_sample / full.train_flops_per_sample
    assert ratio == pytest.approx(2 / 3, rel=3e-3)


def test_active_parameters_count_of_experts() -> None:
    named = _one(model="Qwen3 30B-A3B", family="moe", params="30000000000",
                 tokens_per_s_per_device="20000", seq_len="4096")  # fmt: skip
    assert named.family == "moe"
    assert named.active_params == pytest.approx(3.35e9)
    own = _one(model="Own 30B-A3B", family="moe", params="30000000000",
               tokens_per_s_per_device="20000", seq_len="4096")  # fmt: skip
    assert own.active_params == pytest.approx(3e9)
    mixtral = _one(model="Mixtral 8x7B", family="moe", params="", seq_len="4096",
                   tokens_per_s_per_device="5000")  # fmt: skip
    assert mixtral.active_params == pytest.approx(12.88e9, rel=1e-3)


def test_experts_without_active_parameters_are_left_out_with_the_reason() -> None:
    row = {**LLAMA, "model": "SomeMoE 50B", "family": "moe", "tokens_per_s_per_device": "900"}
    assert _cleaned(row)[1] == ["made.tsv, line 2: the active parameters of SomeMoE 50B are not "
                                "stated."]  # fmt: skip


def test_image_operations_grow_with_the_square_of_the_size() -> None:
    small, large = (
        _cleaned({**RESNET, "image_px": px, "samples_per_s_total": "2000"})[0][0]
        for px in ("224", "448")
    )
    assert small.train_flops_per_sample == pytest.approx(3 * 2 * 4.09e9)
    assert large.train_flops_per_sample == pytest.approx(4 * small.train_flops_per_sample)


@pytest.mark.parametrize("stated", ["4.09e9", "8.18e9", "24.54e9"])
def test_stated_operations_may_be_multiply_adds_forward_or_training(stated: str) -> None:
    row = {**RESNET, "flops_per_sample_stated": stated, "samples_per_s_total": "9000"}
    assert _cleaned(row)[0][0].train_flops_per_sample == pytest.approx(24.54e9, rel=1e-3)


@each(
    ("model", "key"),
    [
        ("PyTorch/Classification/ConvNets/resnet50v1.5", "resnet50"),
        ("MxNet/Classification/RN50v1.5", "resnet50"),
        ("resnet50-pytorch", "resnet50"),
        ("ResNet-50", "resnet50"),
        ("resnet50d", "resnet50d"),
        ("ViT-B/16", "vitb16"),
        ("vit_base_patch16_224", "vitb16"),
        ("vit_b_16", "vitb16"),
        ("tf_efficientnet_b0", "efficientnetb0"),
        ("PyTorch/Classification/ConvNets/efficientnet [Model=efficientnet-b4]", "efficientnetb4"),
    ],
)
def test_sources_agree_about_the_name_of_a_network(model: str, key: str) -> None:
    assert network_key(model) == key


# -- machines -------------------------------------------------------------------------------------


@each(
    ("accelerator", "devices", "hosts", "machines"),
    [
        ("GB200", 144, 36, 2),  # hosts of 4 in racks of 72 with links between all
        ("TPU v4", 512, 128, 2),
        ("H100 80GB", 16, 2, 2),
        ("H100 80GB", 16, 4, 4),  # hosts of 4 without links between them
        ("H100 80GB", 16, "", 2),
    ],
)
def test_hosts_of_a_rack_or_slice_are_no_machines(
    accelerator: str, devices: int, hosts: int | str, machines: int
) -> None:
    found = _one(accelerator=accelerator, n_accelerators=str(devices), nodes=str(hosts),
                 tokens_per_s_per_device="2500", precision="bf16")  # fmt: skip
    assert found.nodes == machines


def test_a_speed_of_the_data_loading_is_no_question() -> None:
    row = {**RESNET, "source_id": "milabench_scaling", "global_batch": "256"}
    loaded, left_out = _cleaned({**row, "samples_per_s_total": "2604"})
    assert loaded == []
    assert "data loading" in left_out[0]
    alone, _ = _cleaned({**row, "model": "resnet50-noio", "samples_per_s_total": "4008"})
    assert [c.network for c in alone] == ["resnet50"]


# -- precision and peaks --------------------------------------------------------------------------


@each(("text", "name"), [
        ("amp_bf16", "bfloat16"), ("BF16", "bfloat16"), ("bf16+fp8", "float8"),
        ("MXFP8", "float8"), ("NVFP4", "float4"), ("TF32", "tensorfloat32"),
        ("mixed precision (AMP)", "float16"), ("fp32", "float32"), ("Autocast:BF16+SR", "bfloat16"),
        ("", ""), ("int4", ""),
    ])  # fmt: skip
def test_number_formats_are_read_as_tables_write_them(text: str, name: str) -> None:
    assert format_of(text) == name


def test_float32_on_an_a100_means_tf32_and_on_a_v100_float32() -> None:
    fast = {**RESNET, "precision": "fp32", "samples_per_s_total": "6000"}
    found, _ = _cleaned({**fast, "accelerator": "A100 80GB"}, {**fast, "accelerator": "V100",
                         "samples_per_s_total": "2800"})  # fmt: skip
    assert [c.precision for c in found] == ["tensorfloat32", "float32"]


def test_efficiency_is_counted_against_the_half_precision_peak() -> None:
    card = _one(samples_per_s_total="8").accelerator
    assert half_peak(card) == pytest.approx(989.4e12, rel=1e-3)
    assert own_peak(card, "float8") == pytest.approx(1978.9e12, rel=1e-3)


def test_a_rate_above_the_peak_is_left_out_and_both_figures_are_named() -> None:
    found, left_out = _cleaned({**LLAMA, "tokens_per_s_per_device": "60000"})
    assert found == []
    assert "exceed the peak of the H100 SXM5 80GB in bfloat16, 989 TFLOP/s" in left_out[0]


# -- repeats and traps ----------------------------------------------------------------------------


def _releases(number: int, **columns: str) -> list[dict[str, str]]:
    return [
        {**LLAMA, "tokens_per_s_per_device": str(8000 + 100 * i), "note": f"release {i}", **columns}
        for i in range(1, number + 1)
    ]


def test_releases_of_one_configuration_are_one_question() -> None:
    found, left_out = _cleaned(*_releases(5))
    assert left_out == []
    assert len(found) == 1
    assert found[0].rows == 5
    assert found[0].samples_per_s == pytest.approx(8400 * 8 / 8192)


def test_of_a_sweep_over_layouts_the_upper_fifth_stays() -> None:
    rows = [{**row, "parallelism": f"tp{i}"} for i, row in enumerate(_releases(10))]
    found, left_out = _cleaned(*rows)
    assert len(left_out) == 7
    assert "it is one of the slower layouts of a sweep" in left_out[0]
    assert found[0].samples_per_s >= 8800 * 8 / 8192


def test_layouts_that_follow_the_device_count_are_no_sweep() -> None:
    rows = [
        {**row, "parallelism": f"dp{2**i}", "n_accelerators": str(8 * 2**i)}
        for i, row in enumerate(_releases(6))
    ]
    found, left_out = _cleaned(*rows)
    assert left_out == []
    assert len(found) == 6


def test_another_batch_count_or_precision_is_another_question() -> None:
    base = {**LLAMA, "tokens_per_s_per_device": "8000"}
    others = [base, {**base, "global_batch": "1024"}, {**base, "n_accelerators": "64"},
              {**base, "precision": "fp8"}, {**base, "seq_len": "4096"}]  # fmt: skip
    assert len(_cleaned(*others)[0]) == len(others)


def _mlperf(key: str, model: str, **columns: str) -> dict[str, str]:
    return {**MINIMAL, "model": f"{model} (MLPerf {key})", "nodes": "1", **columns,
            "path": "NVIDIA/results/x", "published": "2024-06"}  # fmt: skip


def test_a_log_that_counts_one_device_gives_way_to_samples_over_time() -> None:
    row = _mlperf("retinanet", "RetinaNet", family="cnn", samples_per_s_total="308.8",
                  time_to_train_h="0.6", note="median epoch_num at stop 4")  # fmt: skip
    assert _cleaned(row)[0][0].samples_per_s == pytest.approx(4 * 1_170_301 / 2160.0)


def test_tokens_of_gpt3_are_no_sequences_and_its_rows_run_in_fp8() -> None:
    row = _mlperf("gpt3", "GPT-3 175B", family="decoder", params="175000000000",
                  samples_per_s_total="800000", n_accelerators="1024")  # fmt: skip
    found = _cleaned(row)[0][0]
    assert found.samples_per_s == pytest.approx(800_000 / 2048)
    assert found.precision == "float8"
    assert not found.stated_precision


def test_a_sequence_length_that_no_one_states_is_a_reason_not_a_guess() -> None:
    row = {**MINIMAL, "model": "bert-large", "family": "encoder", "samples_per_s_total": "900"}
    assert "the sequence length of bert-large is not stated" in _cleaned(row)[1][0]


def test_a_slice_of_256_tpus_is_one_machine() -> None:
    tpu = {**LLAMA, "accelerator": "TPU v5e", "tokens_per_s_per_device": "1500"}
    found, _ = _cleaned({**tpu, "n_accelerators": "256"}, {**tpu, "n_accelerators": "1024"})
    assert [c.nodes for c in found] == [1, 4]


# -- the whole library ----------------------------------------------------------------------------


@pytest.mark.skipif(not LIBRARY.is_dir(), reason="the library is not in ../shared/library")
def test_every_row_of_the_library_is_a_question_or_has_a_reason() -> None:
    rows, skipped = read_rows(LIBRARY)
    found, left_out = configurations(rows, CATALOG)
    assert skipped == []
    assert sum(c.rows for c in found) + len(left_out) == len(rows)
    families = Counter(c.family for c in found)
    assert families["dense"] > 250
    assert min(families[f] for f in ("moe", "lora", "encoder", "cnn", "vit")) > 40
    for one in found:
        share = one.achieved_flops_per_s / (half_peak(one.accelerator) or math.nan)
        assert 0.0 < share <= 2.5
        assert one.nodes >= 1
        assert math.isfinite(one.samples_per_s)


@pytest.mark.skipif(not LIBRARY.is_dir(), reason="the library is not in ../shared/library")
def test_no_question_depends_on_the_speed_of_its_row() -> None:
    rows, _ = read_rows(LIBRARY)
    for row in rows[::97]:
        found = workload_of(row)
        blind = {"throughput_value": 1.0, "samples_per_s_total": 1.0, "mfu_stated": 0.5,
                 "model_tflops_per_device": 1.0, "tokens_per_s_per_device": 1.0}  # fmt: skip
        doubled = {k: 2.0 * v for k, v in blind.items()}
        first, second = (workload_of(_with(row, values)) for values in (blind, doubled))
        assert first == second or isinstance(found, str)


def _with(row: PublishedRow, values: dict[str, float]) -> PublishedRow:
    return replace(row, **values)  # type: ignore[arg-type]
