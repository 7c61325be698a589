"""Parameters of questions about totals, curves and results; see `planner.core.parameters`.

The names are those of the pages' links: How long?, Throughput and Results.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from planner.core import MOST_VALUES, Parameter
from planner.epochs import EPOCHS, MOST_CHOSEN, MOST_EPOCHS, MOST_LINES, SAMPLES_PER_EPOCH
from planner.suspects import ANY, NAMES, NONE

MOST_BESIDE: Final = 4
MOST_BATCHES: Final = 50
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
FOR_THE_EYE: Final = frozenset({"scale", "factor"})
"""Parameters of the links that only change the view."""
