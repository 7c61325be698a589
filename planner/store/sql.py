"""Every SQL text of the store, as constants; values are passed as parameters.

Texts are built from the schema table on import, never from user input, links or files.
"""

from typing import Final

import pyarrow as pa

from planner.core import MAX_TEXT
from planner.core.slugs import BADGE, UNOFFICIAL
from planner.runs import BY_NAME, NESTED, READ, SCHEMA_VERSION, SUMMARY
from planner.store.sealed.accept import NUMBERS

_TYPES: Final = {pa.string(): "VARCHAR", pa.int64(): "BIGINT", pa.float64(): "DOUBLE",
                 pa.bool_(): "BOOLEAN", BY_NAME["recorded_at"].type: "TIMESTAMP"}  # fmt: skip
# ruff: noqa: S608 - the parts of these texts are constants of this program
_STORED: Final = ", ".join(SUMMARY)
_DEFINED: Final = ", ".join(
    f"{n} {_TYPES[BY_NAME[n].type]}{' NOT NULL' if BY_NAME[n].required else ''}" for n in SUMMARY
)

# The product of two large whole numbers may exceed a BIGINT, and the error would stop every run.
DEVICES: Final = "coalesce(accelerators_per_node, 1)::HUGEINT * coalesce(number_of_nodes, 1)"
WORKLOAD: Final = """
    concat_ws(' · ', concat_ws(' ', model, variant), dataset,
      CASE WHEN sequence_length IS NOT NULL THEN sequence_length::VARCHAR || ' tokens' END,
      CASE WHEN image_px IS NOT NULL THEN image_px::VARCHAR || ' px' END,
      optimizer, precision)"""
_BADGE: Final = f"CASE WHEN standing IS NULL THEN '' ELSE '{BADGE}' END"
SYSTEM_NAME: Final = f"system_name || {_BADGE}"
"""The name of a system; that of runs of an unofficial set says so."""
SYSTEM: Final = f"""
    CASE WHEN {DEVICES} > 1 THEN ({DEVICES})::VARCHAR || ' × ' ELSE '' END || system_name
    || CASE WHEN number_of_nodes > 1 THEN ' on ' || number_of_nodes::VARCHAR || ' nodes'
       ELSE '' END
    || CASE WHEN {DEVICES} > 1 AND NOT peer_to_peer THEN ' without P2P' ELSE '' END
    || {_BADGE}"""
PATTERN: Final = """
    coalesce(nullif(concat_ws(', ',
      CASE WHEN mode = 'inference' THEN 'inference' END,
      CASE validation WHEN true THEN 'validation' WHEN false THEN 'no validation' END,
      CASE augmentation WHEN true THEN 'augmentation' WHEN false THEN 'no augmentation' END,
      'from ' || storage,
      workers::VARCHAR || CASE WHEN workers = 1 THEN ' worker' ELSE ' workers' END,
      CASE WHEN multiprocessing THEN 'processes' END,
      'fed by ' || feed,
      CASE jit WHEN true THEN 'compiled' WHEN false THEN 'not compiled' END,
      CASE WHEN basis = 'measured' THEN 'engine ' || engine END,
      CASE WHEN basis = 'measured' THEN nullif(strategy, 'none') END,
      CASE WHEN basis = 'measured' AND micro_batch_size < per_device_batch_size
           THEN (per_device_batch_size // micro_batch_size)::VARCHAR || ' micro-batches' END,
      CASE WHEN basis = 'measured' AND drop_remainder THEN 'whole batches only' END,
      CASE WHEN timing = 'per step' THEN 'every step waited for' END,
      CASE WHEN steps_per_execution > 1
           THEN steps_per_execution::VARCHAR || ' steps a call' END,
      threads::VARCHAR || CASE WHEN threads = 1 THEN ' thread' ELSE ' threads' END
    ), ''), 'pattern not stated')"""
SOFTWARE: Final = """
    coalesce(nullif(concat_ws(' ', framework, framework_version,
      CASE WHEN lower(backend) <> lower(framework) THEN 'on ' || backend END), ''),
      'software not stated')"""
STEP_TIME: Final = "coalesce(step_s, later_epoch_mean_s / steps_per_epoch)"
SAMPLES_PER_S: Final = """
    coalesce(throughput, global_batch_size / step_s, samples_per_epoch / later_epoch_mean_s)"""

_DERIVED: Final = f"""
    {WORKLOAD} AS workload, {SYSTEM} AS system, {PATTERN} AS pattern, {SOFTWARE} AS software,
    {STEP_TIME} AS step_time_s, {SAMPLES_PER_S} AS samples_per_s, NULL::VARCHAR AS task"""
_DERIVED_TYPES: Final = """workload VARCHAR, system VARCHAR, pattern VARCHAR, software VARCHAR,
    step_time_s DOUBLE, samples_per_s DOUBLE, task VARCHAR"""
