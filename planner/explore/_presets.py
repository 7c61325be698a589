"""Questions to begin with."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import pyarrow as pa

from planner.core import Text, joined
from planner.explore._columns import CATEGORIES, NUMBERS
from planner.explore._points import ExploreQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartPreset:
    """A named question; `one_workload` shows the workload with most accelerators first."""

    title: str
    question: ExploreQuestion
    one_workload: bool = False


PRESETS: Final[Mapping[str, ChartPreset]] = MappingProxyType(
    {
        "memory": ChartPreset(
            title="Memory vs batch",
            question=ExploreQuestion(
                x="global_batch_size", y="peak_memory_bytes", colour="accelerator",
                symbol="accelerator",
            ),
            one_workload=True,
        ),
        "energy": ChartPreset(
            title="Energy vs batch",
            question=ExploreQuestion(x="global_batch_size", y="energy_kwh", colour="accelerator"),
            one_workload=True,
        ),
        "parameters": ChartPreset(
            title="Speed vs parameters",
            question=ExploreQuestion(
                x="params", y="samples_per_s_per_device", colour="family", log_x=True, log_y=True
            ),
        ),
        "price": ChartPreset(
            title="Price vs speed",
            question=ExploreQuestion(
                x="samples_per_s", y="usd_per_hour", colour="accelerator", log_x=True, log_y=True
            ),
            one_workload=True,
        ),
        "mfu": ChartPreset(
            title="MFU by accelerator",
            question=ExploreQuestion(x="accelerator", y="mfu", colour="family", marks="box"),
        ),
        "devices": ChartPreset(
            title="Speed vs devices",
            question=ExploreQuestion(
                x="devices", y="samples_per_s", colour="accelerator", log_x=True, log_y=True
            ),
            one_workload=True,
        ),
        "steps": ChartPreset(
            title="Steps vs batch",
            question=ExploreQuestion(
                x="global_batch_size", y="steps_to_target", colour="model", log_x=True, log_y=True
            ),
        ),
        "target": ChartPreset(
            title="Time to target vs devices",
            question=ExploreQuestion(
                x="devices", y="time_to_target_s", colour="accelerator", log_x=True, log_y=True
            ),
            one_workload=True,
        ),
    }
)  # fmt: skip


def without_values(runs: pa.Table, question: ExploreQuestion) -> str:
    """Return the sentence on a column of a question that no run states; "" where all have values.

    Formulas are computed from their columns, so only columns are named.
    """
    columns = {**CATEGORIES, **NUMBERS}
    empty = [
        columns[name].title
        for name in (question.x, question.y)
        if name in columns and runs[name].null_count == len(runs)
    ]
    if not empty:
        return ""
    return Text("No run states {empty}.", empty=joined(" or ", empty))
