from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from runners.machine.energy import Energy, EnergyMeter
from tests.runners.fake_nvml import Card, FakeNvml

UNKNOWN = Energy()


def every_second() -> Callable[[], float]:
    """A clock that is 1 s further each time it is asked."""
    return map(float, itertools.count(100)).__next__


def rapl(root: Path, domain: str, name: str, uj: int, most_uj: int | None = None) -> Path:
    folder = root / "class" / "powercap" / domain
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "name").write_text(f"{name}\n")
    (folder / "energy_uj").write_text(f"{uj}\n")
    if most_uj is not None:
        (folder / "max_energy_range_uj").write_text(f"{most_uj}\n")
    return folder / "energy_uj"


def cpu_meter(sysfs: Path) -> EnergyMeter:
    meter = EnergyMeter(sysfs=sysfs, clock=every_second())
    meter.start()
    return meter


# -- RAPL ------------------------------------------------------------------------------------------


def test_energy_of_a_package_is_what_its_counter_counted(tmp_path: Path) -> None:
    counter = rapl(tmp_path, "intel-rapl:0", "package-0", 1_000_000)
    meter = cpu_meter(tmp_path)
    counter.write_text("61000000")
    meter.poll()
    counter.write_text("91000000")
    result = meter.stop()
    assert result.energy_kwh == pytest.approx(90 / 3.6e6)
    assert result.mean_power_watts == pytest.approx(45)
    assert result.source == "RAPL package"


def test_a_counter_that_goes_round_loses_nothing(tmp_path: Path) -> None:
    most = 262_143_328_850
    counter = rapl(tmp_path, "intel-rapl:0", "package-0", most - 10_000_000, most)
    meter = cpu_meter(tmp_path)
    for now in (5_000_000, most - 1_000_000, 4_000_000):
        counter.write_text(str(now))
        meter.poll()
    joules = (meter.stop().energy_kwh or 0) * 3.6e6
    assert joules == pytest.approx(10 + (most * 1e-6 - 1) + 5)


@pytest.mark.parametrize("most_uj", [None, 50])
def test_a_counter_that_falls_without_going_round_reports_nothing(
    most_uj: int | None, tmp_path: Path
) -> None:
    counter = rapl(tmp_path, "intel-rapl:0", "package-0", 1000, most_uj)
    meter = cpu_meter(tmp_path)
    counter.write_text("10")
    meter.poll()
    counter.write_text("5000")
    assert meter.stop() == UNKNOWN


def test_packages_are_added_and_their_parts_are_not(tmp_path: Path) -> None:
    names = {
        "intel-rapl:0": "package-0",
        "intel-rapl:1": "package-1",
        "intel-rapl:0:0": "core",
        "intel-rapl:0:1": "dram",
        "intel-rapl:2": "psys",
        "intel-rapl-mmio:0": "package-0",
    }
    counters = [rapl(tmp_path, domain, name, 0) for domain, name in names.items()]
    meter = cpu_meter(tmp_path)
    for counter in counters:
        counter.write_text("1000000")
    assert (meter.stop().energy_kwh or 0) * 3.6e6 == pytest.approx(2)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_counters_that_only_root_may_read_tell_nothing(tmp_path: Path) -> None:
    rapl(tmp_path, "intel-rapl:0", "package-0", 1).chmod(0)
    assert cpu_meter(tmp_path).stop() == UNKNOWN


def test_counters_that_may_not_be_read_tell_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rapl(tmp_path, "intel-rapl:0", "package-0", 1)

    def forbid(path: Path, **_: object) -> str:
        if path.name == "energy_uj":
            raise PermissionError
        return "package-0"

    monkeypatch.setattr(Path, "read_text", forbid)
    assert cpu_meter(tmp_path).stop() == UNKNOWN


@pytest.mark.parametrize("text", ["", "garbage", "-5", "1.5", "\x00"])
def test_a_counter_without_a_number_reports_nothing(text: str, tmp_path: Path) -> None:
    rapl(tmp_path, "intel-rapl:0", "package-0", 1).write_text(text)
    assert cpu_meter(tmp_path).stop() == UNKNOWN


def test_a_reading_that_fails_is_made_good_by_the_next(tmp_path: Path) -> None:
    counter = rapl(tmp_path, "intel-rapl:0", "package-0", 0)
    meter = cpu_meter(tmp_path)
    counter.unlink()
    meter.poll()
    counter.write_text("7000000")
    assert (meter.stop().energy_kwh or 0) * 3.6e6 == pytest.approx(7)