_PLACED: Final = """folder VARCHAR, precedence INTEGER, standing VARCHAR, numbers UBIGINT,
    file VARCHAR"""
_STANDING: Final = "CASE WHEN list_contains($unofficial::VARCHAR[], {}) THEN '{}' END".format(
    "parse_dirpath({})", UNOFFICIAL
)
"""The standing of a file, with the folders of all unofficial sets as a parameter."""
_COLUMNS: Final = f"{_DEFINED}, {_DERIVED_TYPES}, {_PLACED}"
_NUMBERS: Final = f"hash({', '.join(NUMBERS)})"


def literal(path: str) -> str:
    """Return a path as a pattern that matches only it: DuckDB reads paths as patterns."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in path)


CREATE: Final = (
    f"CREATE TABLE runs ({_COLUMNS})",
    f"CREATE TABLE spare ({_COLUMNS})",
    f"CREATE TABLE work.incoming ({_COLUMNS})",
)


CREATE_FILES: Final = (
    """CREATE TABLE files (path VARCHAR NOT NULL, size BIGINT NOT NULL, mtime_ns BIGINT NOT NULL,
        inode UBIGINT NOT NULL, mode BIGINT NOT NULL, seal VARCHAR NOT NULL, held BIGINT NOT NULL,
        single BOOLEAN NOT NULL)""",
    "CREATE TABLE stale (workload VARCHAR, network VARCHAR, result_set VARCHAR, model VARCHAR)",
)
"""Tables of a summary file: the loaded files, and what totals of a cut-off refresh are stale."""
KEEP_FILES: Final = "INSERT INTO files SELECT * FROM arrived_files"
DROP_FILES: Final = "DELETE FROM files WHERE path IN (SELECT unnest(?))"
LOADED_FILES: Final = "SELECT * FROM files"
SEALS: Final = "SELECT path, seal FROM files"
UNSOUND: Final = """
    WITH held AS (SELECT file, count(*) AS runs
        FROM (SELECT file FROM runs UNION ALL SELECT file FROM spare) GROUP BY file)
    SELECT count(*) FROM files FULL JOIN held ON files.path = held.file
    WHERE coalesce(held.runs, 0) IS DISTINCT FROM files.held"""
"""The count of files of which a summary file has other runs than it says."""
STALE: Final = "SELECT DISTINCT * FROM stale"
CLEAR_STALE: Final = "DELETE FROM stale"
NAMES: Final = "SELECT DISTINCT workload, model FROM runs"
MARKED: Final = """
    SELECT DISTINCT parse_dirpath(file) FROM (SELECT file, standing FROM runs
        UNION ALL SELECT file, standing FROM spare) WHERE standing IS NOT NULL"""
"""The folders of the sets whose runs are marked as unofficial."""
_OF_PLACES: Final = "list_contains($places::VARCHAR[], parse_dirpath(file))"
MARK: Final = tuple(
    f"""UPDATE {table} SET standing = $standing,
        system = {SYSTEM.replace("standing", "$standing::VARCHAR")} WHERE {_OF_PLACES}"""
    for table in ("runs", "spare")
)
"""Statements that give the runs in some folders another standing."""


def _file(version: int) -> str:
    """Return what follows SELECT for a file of a schema version; later columns are NULL."""
    later = [n for n in SUMMARY if BY_NAME[n].since > version]
    added = "".join(f", NULL::{_TYPES[BY_NAME[n].type]} AS {n}" for n in later)
    return f"""*{added}
        FROM read_parquet($files, filename = true, hive_partitioning = false)"""


LOAD_FILES: Final = {
    version: f"""
    INSERT INTO work.incoming
    SELECT {_STORED}, {_DERIVED}, $folder, $precedence, standing, {_NUMBERS}, filename
    FROM (SELECT {_STANDING.format("filename")} AS standing, {_file(version)})"""
    for version in range(1, SCHEMA_VERSION + 1)
}
"""Statements to load multi-run files of one folder, by the schema version in their seal."""
LOAD_ROWS: Final = f"""
    INSERT INTO work.incoming
    SELECT {_STORED}, {_DERIVED}, folder, precedence, standing, {_NUMBERS}, file FROM arrived"""
WITHOUT_TASK: Final = "SELECT DISTINCT workload, family FROM work.incoming"
SET_TASK: Final = """
    UPDATE work.incoming SET task = tasks.task FROM tasks
    WHERE incoming.workload = tasks.workload
        AND incoming.family IS NOT DISTINCT FROM tasks.family"""
"""The table `tasks` (workload, family, task) is registered beside
(`planner.networks.kind_of`)."""
# A second copy of a run (an original beside its compacted one) waits in `spare`. The folder named
# first wins, the shipped one before all. Of two in one folder and refresh the compacted one is
# shown: it is older, and the first commit wins. Narrow windows find first copies faster.
_FIRST: Final = """
    rowid IN (SELECT rowid FROM (SELECT rowid, row_number()
        OVER (PARTITION BY run_id ORDER BY precedence, file NOT LIKE '%/compact-%', file) AS place
        FROM {table}) WHERE place = 1)"""
_OUTRANKED: Final = """EXISTS (SELECT 1 FROM work.incoming i
    WHERE i.run_id = runs.run_id AND i.precedence < runs.precedence)"""
DEMOTE: Final = f"INSERT INTO spare SELECT * FROM runs WHERE {_OUTRANKED}"
DROP_DEMOTED: Final = f"DELETE FROM runs WHERE {_OUTRANKED}"
# Rows that one page reads together are neighbours in memory.
_ORDER: Final = "ORDER BY workload, pattern, system, global_batch_size, run_id"
KEEP_SPARE: Final = f"""
    INSERT INTO spare SELECT * FROM work.incoming
    WHERE run_id IN (SELECT run_id FROM runs) OR NOT {_FIRST.format(table="work.incoming")}"""
KEEP_RUNS: Final = f"""
    INSERT INTO runs SELECT * FROM work.incoming
    WHERE run_id NOT IN (SELECT run_id FROM runs) AND {_FIRST.format(table="work.incoming")}
    {_ORDER}"""


def _broken(name: str) -> str:
    """Return the condition of a broken rule of a column, as in `planner.runs._records`."""
    column = BY_NAME[name]
    terms = [f"{name} IS NULL"] if column.required else []
    if column.type in (pa.float64(), pa.int64()):  # what is not finite lies in no span
        number = f"{name}::DOUBLE"
        size = f"abs({number})" if column.rule == "any" else number
        outside = f"{size} NOT BETWEEN {column.span.least!r} AND {column.span.most!r}"
        terms.append(outside if column.rule == "positive" else f"({name} <> 0 AND {outside})")
    if column.type == pa.string():
        terms.append(f"length({name}) > {MAX_TEXT}")
    if column.choices:
        terms.append(f"{name} NOT IN ({', '.join(repr(c) for c in column.choices)})")
    return f"WHEN {' OR '.join(terms)} THEN '{name}'" if terms else ""


_RULES: Final = " ".join(text for n in SUMMARY if (text := _broken(n)))
_CHECKED: Final = f"SELECT file, run_id, CASE {_RULES} END AS rule FROM work.incoming"
# Not merged into the outer query, which would plan the rules twice.
BROKEN_RULE: Final = f"""
    WITH checked AS MATERIALIZED ({_CHECKED} WHERE file = ?)
    SELECT run_id, rule FROM checked WHERE rule IS NOT NULL LIMIT 1"""
BROKEN_RULES: Final = f"""
    WITH checked AS MATERIALIZED ({_CHECKED} WHERE file IN (SELECT unnest(?)))
    SELECT file, first(run_id), first(rule) FROM checked WHERE rule IS NOT NULL GROUP BY file"""
"""As `BROKEN_RULE`, for many files at once: planning the query takes longer than checking them."""
TEXTS: Final = tuple(n for n in SUMMARY if BY_NAME[n].type == pa.string())
LONGEST: Final = {
    version: f"""
    SELECT {", ".join(f"max(length({n}))" for n in TEXTS)} FROM (SELECT {_file(version)})"""
    for version in range(1, SCHEMA_VERSION + 1)
}
"""The longest text of each of `TEXTS` in files, by the schema version in their seal.

