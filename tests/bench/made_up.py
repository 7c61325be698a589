"""Millions of made-up runs in the shape of measured and published ones, from one SQL statement.

`python -m tests.bench.made_up FOLDER RUNS` writes result sets of 100,000 runs, each one sealed
file: 2,000 workloads on 70 accelerators with 1 to 64 devices, 12 batch sizes, 36 input patterns,
training, inference, trials with a target, failures. Times follow the throughput law with 3 %
noise. Nothing here was measured.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa

from planner.runs import ARROW_SCHEMA, SCHEMA_VERSION
from planner.store.sealed.commit import commit_table, compact_name
from tests.bench.figures import timed
from tests.store.build import a_set

A_SET: Final = 100_000
"""Runs of a result set, which is one file."""
WORKLOADS: Final = 2_000
_MADE: Final = f"""
    WITH drawn AS (
        SELECT n, hash(n) AS h, hash(n, 1) AS h1, hash(n, 2) AS h2,
            sqrt(-2 * ln((hash(n, 3) % 1000000 + 1) / 1000001.0))
                * cos(2 * pi() * (hash(n, 4) % 1000000) / 1000000.0) AS normal
        FROM (SELECT unnest(range($first::BIGINT, $last::BIGINT)) AS n)),
    drawn_2 AS (
        SELECT *, ((h % 100000) * (h % 100000) * {WORKLOADS} // 10000000000)::BIGINT
                AS w, (h1 % 70)::BIGINT AS card,
            ((h1 // 70) % 4)::BIGINT AS size, (2 ** (2 + (h2 % 12)))::BIGINT AS batch,
            ((h2 // 12) % 36)::BIGINT AS p,
            CASE WHEN h % 97 < 14 THEN 'inference' ELSE 'training' END AS mode,
            n // 100000 % 8 = 0 AND h % 97 >= 92 AND w < 80 AS trial,
            CASE h % 101 WHEN 0 THEN 'oom' WHEN 1 THEN 'crashed' ELSE 'ok' END AS status
        FROM drawn),
    drawn_3 AS (
        SELECT *, (8 ** size)::BIGINT AS devices, 50000 * (1 + w % 20) AS samples,
            (0.02 + batch / ((200.0 + 40 * card) * 8 ** (size * 0.95))) * exp(0.03 * normal) AS step
        FROM drawn_2)
    SELECT md5(n::VARCHAR) AS run_id, {SCHEMA_VERSION} AS schema_version, $result_set AS result_set,
        (h // 7) % 3 AS repeat, status, if(status = 'ok', NULL, 'memory of the device') AS
        status_reason, if(p < 18, 'measured', 'published') AS basis,
        if(p < 18, NULL, 'Table ' || (w % 40)) AS source, 'CC0-1.0' AS licence,
        if(p < 18, NULL, 'example.org/tables-' || (w % 40)) AS repository,
        if(p < 18, NULL, '2025-' || lpad((1 + w % 12)::VARCHAR, 2, '0')) AS published_on,
        TIMESTAMP '2020-01-01' + to_seconds(h2 % 190000000) AS recorded_at,
        ['Net', 'Llama', 'ViT', 'BERT', 'ConvNeXt', 'GNN', 'DLRM', 'Whisper'][1 + w % 8]
            || '-' || (w // 8) AS model,
        ['CIFAR-10', 'C4', 'ImageNet', 'Wikipedia', 'ImageNet', 'IGBH', 'Criteo',
            'LibriSpeech'][1 + w % 8] AS dataset,
        ['cnn', 'dense', 'vit', 'encoder', 'cnn', NULL, 'recommender', 'speech'][1 + w % 8]
            AS family,
        ['SGD', 'AdamW'][1 + w % 2] AS optimizer, 0.001 * (1 + h % 9) AS learning_rate,
        ['float32', 'mixed_float16', 'mixed_bfloat16'][1 + w % 3] AS precision,
        1000000 * (1 + w) AS params, samples AS train_samples, 'Card ' || card AS system_name,
        'gpu' AS device_kind, 'Card ' || card AS accelerator_model_name,
        least(devices, 8)::BIGINT AS accelerators_per_node,
        greatest(devices // 8, 1)::BIGINT AS number_of_nodes,
        ((16 + 8 * (card % 9)) * 1000000000) AS accelerator_memory_bytes,
        'Host ' || (card % 5) AS host_processor_model_name,
        ['TensorFlow', 'PyTorch', 'JAX'][1 + p % 3] AS framework,
        ['2.20', '2.21', '2.9', '0.7'][1 + p % 4] AS framework_version, 'tf' AS backend,
        if(p < 18, 'fit', NULL) AS engine, p % 2 = 0 AS jit, mode, batch::BIGINT AS
        global_batch_size, (batch // devices) + 1 AS per_device_batch_size,
        p % 3 = 0 AS validation, p % 4 = 0 AS augmentation,
        if(p % 5 = 0, 'storage', 'memory') AS storage, p % 5 AS workers,
        n % 1000000 AS seed, if(status = 'ok', 3 + 10 * step, NULL) AS pre_train_s,
        if(status = 'ok', step * samples / batch * 1.2, NULL) AS first_epoch_s,
        if(status = 'ok' AND mode = 'training', step * samples / batch, NULL) AS later_epoch_mean_s,
        if(status = 'ok' AND mode = 'training', 0.01 * (1 + h % 3) * step * samples / batch, NULL)
            AS later_epoch_sd_s,
        if(status = 'ok', 5 + h % 16, NULL) AS epochs_measured, if(status = 'ok', 500 * step, NULL)
            AS total_s,
        if(status = 'ok', samples // batch + 1, NULL)::BIGINT AS steps_per_epoch,
        if(status = 'ok', samples, NULL) AS samples_per_epoch, if(status = 'ok', step, NULL)
            AS step_s,
        if(status = 'ok', batch / step, NULL) AS throughput,
        if(status = 'ok', (2e9 + 4e6 * batch)::BIGINT, NULL) AS peak_memory_bytes,
        1e9 * (1 + w % 50) AS train_flops_per_sample,
        if(trial, 'validation error', NULL) AS evaluation_metric,
        if(trial, false, NULL) AS evaluation_higher_is_better, if(trial, 0.25, NULL)
            AS target_value,
        if(trial, (1000 * (1 + 256 / batch))::BIGINT, NULL) AS steps_to_target,
        if(trial, true, NULL) AS target_reached,
        if(h % 10 = 0 AND status = 'ok', [{{'epoch': 1, 'epoch_s': step * samples / batch * 1.2}},
            {{'epoch': 2, 'epoch_s': step * samples / batch}}], NULL) AS epochs
    FROM drawn_3 ORDER BY run_id"""  # noqa: S608 - constants of this program


def make(root: Path, runs: int, first: int = 0) -> None:
    """Write sets of made-up runs under `root`, from run number `first` on."""
    with duckdb.connect(config={"threads": 1, "memory_limit": "1GB"}) as base:
        for at in range(first, first + runs, A_SET):
            name = f"made-up-{at // A_SET:04}"
            last = min(at + A_SET, first + runs)
            asked = {"first": at, "last": last, "result_set": name}
            table = _whole(base.sql(_MADE, params=asked).to_arrow_table())
            commit_table(a_set(root, slug=name), compact_name([name, str(last)]), table)


def _whole(table: pa.Table) -> pa.Table:
    """Return the table with every column of a run, in order."""
    columns = [
        _column(table[field.name], field.type)
        if field.name in table.column_names
        else pa.nulls(len(table), field.type)
        for field in ARROW_SCHEMA
    ]
    return pa.table(columns, schema=ARROW_SCHEMA)


def _column(values: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    if pa.types.is_list(kind):
        lists = values.combine_chunks()
        items = lists.flatten()
        parts = [
            items.field(f.name).cast(f.type)
            if items.type.get_field_index(f.name) >= 0
            else pa.nulls(len(items), f.type)
            for f in kind.value_type
        ]
        struct = pa.StructArray.from_arrays(parts, fields=list(kind.value_type))
        return pa.ListArray.from_arrays(lists.offsets, struct, mask=lists.is_null())
    return values.cast(kind).combine_chunks()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("runs", type=int)
    given = parser.parse_args()
    sys.stdout.write(
        f"{given.runs:,} runs in {timed(lambda: make(given.folder, given.runs))[0]:.0f} s\n"
    )
