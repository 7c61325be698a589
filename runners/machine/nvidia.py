"""Facts of NVIDIA cards from NVML; unknown values are None, and nothing raises.

nvidia-ml-py is optional and imported where it is used. Cards are chosen as CUDA would choose
them; indices mean NVML's order (by PCI bus), which is why the measured child is told
CUDA_DEVICE_ORDER=PCI_BUS_ID (`runners.machine.environment`). UUIDs are compared with
CUDA_VISIBLE_DEVICES and forgotten: they name one card of one owner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import Any, Final

REASONS: Final = MappingProxyType(
    {
        "nvmlClocksThrottleReasonGpuIdle": "idle",
        "nvmlClocksThrottleReasonApplicationsClocksSetting": "clocks set by hand",
        "nvmlClocksThrottleReasonSwPowerCap": "power cap",
        "nvmlClocksThrottleReasonHwSlowdown": "hardware slowdown",
        "nvmlClocksThrottleReasonSyncBoost": "sync boost",
        "nvmlClocksThrottleReasonSwThermalSlowdown": "heat (software)",
        "nvmlClocksThrottleReasonHwThermalSlowdown": "heat (hardware)",
        "nvmlClocksThrottleReasonHwPowerBrakeSlowdown": "power brake",
        "nvmlClocksThrottleReasonDisplayClockSetting": "display clocks",
    }
)
"""NVML's constants and their words; the older names, which all versions of the package have."""
_P2P_READ: Final = 0
"""NVML_P2P_CAPS_INDEX_READ, which nvidia-ml-py 13 holds as the tuple (0,): a stray comma there."""


@dataclass(frozen=True, slots=True)
class Cards:
    """The cards a run may use, in CUDA's order; without NVML no cards and no answers."""

    nvml: Any
    handles: tuple[Any, ...]

    def close(self) -> None:
        """Give NVML back; NVML itself counts how often it was opened."""
        if self.nvml is not None:
            _ask(self.nvml, "nvmlShutdown")

    def name(self) -> str | None:
        """Model name; different cards side by side are all named."""
        names = [_words(self._first(h, "nvmlDeviceGetName")) for h in self.handles]
        known = list(dict.fromkeys(n for n in names if n))
        mig = ", a part of it (MIG)" if known and self.is_shared() else ""
        return " + ".join(known) + mig if known else None

    def memory_bytes(self) -> int | None:
        """Memory of the smallest card [bytes]; None where the run gets only a MIG part of it."""
        told = [self._first(h, "nvmlDeviceGetMemoryInfo") for h in self.handles]
        if not told or self.is_shared() or any(t is None for t in told):
            return None
        return min(int(t.total) for t in told)

    def is_shared(self) -> bool:
        """Whether a whole card in MIG mode was chosen: its numbers are not the run's alone."""
        modes = [self._first(h, "nvmlDeviceGetMigMode") for h in self.handles]
        return any(mode is not None and mode[0] == 1 for mode in modes)

    def driver(self) -> str | None:
        """Driver and the newest CUDA it can serve, as "570.86.15, CUDA 12.8"."""
        version = _words(_ask(self.nvml, "nvmlSystemGetDriverVersion"))
        cuda = _ask(self.nvml, "nvmlSystemGetCudaDriverVersion")
        newest = f", CUDA {cuda // 1000}.{cuda % 1000 // 10}" if cuda else ""
        return version + newest if version else None

    def host_link(self) -> str | None:
        """Link to the host at its best: the current generation falls while a card is idle."""
        if not self.handles:
            return None
        generation = self._first(self.handles[0], "nvmlDeviceGetMaxPcieLinkGeneration")
        width = self._first(self.handles[0], "nvmlDeviceGetMaxPcieLinkWidth")
        return f"PCIe {generation}.0 x{width}" if generation and width else None

    def interconnect(self) -> str | None:
        """Link between the cards; None for fewer than two."""
        if len(self.handles) < 2:
            return None
        links = min(self._nvlinks(h) for h in self.handles)
        return f"NVLink, {links} links" if links else "PCIe"

    def peer_to_peer(self) -> bool | None:
        """Whether every pair reads each other's memory directly; None for fewer than two."""
        pairs = [
            _ask(self.nvml, "nvmlDeviceGetP2PStatus", a, b, _P2P_READ)
            for a, b in combinations(self.handles, 2)
        ]
        return None if not pairs or None in pairs else all(status == 0 for status in pairs)

    def clocks(self) -> str | None:
        """Clocks, power limit and throttle reasons of the first card at this moment."""
        if not self.handles:
            return None
        card = self.handles[0]
        sm, memory = (self._clock(card, c) for c in ("NVML_CLOCK_SM", "NVML_CLOCK_MEM"))
        limit = self._first(card, "nvmlDeviceGetEnforcedPowerLimit")
        told = [
            f"SM {sm} MHz" if sm is not None else "",
            f"memory {memory} MHz" if memory is not None else "",
            f"limit {limit / 1000:.0f} W" if limit else "",
            self._throttle(card),
        ]
        return ", ".join(t for t in told if t) or None

    def energy_joules(self) -> tuple[float, ...] | None:
        """Energy of each card since its driver was loaded [J]; None unless all can tell."""
        return self._each("nvmlDeviceGetTotalEnergyConsumption", 1e-3)  # told in mJ

    def power_watts(self) -> tuple[float, ...] | None:
        """Power each card draws [W]; None unless all can tell."""
        return self._each("nvmlDeviceGetPowerUsage", 1e-3)  # told in mW

    def _each(self, name: str, unit: float) -> tuple[float, ...] | None:
        if self.is_shared():  # whoever else holds a part of the card draws power too
            return None
        told = [self._first(h, name) for h in self.handles]
        return None if not told or None in told else tuple(t * unit for t in told)

    def _clock(self, card: object, kind: str) -> int | None:
        told: int | None = self._first(
            card, "nvmlDeviceGetClockInfo", getattr(self.nvml, kind, None)
        )
        return told

    def _throttle(self, card: object) -> str:
        bits = self._first(card, "nvmlDeviceGetCurrentClocksEventReasons")
        if bits is None:  # the name before driver 535
            bits = self._first(card, "nvmlDeviceGetCurrentClocksThrottleReasons")
        if bits is None:
            return ""
        why = [word for name, word in REASONS.items() if bits & getattr(self.nvml, name, 0)]
        return f"held back by {', '.join(why)}" if why else "not held back"

    def _nvlinks(self, card: object) -> int:
        """Active NVLinks; cards without any answer with an error to the first question."""
        states = [
            self._first(card, "nvmlDeviceGetNvLinkState", link)
            for link in range(getattr(self.nvml, "NVML_NVLINK_MAX_LINKS", 0))
        ]
        return sum(state == 1 for state in states)

    def _first(self, card: object, name: str, *more: object) -> Any:  # noqa: ANN401 - NVML's own
        return _ask(self.nvml, name, card, *more)