A small file may have one text of megabytes that a million runs share: DuckDB measures it once,
while loading would copy it for each run.
"""
HELD: Final = "SELECT count(*) FROM work.incoming WHERE file = ?"
HELD_BY: Final = """
    SELECT file, count(*) FROM work.incoming WHERE file IN (SELECT unnest(?)) GROUP BY file"""
DROP_INCOMING: Final = "DELETE FROM work.incoming WHERE file = ?"
CLEAR_INCOMING: Final = f"CREATE OR REPLACE TABLE work.incoming ({_COLUMNS})"
"""Rows that are deleted would keep their memory."""
DROP_RUNS: Final = "DELETE FROM runs WHERE file IN (SELECT unnest(?))"
DROP_SPARE: Final = "DELETE FROM spare WHERE file IN (SELECT unnest(?))"
PROMOTE: Final = f"""
    INSERT INTO runs SELECT * FROM spare
    WHERE run_id NOT IN (SELECT run_id FROM runs) AND {_FIRST.format(table="spare")} {_ORDER}"""
DROP_PROMOTED: Final = """
    DELETE FROM spare
    WHERE (run_id, file, numbers) IN (SELECT (run_id, file, numbers) FROM runs)"""
MERGE: Final = (DEMOTE, DROP_DEMOTED, KEEP_SPARE, KEEP_RUNS)
"""Statements to merge `incoming`, in this order and one transaction."""
ALL_NEW: Final = """
    SELECT count(*) = count(DISTINCT run_id)
        AND NOT EXISTS (SELECT 1 FROM work.incoming JOIN runs USING (run_id))
    FROM work.incoming"""
"""Whether all runs of `incoming` are new and unique."""
_FEW: Final = 1_000
"""Runs whose order in memory does not matter."""


def keep_new(runs: int) -> str:
    """Return `MERGE` for `ALL_NEW` runs, in a third of its time."""
    return f"INSERT INTO runs SELECT * FROM work.incoming {_ORDER if runs > _FEW else ''}"


CONTRADICTIONS: Final = """
    SELECT s.file, count(*), min(s.run_id), min(r.file)
    FROM spare s JOIN runs r USING (run_id)
    WHERE s.numbers <> r.numbers GROUP BY s.file ORDER BY s.file LIMIT 1000"""
"""Files whose runs are shown from elsewhere with other numbers: count, one run, and file."""
MEMORY: Final = "SELECT sum(memory_usage_bytes) FROM duckdb_memory()"

FACETS: Final = (
    "task", "workload", "family", "accelerator_model_name", "system", "global_batch_size",
    "pattern", "mode", "software", "status", "basis", "repository", "result_set", "folder",
)  # fmt: skip
"""Filter columns, in the order of their display."""


_NAMED_RUNS: Final = """
    ($only IS NULL OR run_id IN (SELECT unnest($only::VARCHAR[])))
    AND ($but IS NULL OR run_id NOT IN (SELECT unnest($but::VARCHAR[])))"""
"""Filters by run id: only these, or all but these."""


def _where(without: str = "") -> str:
    terms = [f"(${c} IS NULL OR list_contains(${c}, {c}::VARCHAR))" for c in FACETS if c != without]
    return " AND ".join([*terms, _NAMED_RUNS])


FACET: Final = {
    c: f"SELECT {c}::VARCHAR, count(*) FROM runs WHERE {_where(c)} AND {c} IS NOT NULL "
    f"GROUP BY {c} ORDER BY {c}"
    for c in FACETS
}
"""Options of one facet with their counts under the other facets' filters."""
ALL_FACETS: Final = f"""
    SELECT CASE {" ".join(f"WHEN {c} IS NOT NULL THEN '{c}'" for c in FACETS)} END AS facet,
        coalesce({", ".join(f"{c}::VARCHAR" for c in FACETS)}), count(*)
    FROM runs WHERE {_where()}
    GROUP BY GROUPING SETS ({", ".join(f"({c})" for c in FACETS)})
    HAVING facet IS NOT NULL ORDER BY {", ".join(FACETS)}"""
