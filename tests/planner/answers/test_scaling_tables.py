"""The tables of Scaling out write a unit that fits their numbers."""

import msgspec

from planner.answers._scaling_tables import total_rows
from planner.answers.records import ScalingOut, ScalingRow
from tests.each import each


def _record(device_hours: float) -> ScalingOut:
    """Return an answer with one row, whose interval is wide; its other numbers are none."""
    given = {
        "devices": 2,
        "nodes": 1,
        "global_batch_size": 32,
        "startup_s": 0.257,
        "total_s": 1800.0 * device_hours,
        "device_hours": device_hours,
        "idle_device_hours": 0.0000714,
        "idle_device_hours_low": 0.0000714,
        "idle_device_hours_high": 0.00051,
    }
    row = ScalingRow(**{name: given.get(name) for name in ScalingRow.__struct_fields__})  # type: ignore[arg-type]
    record = msgspec.structs.fields(ScalingOut)
    return ScalingOut(**{f.name: [row] if f.name == "rows" else None for f in record})  # type: ignore[arg-type]


@each(
    ("device_hours", "all_devices", "idle"),
    [
        (0.0425, ("Device-seconds", 153.0), ("Idle device-seconds", "0.26 (0.26 to 1.8)")),
        (25.0, ("Device-hours", 25.0), ("Idle device-hours", "0.000071 (0.000071 to 0.00051)")),
    ],
)
def test_device_time_is_in_seconds_where_the_longest_is_short(
    device_hours: float, all_devices: tuple[str, float], idle: tuple[str, str]
) -> None:
    (row,) = total_rows(_record(device_hours))
    assert [*row.items()][4:6] == [all_devices, idle]
