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
        "startup_s_low": 0.21,
        "startup_s_high": 0.3,
        "total_s": 1800.0 * device_hours,
        "total_s_low": 1600.0 * device_hours,
        "total_s_high": 2100.0 * device_hours,
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
        (
            0.0425,
            ("Device-seconds", "150 (140 to 180)"),
            ("Idle device-seconds", "0.26 (0.26 to 1.8)"),
        ),
        (
            25.0,
            ("Device-hours", "25 (22 to 29)"),
            ("Idle device-hours", "0.000071 (0.000071 to 0.00051)"),
        ),
    ],
)
def test_device_time_is_in_seconds_where_the_longest_is_short(
    device_hours: float, all_devices: tuple[str, str], idle: tuple[str, str]
) -> None:
    (row,) = total_rows(_record(device_hours))
    assert [*row.items()][4:6] == [all_devices, idle]


def test_a_start_up_is_as_exact_as_the_series_makes_it_and_a_given_one_as_given() -> None:
    (row,) = total_rows(_record(25.0))
    assert row["Start-up (s)"] == "0.26 (0.21 to 0.30)"
    record = _record(25.0)
    (given,) = record.rows
    exact = {"startup_s": 1234.0, "startup_s_low": 1234.0, "startup_s_high": 1234.0}
    record = msgspec.structs.replace(record, rows=[msgspec.structs.replace(given, **exact)])
    assert total_rows(record)[0]["Start-up (s)"] == "1,234"


def test_a_total_without_an_interval_has_two_digits() -> None:
    record = _record(0.0425)
    (given,) = record.rows
    none = {"total_s_low": None, "total_s_high": None}
    record = msgspec.structs.replace(record, rows=[msgspec.structs.replace(given, **none)])
    assert total_rows(record)[0]["Device-seconds"] == "150"