"""As `FACET` for every facet under all filters: valid for facets without their own filter."""
FACETS_OF_RUNS: Final = f"SELECT {', '.join(FACETS)} FROM runs WHERE {_where()}"
"""The facets of every filtered run: Arrow counts them three times as fast as `ALL_FACETS`."""

FACETS_OF_ALL: Final = """
    SELECT facet, option, sum(runs)::BIGINT FROM facet_counts
    WHERE $workload IS NULL OR list_contains($workload, workload) OR facet = 'workload'
    GROUP BY facet, option, place ORDER BY facet, place, option"""
"""As `FACET` for every facet under a filter by workload at most, from `planner.store._totals`."""
COUNT: Final = f"SELECT count(*) FROM runs WHERE {_where()}"
WORK: Final = f"""
    SELECT accelerator_model_name,
        coalesce(accelerators_per_node, 1) * coalesce(number_of_nodes, 1),
        coalesce(samples_per_s, throughput) * train_flops_per_sample
    FROM runs WHERE {_where()} AND status = 'ok' AND mode = 'training'
        AND accelerator_model_name IS NOT NULL AND train_flops_per_sample > 0
        AND coalesce(samples_per_s, throughput) > 0
    ORDER BY run_id LIMIT $most"""
_PUBLISHED: Final = "basis = 'published'"
_DAY: Final = f"""CASE WHEN {_PUBLISHED} THEN coalesce(published_on, '')
        ELSE recorded_at::DATE::VARCHAR END"""
"""The day of a measurement, or the month of a publication: its rows were all read on one day."""
DAYS: Final = f"""
    SELECT precedence = 0 AS shipped, {_PUBLISHED} AS published, {_DAY} AS day, count(*)
    FROM runs WHERE {_where()} GROUP BY ALL ORDER BY shipped, published, day DESC"""
"""Counts of the filtered runs, in the order in which `LISTED` begins."""
FIRST_NAMES: Final = f"""
    SELECT workload, count(*) FROM runs WHERE {_where()} GROUP BY workload ORDER BY workload"""
