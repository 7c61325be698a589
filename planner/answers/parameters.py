"""Parameters of questions about totals, curves and results; see `planner.core.parameters`.

The names are those of the pages' links: How long?, Throughput and Results.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from planner.core import MOST_VALUES, Parameter
from planner.epochs import EPOCHS, MOST_CHOSEN, MOST_EPOCHS, MOST_LINES, SAMPLES_PER_EPOCH
from planner.store.select import LONGEST
from planner.suspects import ANY, NAMES, NONE

MOST_BESIDE: Final = 4
MOST_BATCHES: Final = 50
MOST_BATCHES_SHOWN: Final = 5
"""Batches of the page Scaling out: each is a line of its charts."""
MOST_LISTED: Final = 1000
LISTED: Final = 100
"""Runs of one answer of the HTTP interface."""

_WORKLOAD: Final = Parameter(name="workload", words="workload slug; default: that of most systems")
_WITHOUT: Final = Parameter(
    name="without_suspects", words="leave suspect runs out", kind="flag", default=False
)
HOW_LONG: Final = (
    _WORKLOAD,
    Parameter(name="pattern", words="input pattern, as its slug; default: the best documented"),
    Parameter(name="epochs", words="how many epochs", kind="whole", unit="epochs",
              default=EPOCHS, least=1, most=MOST_EPOCHS),
    SAMPLES_PER_EPOCH,
    Parameter(name="systems", words="systems to rank, as their slugs; default: the usual ones",
              many=MOST_CHOSEN),
    Parameter(name="baseline", words="system that all are compared with, as its slug"),
    Parameter(name="session", words="include machine-to-machine variation", kind="flag",
              default=False),
    Parameter(name="rest_like_last", words="where epoch times change during the run, the rest "
              "continues like the last part", kind="flag", default=False),
    _WITHOUT,
)  # fmt: skip
BATCH: Final = Parameter(
    name="batch", words="global batch sizes to answer at", kind="number", unit="samples",
    least=1.0, most=1e9, many=MOST_BATCHES,
)  # fmt: skip
CURVE: Final = (
    _WORKLOAD,
    Parameter(name="pattern", words="one input pattern, as its slug; the same as patterns"),
    Parameter(name="patterns", words="input patterns, as their slugs; default: the best documented",
              many=MOST_VALUES),
    Parameter(name="systems", words="systems, as their slugs; default: all, or those with "
              "the most batch sizes", many=MOST_LINES),
    SAMPLES_PER_EPOCH,
    Parameter(name="beside", words="further workloads to compare with, as their slugs",
              many=MOST_BESIDE),
    BATCH,
    _WITHOUT,
)  # fmt: skip
MOST_COUNTS: Final = 12
HOLDS: Final = ("global", "device")
SLOW: Final = Parameter(
    name="slow", words="share of the time that one worker is stopped", kind="number", unit="%",
    default=50.0, least=0.0, most=95.0,
)  # fmt: skip
SCALING_OUT: Final = (
    Parameter(name="workload", words="workload slug, with runs on several device counts"),
    Parameter(name="series", words="system and input pattern, as their slug; default: that of most "
              "device counts"),
    Parameter(name="driver", words="series without workers to compare with, as its slug, or none"),
    Parameter(name="batch", words="batches to answer at, global or per device as hold says; "
              "the last is that of the headline", kind="number", unit="samples", least=1.0,
              most=1e9, many=MOST_BATCHES_SHOWN),
    Parameter(name="hold", words="which batch is the same at every count; default: the one that "
              "runs have in common", kind="choice", choices=HOLDS),
    Parameter(name="devices", words="further device counts", kind="whole", unit="devices",
              least=1, most=1_000_000, many=MOST_COUNTS),
    Parameter(name="epochs", words="how many epochs", kind="whole", unit="epochs",
              default=10, least=1, most=MOST_EPOCHS),
    SAMPLES_PER_EPOCH,
    Parameter(name="startup_s", words="start-up of the cluster; default: as measured",
              kind="number", unit="s", least=0.0, most=1e7),
    Parameter(name="deadline", words="hours from start to end", kind="number", unit="hours",
              least=0.0, most=1e6),
    Parameter(name="budget", words="most that the training may cost", kind="number", unit="USD",
              least=0.0, most=1e9),
    Parameter(name="price", words="price of one device for an hour", kind="number", unit="USD/h",
              least=0.0, most=1e6),
    SLOW,
    Parameter(name="spread", words="scatter of a worker's step from step to step (sd)",
              kind="number", unit="%", default=0.0, least=0.0, most=100.0),
    Parameter(name="servers", words="parameter servers", kind="whole", default=1, least=1,
              most=10_000),
    Parameter(name="server_gbit_per_s", words="link of one parameter server, both directions "
              "together; without it no limit", kind="number", unit="Gbit/s", least=0.001, most=1e6),
    Parameter(name="params", words="parameters of the network; default: as the runs state",
              kind="number", least=1.0, most=1e15, short=True),
    Parameter(name="critical_batch", words="critical batch size Bcrit, from Steps to target; "
              "without it the cost of staleness is unknown", kind="number", unit="samples",
              least=1e-3, most=1e12, short=True),
    Parameter(name="image_px", words="another image side to compare bytes with", kind="number",
              unit="px", default=256.0, least=1.0, most=1e5),
    Parameter(name="network", words="language model to cut over devices, by its name",
              default="llama-3-70b"),
    Parameter(name="accelerator", words="accelerator to cut it over, by its name",
              default="h100-sxm"),
    Parameter(name="count", words="accelerators to cut it over", kind="whole", default=64,
              least=1, most=100_000),
    Parameter(name="network_batch", words="sequences of a step of that model", kind="number",
              unit="samples", default=1024.0, least=1.0, most=1e7),
    Parameter(name="micro_batch", words="sequences of a micro-batch", kind="number",
              unit="samples", default=1.0, least=1.0, most=1e4),
    Parameter(name="precision", words="precision of that model", kind="choice",
              default="bfloat16", choices=("float32", "float16", "bfloat16", "float8")),
    _WITHOUT,
)  # fmt: skip
STATED: Final = ("workload", "pattern", "epochs", "patterns", "systems", "baseline")
"""Parameters of every shared link of totals and curves, even at their current defaults."""
FACETS: Final = MappingProxyType(
    {
        "task": "kind of work, as its slug: language-model, vision, speech ...",
        "workload": "workload, as its slug",
        "family": "family of the network where it is stated: dense, cnn ...",
        "accelerator_model_name": "accelerator, as its slug",
        "system": "system, as its slug",
        "global_batch_size": "batch size",
        "pattern": "input pattern, as its slug",
        "mode": "training or inference",
        "software": "framework and version, as its slug",
        "status": "how the run ended",
        "basis": "measured, published ...",
        "repository": "repository that published a figure, as its slug",
        "result_set": "result set",
        "folder": "result folder, as its slug",
    }
)
"""Filters of runs, in the order of the Results page."""
RESULTS: Final = (
    *(Parameter(name=n, words=words, many=MOST_VALUES) for n, words in FACETS.items()),
    Parameter(name="suspect", words=f"{ANY}, {NONE}, or what is suspect: {', '.join(NAMES)}",
              many=len(NAMES) + 2),
    Parameter(name="run", words="the id of one run"),
    Parameter(name="limit", words="most runs of one answer", kind="whole", unit="runs",
              default=LISTED, least=1, most=MOST_LISTED),
    Parameter(name="cursor", words="where the last answer ended, its `next_cursor`"),
)  # fmt: skip
SQL: Final = (
    Parameter(name="sql", words="one SELECT statement over the table runs", lines=True,
              longest=LONGEST),
)  # fmt: skip
FOR_THE_EYE: Final = frozenset({"scale", "factor"})
"""Parameters of the links that only change the view."""