def open_cards(visible: str | None, count: int | None = None) -> Cards:
    """The first `count` of the cards that CUDA_VISIBLE_DEVICES=`visible` shows; close them after.

    None shows all. Without the package, the driver or a card: `Cards` without cards.
    """
    try:
        import pynvml
    except ImportError:
        return Cards(None, ())
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return Cards(None, ())
    found = [
        _ask(pynvml, "nvmlDeviceGetHandleByIndex", i)
        for i in range(_ask(pynvml, "nvmlDeviceGetCount") or 0)
    ]
    return Cards(pynvml, tuple(_choose(pynvml, found, visible)[:count]))


def _choose(nvml: Any, found: Sequence[Any], visible: str | None) -> list[Any]:  # noqa: ANN401
    """Handles in the order of the list, which ends at its first entry that fits nothing (CUDA)."""
    if visible is None:
        return [card for card in found if card is not None]
    chosen: list[Any] = []
    for entry in visible.split(","):
        card = _named(nvml, found, entry.strip())
        if card is None:
            break
        chosen.append(card)
    return chosen


def _named(nvml: Any, found: Sequence[Any], entry: str) -> Any:  # noqa: ANN401
    """The card of an index, of the beginning of one UUID, or a MIG part by its whole UUID."""
    if entry.isdecimal():
        return found[int(entry)] if int(entry) < len(found) else None
    if entry.startswith("MIG-"):
        return _ask(nvml, "nvmlDeviceGetHandleByUUID", entry)
    uuids = [_words(_ask(nvml, "nvmlDeviceGetUUID", card)) or "" for card in found]
    fit = [card for card, uuid in zip(found, uuids, strict=True) if uuid.startswith(entry)]
    return fit[0] if entry.startswith("GPU-") and len(fit) == 1 else None


def _ask(nvml: Any, name: str, *given: Any) -> Any:  # noqa: ANN401 - NVML's own types
    """One answer of NVML; None where the card, the driver or the package cannot give it."""
    question = getattr(nvml, name, None)
    if question is None or None in given:
        return None
    try:
        return question(*given)
    except nvml.NVMLError:
        return None


def _words(told: str | bytes | None) -> str | None:
    """Text of an answer: older packages answered in bytes."""
    return told.decode(errors="replace") if isinstance(told, bytes) else told
