"""Energy of a run, read outside the measured process from one named source.

NVML measures a GPU's run, RAPL a CPU's. The two are never added: a sum of one card and one
processor is neither the machine's energy nor the run's. The readings are of whole cards and
processor packages, including other programs that use them.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from runners.machine import nvidia

JOULES_PER_KWH: Final = 3.6e6
GAP_S: Final = 10.0
"""Longest gap between two power readings that is interpolated linearly [s]."""

Reading = tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy:
    """Energy [kWh] and mean power [W] between start and stop, and their source."""

    energy_kwh: float | None = None
    mean_power_watts: float | None = None
    source: str | None = None


UNKNOWN: Final = Energy()


@dataclass(slots=True)
class _Counted:
    """Energy from growing counters [J]; each wraps at its span in `spans` [J], if known.

    The next reading makes up for a failed one, unless a counter wrapped twice.
    """

    source: str
    read: Callable[[], Reading | None]
    spans: Sequence[float | None]
    joules: float | None = 0.0
    last: Reading | None = None

    def take(self, _now_s: float) -> bool:
        """Add the energy since the last reading; return False if the reading failed."""
        now = self.read()
        if now is None:
            return False
        if self.last is not None and self.joules is not None:
            steps = [_step(*s) for s in zip(self.last, now, self.spans, strict=True)]
            valid = [s for s in steps if s is not None]
            self.joules = self.joules + sum(valid) if len(valid) == len(steps) else None
        self.last = now
        return True


@dataclass(slots=True)
class _Integrated:
    """Energy [J] as the integral of power readings [W] by the trapezoidal rule."""

    source: str
    read: Callable[[], Reading | None]
    joules: float | None = 0.0
    last: tuple[float, float] | None = None

    def take(self, now_s: float) -> bool:
        """Add the trapezoid since the last reading; return False if the reading failed."""
        powers = self.read()
        if powers is None:
            return False
        watts = sum(powers)
        if self.last is not None and self.joules is not None:
            gap_s = now_s - self.last[0]
            area = gap_s * (self.last[1] + watts) / 2
            self.joules = self.joules + area if gap_s <= GAP_S else None
        self.last = (now_s, watts)
        return True


_Source = _Counted | _Integrated


@dataclass(slots=True)
class EnergyMeter:
    """Reads one source from `start` to `stop`; `poll` it about once a second in between.

    RAPL counters wrap within minutes (262 kJ: 22 min at 200 W), so polls must not be rarer.
    Nothing raises; unknown values are None. A meter may be started again.
    """

    device: str = "cpu"
    devices: int | None = None
    """Number of cards in use, from the first visible one; None means all."""
    visible: str | None = None
    """CUDA_VISIBLE_DEVICES of the measured process."""
    sysfs: Path = Path("/sys")
    clock: Callable[[], float] = time.perf_counter
    _cards: nvidia.Cards = field(default=nvidia.Cards(None, ()), init=False)
    _source: _Source | None = field(default=None, init=False)
    _from_s: float = field(default=0.0, init=False)

    def start(self) -> None:
        """Choose the source and make the first reading."""
        self._cards.close()
        if self.device == "gpu":
            self._cards = nvidia.open_cards(self.visible, self.devices)
        self._source = self._choose()
        self._from_s = self.clock()
        if self._source is not None and not self._source.take(self._from_s):
            self._source = None

    def poll(self) -> None:
        """Read once more."""
        if self._source is not None:
            self._source.take(self.clock())

    def stop(self) -> Energy:
        """Return the energy after a last reading; unknown if that reading fails."""
        source, now_s = self._source, self.clock()
        complete = source is not None and source.take(now_s)
        self._cards.close()
        self._cards, self._source = nvidia.Cards(None, ()), None
        if source is None or not complete or not source.joules or now_s <= self._from_s:
            return UNKNOWN
        return Energy(
            energy_kwh=source.joules / JOULES_PER_KWH,
            mean_power_watts=source.joules / (now_s - self._from_s),
            source=source.source,
        )

    def _choose(self) -> _Source | None:
        if self.device == "gpu":
            if self._cards.energy_joules() is not None:
                return _Counted(
                    "NVML counter", self._cards.energy_joules, [None] * len(self._cards.handles)
                )
            if self._cards.power_watts() is not None:
                return _Integrated("NVML power, integrated", self._cards.power_watts)
            return None
        return _of_packages(self.sysfs) if self.device == "cpu" else None


def _of_packages(sysfs: Path) -> _Source | None:
    """Return RAPL's package domains, on Intel and (since Linux 5.8) AMD; often root only."""
    top = sorted(sysfs.glob("class/powercap/intel-rapl:*"))
    packages = [p for p in top if (_text(p / "name") or "").startswith("package")]
    spans = [_joules(p / "max_energy_range_uj") for p in packages]

    def read() -> Reading | None:
        joules = [_joules(p / "energy_uj") for p in packages]
        valid = [t for t in joules if t is not None]
        return tuple(valid) if valid and len(valid) == len(joules) else None

    return _Counted("RAPL package", read, spans) if packages else None


def _step(before: float, now: float, span: float | None) -> float | None:
    """Return a counter's increase between two readings; None if it fell without wrapping."""
    if now >= before:
        return now - before
    return now - before + span if span is not None and before <= span else None


def _text(path: Path) -> str | None:
    """Return a small file's text; None if it is missing or unreadable."""
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return None


def _joules(path: Path) -> float | None:
    """Return the value of a file in microjoules, in J; None if invalid."""
    text = _text(path)
    return int(text) * 1e-6 if text is not None and text.isdecimal() else None
