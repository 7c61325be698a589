"""The columns that the back-test needs of each public file, and what is wrong with a row.

A public file that was edited, cut short or saved by a spreadsheet is told by its file, row and
column before anything is reckoned with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final

from planner.backtest.source import TextRows

_TABLE: Final = """
koshian2_tpu_benchmark/epochs_main.csv | device pattern epoch
    | batch_size epoch_seconds train_images_per_epoch | pre_train_seconds |
koshian2_tpu_benchmark/epochs_appendix.csv | device pattern
    | batch_size epoch_seconds | pre_train_seconds |
pollux_sia_traces/step_time.csv | cluster workload placement kind
    | local_bsz num_gpus num_nodes step_time_s nonsync_time_s throughput_samples_per_s | |
pollux_sia_traces/steps_to_target.csv | workload reached
    | target_frac batch_size | | steps_to_target
gavel_throughputs/throughput.csv | gpu placement model
    | n_gpus steps_per_s | | batch_size_per_gpu
nvidia_dle_tables/throughput.csv | batch_raw batch_is_global | | | batch_size throughput gpus
elasticflow_a100/strong_scaling.csv | model | n_gpus local_batch step_time_s samples_per_s | |
dlperf_v100/throughput.csv | model heading file precision xla
    | n_gpus_total batch_per_gpu nodes throughput | |
tensorflow_benchmarks_2017/throughput.csv | system data model gpu
    | n_gpus batch_per_gpu images_per_s n_nodes | |
dawnbench_train/epochs.csv | task entry | | hours epoch top1Accuracy |
dawnbench_train/entries.csv | task entry hardware | | |
shallue_digitised/steps_to_target.csv | workload | batch_size steps_to_target_digitised | |
critical_batch_size_lm/steps_to_target.csv | workload | batch_size steps_to_target | |
mlperf_rcp/rcp.csv | workload rulesets first_ruleset conv_values
    | batch_size conv_mean | | samples_to_target_mean
lambda_pytorch_benchmark/throughput_v1.csv | model precision gpu | num_gpu throughput | |
accelerator_hardware/epoch_ml_hardware.csv | hardware release_date | |
    | memory_bytes memory_bandwidth_Bps
"""
"""File | texts | numbers above 0 | numbers of at least 0 | numbers above 0 or nothing."""
COLUMNS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    cells[0].strip(): tuple(tuple(cell.split()) for cell in cells[1:])
    for line in _TABLE.strip().replace("\n    ", " ").splitlines()
    for cells in (line.split("|"),)
}
"""For each file its columns, by what they have to hold."""


def problem_of(path: str, rows: TextRows) -> str | None:
    """What is wrong with the first bad cell of a file, as a sentence; None where all is well."""
    return next(_problems(path, rows), None) if path in COLUMNS else None


def _problems(path: str, rows: TextRows) -> Iterator[str]:
    texts, above, at_least, optional = COLUMNS[path]
    for number, row in enumerate(rows, start=2):  # the first line has the names
        for name in (*texts, *above, *at_least, *optional):
            if row.get(name) is None:
                yield f"{path}, line {number}: the column {name} is missing. Read the file anew."
        for name in (*above, *at_least, *optional):
            if told := _wrong(row.get(name) or "", zero=name in at_least, gap=name in optional):
                yield f"{path}, line {number}, column {name}: {told}. Mend it or read it anew."


def _wrong(cell: str, *, zero: bool, gap: bool) -> str:
    """Why a cell is no such number; nothing where it is one."""
    if not cell:
        return "" if gap else "nothing stands there"
    try:
        value = float(cell)
    except ValueError:
        return f"“{cell}” is not a number"
    if math.isfinite(value) and (value > 0.0 or (zero and value == 0.0)):
        return ""
    return f"“{cell}” is not a number {'of at least' if zero else 'above'} 0"