"""Counts of the filtered runs, in the order in which `TABLE` begins."""
WHICH: Final = f"SELECT run_id FROM runs WHERE {_where()}"
COUNT_ALL: Final = "SELECT count(*), max(recorded_at) FROM runs"
TABLE: Final = f"""
    SELECT run_id, workload, system, global_batch_size, pattern, software, status, basis,
        epochs_measured, samples_per_epoch, first_epoch_s, later_epoch_mean_s, later_epoch_sd_s,
        samples_per_s, total_s, result_set, folder, standing, recorded_at, published_on,
        source_url, licence
    FROM runs WHERE {_where()}
    ORDER BY workload, system, pattern, global_batch_size, run_id LIMIT $most OFFSET $skip"""
LISTED: Final = f"""
    SELECT run_id, workload, system, global_batch_size, later_epoch_mean_s, samples_per_s,
        pre_train_s, first_epoch_s, later_epoch_sd_s, step_time_s, total_s, peak_memory_bytes,
        energy_kwh, precision, pattern, status, basis, epochs_measured, samples_per_epoch,
        software, recorded_at, published_on, licence, source_url, result_set, folder, standing,
        stated_mfu,
        CASE WHEN mode = 'training' AND status = 'ok' THEN samples_per_s END AS throughput,
        train_flops_per_sample, accelerator_model_name, accelerators_per_node, number_of_nodes
    FROM runs WHERE {_where()}
    ORDER BY precedence = 0, {_PUBLISHED}, {_DAY} DESC, workload, system, pattern,
        global_batch_size, run_id LIMIT $most OFFSET $skip"""
"""Runs as the Results page lists them: the user's own first, measured before published, the newest.

The shipped folder has precedence 0.
"""
TABLE_PART: Final = TABLE.replace("ORDER BY", "AND workload BETWEEN $first AND $last\n    ORDER BY")
"""As `TABLE`, of some workloads."""
LISTED_PART: Final = LISTED.replace(
    "ORDER BY",
    f"""AND (precedence = 0, {_PUBLISHED}, {_DAY}) IN (SELECT
        (unnest($shipped::BOOLEAN[]), unnest($published::BOOLEAN[]), unnest($day::VARCHAR[])))
    ORDER BY""",
)
RUN_COLUMNS: Final = (
    "run_id", "result_set", "folder", "file", "status", "status_reason", "basis", "source",
    "source_url", "licence", "note", "recorded_at", "model", "workload", "system", "pattern",
    "software", "device_kind", "mode", "global_batch_size", "pre_train_s", "first_epoch_s",
    "until_first_epoch_end_s", "later_epoch_mean_s", "later_epoch_sd_s", "epochs_measured",
    "total_s", "steps_per_epoch", "samples_per_epoch", "step_time_s", "samples_per_s",
    "asymptotic_throughput", "overhead_s", "dataset", "train_samples", "validation_s",
    "validation_samples_per_epoch", "drop_remainder", "peak_memory_bytes", "peak_memory_method",
    "standing",
)  # fmt: skip
_RUN: Final = ", ".join(RUN_COLUMNS)
RUN: Final = f"SELECT {_RUN} FROM runs WHERE run_id = ?"
RUNS_OF: Final = f"""
    SELECT {_RUN} FROM runs WHERE workload = ? AND pattern = ?
    ORDER BY system, global_batch_size, repeat, recorded_at, run_id LIMIT ?"""
LONGEST_PATTERN: Final = """
    SELECT coalesce(max(runs), 0) FROM (
        SELECT count(*) AS runs FROM runs WHERE workload = ? GROUP BY pattern
        HAVING bool_or(status = 'ok'))"""
"""The most runs of a workload under one input pattern."""
_ALIKE: Final = """system, mode, status, global_batch_size, samples_per_epoch, steps_per_epoch,
        train_samples, drop_remainder, dataset, sign(step_time_s), sign(samples_per_s),
        sign(later_epoch_mean_s), sign(first_epoch_s), sign(until_first_epoch_end_s),
        sign(asymptotic_throughput), sign(epochs_measured),
        CASE WHEN samples_per_epoch IS NULL AND steps_per_epoch IS NULL
            THEN samples_per_s * greatest(later_epoch_mean_s - coalesce(validation_s, 0), 0) END"""
KINDS_OF_RUNS: Final = f"""
    WITH ranked AS (
        SELECT {_RUN}, list_position($patterns::VARCHAR[], pattern) AS rank, row_number() OVER (
            PARTITION BY pattern ORDER BY system, global_batch_size, repeat, recorded_at, run_id
        ) AS place
        FROM runs WHERE workload = $workload AND list_contains($patterns::VARCHAR[], pattern)),
    firsts AS (
        SELECT DISTINCT ON ({_ALIKE}) * FROM ranked WHERE place <= $most ORDER BY rank, place)
    SELECT {_RUN} FROM firsts ORDER BY rank, place"""
