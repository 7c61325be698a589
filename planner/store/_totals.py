"""Totals of all runs by workload, network or result set: what pages ask before any filter.

In memory each is a view, computed at each question. In a summary file (`planner.store._runs_file`)
each is a table, of which a refresh renews the rows of the workloads, networks and result sets that
it touched: at ten million runs a view needs seconds. Both have the same text, so the same rows.
"""

from dataclasses import dataclass
from typing import Final, Literal

from planner.store.sql import (
    CHECKED_RUN,
    DEVICES,
    FACETS,
    NETWORK,
    SYSTEM_NAME,
    TIMED_RUN,
    TRIAL_RUN,
)

# ruff: noqa: S608 - the parts of these texts are constants of this program
Key = Literal["workload", "network", "result_set"]
KEYS: Final[tuple[Key, ...]] = ("workload", "network", "result_set")
"""What totals are kept by, in the order of the columns of `sql.TOUCHED`."""
_EXPRESSIONS: Final = {"workload": "workload", "network": NETWORK, "result_set": "result_set"}
_FACETS: Final = " UNION ALL ".join(
    f"""SELECT workload, '{c}' AS facet, {c}::VARCHAR AS option,
        {f"{c}::BIGINT" if c == "global_batch_size" else "NULL::BIGINT"} AS place, count(*) AS runs
    FROM @runs WHERE {c} IS NOT NULL GROUP BY ALL"""
    for c in FACETS
)

_COUNTED: Final = """(steps_to_target IS NULL AND target_reached IS NULL
        OR coalesce(samples_per_s, first_epoch_s) IS NOT NULL)"""
_ANSWERS: Final = """(basis <> 'published' OR coalesce(step_time_s, samples_per_s,
        asymptotic_throughput, pre_train_s, first_epoch_s, until_first_epoch_end_s,
        later_epoch_mean_s, total_s, time_to_target_s, peak_memory_bytes) IS NOT NULL)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryTable:
    """A table or view: its name, the key of its rows, and its query over `@runs`."""

    name: str
    key: Key
    query: str


TOTALS: Final = (
    SummaryTable(
        name="workload_totals",
        key="workload",
        query=f"""
    SELECT workload, count(*) AS good, list(DISTINCT folder) AS folders, min(family) AS family,
        count(DISTINCT coalesce(accelerator_model_name, system_name)) AS hardware,
        bool_or(mode = 'training') AS trained, bool_or({TIMED_RUN}) AS timed,
        count(*) FILTER ({CHECKED_RUN}) AS checked, count(*) FILTER ({_COUNTED}) AS runs,
        coalesce(bool_or({_ANSWERS}) FILTER ({_COUNTED}), false) AS answers,
        coalesce(bool_or(mode = 'training') FILTER ({_COUNTED}), false) AS any_trained,
        coalesce(bool_and(repository IS NOT NULL) FILTER ({_COUNTED}), false) AS published,
        count(DISTINCT coalesce(accelerator_model_name, system_name))
            FILTER ({_COUNTED} AND device_kind IS DISTINCT FROM 'cpu') AS accelerators,
        count(DISTINCT system) FILTER ({_COUNTED}) AS systems,
        bool_and(standing IS NOT NULL) AS unofficial
    FROM @runs WHERE status = 'ok' GROUP BY workload""",
    ),
    SummaryTable(
        name="scaled_workloads",
        key="workload",
        query=f"""
    WITH timed AS (
        SELECT workload, hash({SYSTEM_NAME}, pattern, software) AS series,  -- a third of the memory
            ({DEVICES})::BIGINT AS devices, bool_or(repository IS NULL) AS own,
            bool_or(launch IS NOT NULL) AS launched, count(*) AS runs
        FROM @runs WHERE {TIMED_RUN}
            AND coalesce(parallelism, 'data') NOT IN ('stage', 'branch', 'tensor')
        GROUP BY ALL),
    counted AS (
        SELECT workload, bool_or(own) AS own, count(devices) AS counts,
            bool_or(launched) AS launched, sum(runs) AS runs
        FROM timed GROUP BY workload, series HAVING count(devices) > 1)
    SELECT workload, max(counts)::BIGINT AS counts, bool_or(launched) AS launched,
        bool_or(own) AS own, max(runs)::BIGINT AS runs
    FROM counted GROUP BY workload""",
    ),
    SummaryTable(
        name="best_speeds",
        key="workload",
        query="""
    SELECT workload, precision, system_name, accelerator_model_name, accelerators_per_node,
        number_of_nodes, repository IS NULL AS own, standing, max(samples_per_s) AS samples_per_s
    FROM @runs
    WHERE status = 'ok' AND mode = 'training' AND device_kind <> 'cpu' AND samples_per_s > 0
    GROUP BY ALL""",
    ),
    SummaryTable(
        name="trial_sets",
        key="network",
        query=f"""
    SELECT {NETWORK} AS network, dataset, precision, evaluation_metric, folder, result_set,
        list(DISTINCT file ORDER BY file) AS files, count(*) AS runs,
        mode(target_value ORDER BY target_value) AS target,
        bool_or(evaluation_higher_is_better) AS higher,
        min(basis) AS basis, min(licence) AS licence, min(source) AS source,
        bool_and(repository IS NOT NULL) AS published,
        count(DISTINCT global_batch_size) AS batches, min(standing) AS standing
    FROM @runs WHERE {TRIAL_RUN} GROUP BY 1, 2, 3, 4, 5, 6""",
    ),
    SummaryTable(
        name="set_counts",
        key="result_set",
        query="""
    SELECT result_set, folder, coalesce(accelerator_model_name, system_name) AS accelerator,
        count(*) AS runs, max(recorded_at) AS newest,
        if(2 * count(*) FILTER (basis = 'measured') >= count(*), 'measured', 'published') AS basis
    FROM @runs GROUP BY 1, 2, 3""",
    ),
    SummaryTable(name="facet_counts", key="workload", query=_FACETS),
)

VIEWS: Final = tuple(f"CREATE VIEW {t.name} AS {t.query.replace('@runs', 'runs')}" for t in TOTALS)
TABLES: Final = tuple(
    f"CREATE TABLE {t.name} AS SELECT * FROM ({t.query.replace('@runs', 'runs')}) WHERE false"
    for t in TOTALS
)
REFILL: Final = tuple(
    text
    for t in TOTALS
    for text in (
        f"DELETE FROM {t.name}",
        f"INSERT INTO {t.name} {t.query.replace('@runs', 'runs')}",
    )
)
"""Statements that compute all tables anew."""


def _renewal(total: SummaryTable) -> tuple[str, str]:
    among = "IN (SELECT unnest(?::VARCHAR[]))"
    columns = ", ".join(FACETS) if total.name == "facet_counts" else "*"
    touched = f"(SELECT {columns} FROM runs WHERE {_EXPRESSIONS[total.key]} {among})"
    query = total.query
    if query.count("@runs") > 1:  # one parameter for all of them
        query = f"WITH touched AS {touched} {query.replace('@runs', 'touched')}"
    else:
        query = query.replace("@runs", f"{touched} AS touched")
    return (
        f"DELETE FROM {total.name} WHERE {total.key} {among}",
        f"INSERT INTO {total.name} {query}",
    )


RENEW: Final = {key: tuple(s for t in TOTALS if t.key == key for s in _renewal(t)) for key in KEYS}
"""Statements that compute the rows of some keys anew, by the kind of key; each has the list of
them as its parameter."""
