"""Published measurements: tables in the library's format, and the meaning of their cells.

The library is a folder of tab-separated tables, one row per published figure with its source. This
package reads any such folder, skips bad rows with a reason, and finds the accelerators of rows in
the catalogue. `configurations` makes cleaned questions of the rows; `_runs` makes the shipped run
records.
"""

from planner.published._named_workloads import (
    NamedWorkload,
    convolutions_of,
    group_of,
    network_key,
    workload_of,
)
from planner.published._rows import (
    COLUMNS,
    PublishedRow,
    accelerators_of,
    read_rows,
    rows_of,
    unknown_accelerators,
)
from planner.published._runs import RunRecords, run_records
from planner.published.configurations import (
    LEAST_BERT_SAMPLES,
    Configuration,
    configurations,
    faults,
    format_of,
    half_peak,
    own_peak,
    precision_of,
)