"""Of a workload's runs the first ones that differ in what decides the size of an epoch, and which
systems have a curve, in the order of `RUNS_OF` by pattern."""
TRAIN_SAMPLES: Final = """
    WITH stated AS (SELECT train_samples, standing FROM runs
        WHERE workload = ? AND status = 'ok' AND train_samples IS NOT NULL)
    SELECT DISTINCT train_samples FROM stated
    WHERE standing IS NULL OR NOT EXISTS (SELECT 1 FROM stated WHERE standing IS NULL) LIMIT 2"""
"""Two sizes are enough to show that the runs state no single one."""
SCATTER: Final = """
    WITH stated AS (
        SELECT file, system, mode, epochs_measured, later_epoch_sd_s / later_epoch_mean_s
            * sqrt((epochs_measured - 1) / (epochs_measured - 2)) AS variation
        FROM runs WHERE status = 'ok' AND epochs_measured > 2
            AND later_epoch_mean_s > 0 AND later_epoch_sd_s IS NOT NULL
            AND ($systems IS NULL OR list_contains($systems::VARCHAR[], system))
            AND NOT list_contains(CAST($without AS VARCHAR[]), run_id))
    SELECT parse_dirpath(file) AS place, system, mode, epochs_measured - 1 AS later,
        count(*) AS runs, avg(ln(greatest($least, least($most, variation)))) AS mean
    FROM stated
    GROUP BY parse_dirpath(file), system, mode, epochs_measured"""
"""Scatter of epochs, by result set, system, mode and number of epochs."""
_SHOWN: Final = "SELECT * EXCLUDE (precedence, numbers) FROM runs"
ROW: Final = f"{_SHOWN} WHERE run_id = ?"
_AMONG: Final = "($among IS NULL OR list_contains($among::VARCHAR[], workload))"
WORKLOADS: Final = f"""
    SELECT workload, good, folders, family, hardware, trained, timed, checked, runs, answers,
        any_trained, published, accelerators, systems, unofficial
    FROM workload_totals WHERE {_AMONG}"""
"""Counts of good runs by workload.

Trials that only counted steps to a target have no times. A published workload without a time or
memory, as that of article 003, answers no question about one.
"""
FORMS: Final = """
    SELECT variant, precision, system, software, engine, global_batch_size, samples_per_s,
        final_metric, params, evaluation_metric
    FROM runs
    WHERE status = 'ok' AND mode = 'inference' AND samples_per_s IS NOT NULL
        AND (model, coalesce(dataset, '')) IN
            (SELECT (model, coalesce(dataset, '')) FROM runs WHERE workload = ?)
    ORDER BY system, software, engine, variant NULLS FIRST, precision, global_batch_size, run_id
    LIMIT ?"""
"""Inference runs of a workload's network and data set, in every form."""
_BEST_DOCUMENTED: Final = """bool_or(mode = 'training') DESC,
        count(later_epoch_mean_s + coalesce(until_first_epoch_end_s, first_epoch_s)) DESC,
        count(later_epoch_sd_s) DESC, pattern"""
PATTERNS: Final = f"""
    SELECT pattern, count(*) FROM runs WHERE workload = ? AND status = 'ok' GROUP BY pattern
    ORDER BY {_BEST_DOCUMENTED}"""
EVERY_PATTERN: Final = f"""
    SELECT workload, pattern FROM runs WHERE status = 'ok' GROUP BY workload, pattern
    ORDER BY workload, {_BEST_DOCUMENTED}"""
NETWORK: Final = "concat_ws(' ', model, variant)"
TRIAL_RUN: Final = """mode = 'training' AND evaluation_metric IS NOT NULL
        AND global_batch_size IS NOT NULL AND status IN ('ok', 'nan')"""
HAVE_TRIALS: Final = f"SELECT 1 FROM runs WHERE {TRIAL_RUN} AND {_AMONG} LIMIT 1"
TRIAL_SETS: Final = """
    SELECT network, dataset, precision, evaluation_metric, folder, result_set, files, runs, target,
        higher, basis, licence, source, standing
    FROM trial_sets ORDER BY published, batches DESC, runs DESC, 1, 2, 3, 4, 5, 6"""
"""A diverged trial counts as one that missed the target.

One stopped from outside does not count.
"""
TRIALS: Final = f"""
    SELECT r.optimizer, r.global_batch_size::DOUBLE AS batch, r.learning_rate,
        r.gradient_noise_scale, r.status, [e.step::DOUBLE FOR e IN f.evaluations] AS step,
        [e.value FOR e IN f.evaluations] AS value
    FROM read_parquet($files, hive_partitioning = false, filename = 'place') f
    JOIN (SELECT * FROM runs WHERE {TRIAL_RUN} AND {NETWORK} = $network
        AND dataset IS NOT DISTINCT FROM $dataset AND precision IS NOT DISTINCT FROM $precision
        AND evaluation_metric = $metric AND folder = $folder AND result_set = $result_set) r
        ON r.run_id = f.run_id AND r.file = f.place
    ORDER BY r.optimizer, batch, r.learning_rate, r.seed, r.run_id LIMIT $most"""