def test_a_counter_that_vanishes_for_good_reports_nothing(tmp_path: Path) -> None:
    counter = rapl(tmp_path, "intel-rapl:0", "package-0", 0)
    other = rapl(tmp_path, "intel-rapl:1", "package-1", 0)
    meter = cpu_meter(tmp_path)
    counter.write_text("7000000")
    meter.poll()
    other.unlink()
    assert meter.stop() == UNKNOWN


def test_a_counter_that_stands_still_is_unknown_and_not_zero(tmp_path: Path) -> None:
    rapl(tmp_path, "intel-rapl:0", "package-0", 5)
    assert cpu_meter(tmp_path).stop() == UNKNOWN


@pytest.mark.parametrize("device", ["cpu", "gpu", "tpu"])
def test_a_machine_without_any_meter_reports_nothing(device: str, tmp_path: Path) -> None:
    meter = EnergyMeter(device=device, visible="", sysfs=tmp_path)
    assert meter.stop() == UNKNOWN, "not even started"
    meter.start()
    meter.poll()
    assert meter.stop() == UNKNOWN


def test_on_this_machine_it_reports_all_or_nothing() -> None:
    meter = EnergyMeter()
    meter.start()
    meter.poll()
    result = meter.stop()
    assert result == UNKNOWN or None not in (
        result.energy_kwh,
        result.mean_power_watts,
        result.source,
    )


def test_a_meter_may_be_used_again(tmp_path: Path) -> None:
    counter = rapl(tmp_path, "intel-rapl:0", "package-0", 0)
    meter = cpu_meter(tmp_path)
    counter.write_text("1000000")
    first = meter.stop()
    meter.start()
    counter.write_text("2000000")
    assert meter.stop() == first


# -- NVML: against a stand-in, because no card exists where these tests run ------------------------


def gpu_meter(monkeypatch: pytest.MonkeyPatch, *cards: Card) -> EnergyMeter:
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(cards))
    meter = EnergyMeter(device="gpu", clock=every_second())
    meter.start()
    return meter


def test_energy_of_cards_is_the_sum_of_their_counters(monkeypatch: pytest.MonkeyPatch) -> None:
    # the first answer only shows that there is a counter
    meter = gpu_meter(
        monkeypatch,
        Card(energies=[0, 1_000_000, 1_300_000, 1_700_000]),
        Card(energies=[0, 5_000_000, 5_300_000, 5_700_000]),
    )
    meter.poll()
    result = meter.stop()
    assert result.energy_kwh == pytest.approx(1400 / 3.6e6)
    assert result.mean_power_watts == pytest.approx(700)
    assert result.source == "NVML counter"


def test_a_driver_loaded_anew_makes_the_energy_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    meter = gpu_meter(monkeypatch, Card(energies=[0, 9_000, 100, 20_000]))
    meter.poll()
    assert meter.stop() == UNKNOWN


def test_without_a_counter_power_is_integrated(monkeypatch: pytest.MonkeyPatch) -> None:
    meter = gpu_meter(monkeypatch, Card(powers=[0, 100_000, 300_000, 100_000]))
    meter.poll()
    result = meter.stop()
    assert result.energy_kwh == pytest.approx((200 + 200) / 3.6e6)
    assert result.mean_power_watts == pytest.approx(200)
    assert result.source == "NVML power, integrated"


def test_no_straight_line_is_drawn_over_a_long_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    cards = FakeNvml([Card(powers=[0, 100_000, 100_000])])
    monkeypatch.setitem(sys.modules, "pynvml", cards)
    meter = EnergyMeter(device="gpu", clock=iter([0.0, 3600.0]).__next__)
    meter.start()
    assert meter.stop() == UNKNOWN
    assert cards.opened == 0


def test_a_card_lost_on_the_way_makes_the_energy_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    meter = gpu_meter(monkeypatch, Card(energies=[0, 1000, 2000]), Card(energies=[0, 1000]))
    meter.poll()
    assert meter.stop() == UNKNOWN


def test_the_processors_energy_is_never_taken_for_the_cards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = rapl(tmp_path, "intel-rapl:0", "package-0", 0)
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml([Card()]))
    meter = EnergyMeter(device="gpu", sysfs=tmp_path, clock=every_second())
    meter.start()
    counter.write_text("1000000")
    assert meter.stop() == UNKNOWN