TARGET_TIMES: Final = f"""
    SELECT system, ({DEVICES})::BIGINT AS devices, global_batch_size, time_to_target_s,
        steps_to_target, target_value, software, source_path, system_name,
        accelerator_model_name, accelerators_per_node, number_of_nodes
    FROM runs WHERE {TRIAL_RUN} AND {NETWORK} = $network
        AND dataset IS NOT DISTINCT FROM $dataset AND precision IS NOT DISTINCT FROM $precision
        AND evaluation_metric = $metric AND folder = $folder AND result_set = $result_set
        AND time_to_target_s IS NOT NULL
    ORDER BY devices, time_to_target_s, run_id LIMIT $most"""
"""Stated times to the target of a set of trials, by the number of devices."""
TIMED_RUN: Final = """status = 'ok' AND mode = 'training' AND (asymptotic_throughput IS NOT NULL
        OR global_batch_size IS NOT NULL AND step_time_s IS NOT NULL)"""
TIMED_SYSTEMS: Final = f"""
    SELECT workload, {SYSTEM_NAME}, {DEVICES}, system, pattern, software,
        count(DISTINCT global_batch_size)
    FROM runs
    WHERE workload = ? AND {TIMED_RUN}
    GROUP BY 1, 2, 3, 4, 5, 6
    ORDER BY workload, 2, 3, system, 7 DESC, pattern, software"""
"""Systems with a curve of step times in training; the best measured pattern first."""
PLACEMENTS: Final = """
    SELECT run_id, coalesce(accelerators_per_node, 1), coalesce(number_of_nodes, 1), launch,
        peer_to_peer, startup_s
    FROM runs WHERE workload = ? AND pattern = ? AND status = 'ok' LIMIT ?"""
"""Device and node counts of each run, with launch mode, link and start-up."""
SCALED_WORKLOADS: Final = """
    SELECT workload, counts FROM scaled_workloads
    ORDER BY launched DESC, own DESC, counts DESC, runs DESC, workload"""
"""Workloads with step times on several device counts of one system, with their most counts: those
with stated launch modes first, then those outside the library, with most counts and runs."""
RANKS: Final = """
    SELECT launch, coalesce(number_of_nodes, 1)::BIGINT,
        coalesce(accelerators_per_node, 1)::BIGINT, global_batch_size, extra, result_set
    FROM runs WHERE sweep = 'driver-or-workers' AND basis = 'published'
    ORDER BY global_batch_size, launch, 2, run_id"""
"""Published cases of driver and workers; `extra` has the rank of some."""
CHECKED_RUN: Final = """status = 'ok' AND coalesce(later_epoch_mean_s, first_epoch_s,
        until_first_epoch_end_s, pre_train_s, total_s, step_time_s, samples_per_s) IS NOT NULL"""
CHECKED_COLUMNS: Final = (*READ, "system", "accelerators_per_node", "number_of_nodes")
_CHECKED_ROWS: Final = f"SELECT {', '.join(CHECKED_COLUMNS)} FROM runs WHERE {CHECKED_RUN}"
_NEWEST: Final = """
    ORDER BY recorded_at DESC, workload, pattern, system, global_batch_size, run_id LIMIT $most"""
CHECKED: Final = f"""{_CHECKED_ROWS} AND recorded_at >= (SELECT min(recorded_at) FROM (
        SELECT recorded_at FROM runs WHERE {CHECKED_RUN} ORDER BY recorded_at DESC LIMIT $most))
    {_NEWEST}"""
"""Good runs with a time, the newest first; others cannot be suspect.

The oldest of them is found first: to sort whole rows of two million runs takes seconds."""
CHECKED_AMONG: Final = f"{_CHECKED_ROWS} AND {_AMONG} {_NEWEST}"
"""As `CHECKED`, of some workloads."""
_TOUCHED: Final = f"workload, {NETWORK} AS network, result_set, model"
ARRIVED: Final = f"SELECT DISTINCT {_TOUCHED} FROM work.incoming"
"""Workloads, networks, result sets and models of new runs."""
TOUCHED: Final = f"""
    {ARRIVED}
    UNION SELECT DISTINCT {_TOUCHED} FROM spare
    UNION SELECT DISTINCT {_TOUCHED} FROM runs WHERE file IN (SELECT unnest(?::VARCHAR[]))"""
"""Workloads, networks, result sets and models whose runs a refresh may change.

The files are the deleted ones.
"""
TOUCHED_IN: Final = f"SELECT DISTINCT {_TOUCHED} FROM runs WHERE {_OF_PLACES}"
"""As `TOUCHED`, of the runs in some folders."""
KEEP_STALE: Final = f"INSERT INTO stale {TOUCHED}"
FACTOR_ROWS: Final = f"""
    {_SHOWN} WHERE rowid IN (
        SELECT rowid FROM runs
        WHERE status = 'ok' AND later_epoch_mean_s IS NOT NULL AND
            (model, coalesce(variant, ''), coalesce(dataset, ''), coalesce(optimizer, '')) IN
            (SELECT (model, coalesce(variant, ''), coalesce(dataset, ''), coalesce(optimizer, ''))
             FROM runs WHERE workload = ?)
        ORDER BY recorded_at DESC, run_id LIMIT ?)
    ORDER BY recorded_at DESC, run_id"""
"""Runs with epochs of a workload in any precision."""
JOB_ROWS: Final = """
    SELECT run_id, framework, precision, optimizer, params, train_flops_per_sample, train_samples,
        samples_per_epoch, pre_train_s, global_batch_size, samples_per_s, device_kind,
        peak_memory_bytes, peak_memory_method,
        system_name, system, accelerator_model_name, accelerators_per_node, number_of_nodes,
        standing
    FROM runs WHERE workload = ? AND status = 'ok' AND mode = 'training'
    ORDER BY recorded_at DESC, run_id LIMIT ?"""
"""A workload's work per sample, memory, hardware and times."""
LIBRARY_ROWS: Final = """
    SELECT workload, precision, system_name, accelerator_model_name, accelerators_per_node,
        number_of_nodes, max(samples_per_s) AS samples_per_s
    FROM best_speeds WHERE CASE WHEN workload = $workload THEN standing IS NOT DISTINCT FROM (
            SELECT min(standing) FROM best_speeds WHERE workload = $workload
            HAVING count(standing) = count(*))
        ELSE own AND standing IS NULL END
    GROUP BY ALL ORDER BY ALL LIMIT $most"""
"""The best speed of every workload on every system with accelerators.

Published runs of other workloads are excluded: sources differ by more than two accelerators do in
one source. So are those of unofficial sets, which would move estimates of checked ones, except for
a workload that has no others.
"""
RECENT_SETS: Final = """
    SELECT result_set, folder, sum(runs)::BIGINT, max(newest),
        first(basis ORDER BY runs DESC, basis),
        list(accelerator ORDER BY runs DESC, accelerator)[:4], count(*)
    FROM set_counts GROUP BY result_set, folder
    ORDER BY max(newest) DESC, result_set, folder LIMIT ?"""
"""Result sets by their newest run, with the four accelerators of most runs."""
FILE_OF: Final = "SELECT file FROM runs WHERE run_id = ?"
# A folder called `model=x` would put x into the column `model`: never use hive partitions.
NESTED_OF: Final = {
    name: f"SELECT {name} FROM read_parquet(?, hive_partitioning = false) WHERE run_id = ?"
    for name in NESTED
}
EPOCHS_OF: Final = """
    SELECT r.run_id, [e.epoch_s FOR e IN f.epochs] AS seconds
    FROM read_parquet($files, hive_partitioning = false, filename = 'place') f
    JOIN (SELECT run_id, file FROM runs WHERE run_id IN (SELECT unnest($ids::VARCHAR[]))) r
        ON r.run_id = f.run_id AND r.file = f.place
    WHERE f.epochs IS NOT NULL"""
"""Single epochs of many runs at once: one query per run takes seconds for 500."""
FILES_OF: Final = """
    SELECT DISTINCT file FROM runs WHERE run_id IN (SELECT unnest(?::VARCHAR[])) ORDER BY file"""
WHOLE_ROW: Final = "SELECT * FROM read_parquet(?, hive_partitioning = false) WHERE run_id = ?"
ALL_RUNS: Final = _SHOWN
SAMPLED: Final = f"""
    {_SHOWN} WHERE {_where()} AND run_id < $below
    ORDER BY workload, system, pattern, global_batch_size, run_id"""
"""Filtered runs whose ids are below a text: ids are hashes, so these are a random sample."""
EXPLORED: Final = f"{_SHOWN} ORDER BY workload, system, pattern, global_batch_size, run_id"
SELECTABLE: Final = "SELECT * EXCLUDE (precedence, numbers, file) FROM runs"
"""The runs for `planner.store.select`: without the paths of this machine."""
FILES: Final = "SELECT DISTINCT file FROM runs"
IN_FILE: Final = "SELECT 1 FROM runs WHERE file = ? LIMIT 1"
SETTINGS: Final = (
    "SET TimeZone = 'UTC'",  # times in memory have no zone; all are UTC
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
ALIVE: Final = "SELECT 1"
MOMENT: Final = "SELECT count(*) FROM (SELECT 1 FROM runs LIMIT 1)"
"""A transaction sees the runs as they are at its first query."""
ARRIVALS: Final = "ATTACH ':memory:' AS work"
"""A place in memory for arriving runs, also beside a summary file."""
ALLOW: Final = "SET allowed_directories = ?"
