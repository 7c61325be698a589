"""Facts of NVIDIA cards from NVML; unknown values are None, and nothing raises.

nvidia-ml-py is optional and imported where it is used. Cards are chosen as CUDA chooses them.
Indices are in NVML's order (by PCI bus), so the measured child gets
CUDA_DEVICE_ORDER=PCI_BUS_ID (`runners.machine.environment`). UUIDs are compared with
CUDA_VISIBLE_DEVICES and never stored: they identify one card of one owner.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import Any, Final

from planner.core import Text

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
"""NVML's constants and their words; these older names exist in all package versions."""
_P2P_READ: Final = 0
"""NVML_P2P_CAPS_INDEX_READ; nvidia-ml-py 13 defines it as the tuple (0,) by mistake."""


@dataclass(frozen=True, slots=True)
class Cards:
    """The cards that a run may use, in CUDA's order; empty without NVML."""

    nvml: Any
    handles: tuple[Any, ...]

    def close(self) -> None:
        """Release NVML; NVML counts its openings."""
        if self.nvml is not None:
            _query(self.nvml, "nvmlShutdown")

    def name(self) -> str | None:
        """Return the model name; different models are joined with " + "."""
        names = [_words(self._first(h, "nvmlDeviceGetName")) for h in self.handles]
        distinct = list(dict.fromkeys(n for n in names if n))
        name = " + ".join(distinct)
        if name and self.is_shared():
            return Text("{name}, a part of it (MIG)", name=name)
        return name or None

    def memory_bytes(self) -> int | None:
        """Return the memory of the smallest card [bytes]; None if the run gets a MIG part."""
        infos = [self._first(h, "nvmlDeviceGetMemoryInfo") for h in self.handles]
        if not infos or self.is_shared() or any(t is None for t in infos):
            return None
        return min(int(t.total) for t in infos)

    def is_shared(self) -> bool:
        """Return whether a card is in MIG mode: its readings include other runs."""
        modes = [self._first(h, "nvmlDeviceGetMigMode") for h in self.handles]
        return any(mode is not None and mode[0] == 1 for mode in modes)

    def driver(self) -> str | None:
        """Return the driver and its newest supported CUDA, as "570.86.15, CUDA 12.8"."""
        version = _words(_query(self.nvml, "nvmlSystemGetDriverVersion"))
        cuda = _query(self.nvml, "nvmlSystemGetCudaDriverVersion")
        newest = f", CUDA {cuda // 1000}.{cuda % 1000 // 10}" if cuda else ""
        return version + newest if version else None

    def host_link(self) -> str | None:
        """Return the fastest link to the host; the current generation drops on an idle card."""
        if not self.handles:
            return None
        generation = self._first(self.handles[0], "nvmlDeviceGetMaxPcieLinkGeneration")
        width = self._first(self.handles[0], "nvmlDeviceGetMaxPcieLinkWidth")
        return f"PCIe {generation}.0 x{width}" if generation and width else None

    def interconnect(self) -> str | None:
        """Return the link between the cards; None for fewer than two cards."""
        if len(self.handles) < 2:
            return None
        links = min(self._nvlinks(h) for h in self.handles)
        return Text("NVLink, {links} links", links=links) if links else "PCIe"

    def peer_to_peer(self) -> bool | None:
        """Return whether all pairs of cards read each other's memory; None for fewer than two."""
        pairs = [
            _query(self.nvml, "nvmlDeviceGetP2PStatus", a, b, _P2P_READ)
            for a, b in combinations(self.handles, 2)
        ]
        return None if not pairs or None in pairs else all(status == 0 for status in pairs)

    def clocks(self) -> str | None:
        """Return the current clocks, power limit and throttle reasons of the first card."""
        if not self.handles:
            return None
        card = self.handles[0]
        sm, memory = (self._clock(card, c) for c in ("NVML_CLOCK_SM", "NVML_CLOCK_MEM"))
        limit = self._first(card, "nvmlDeviceGetEnforcedPowerLimit")
        parts = [
            Text("SM {mhz} MHz", mhz=sm) if sm is not None else "",
            Text("memory {mhz} MHz", mhz=memory) if memory is not None else "",
            f"limit {limit / 1000:.0f} W" if limit else "",
            self._throttle(card),
        ]
        return ", ".join(t for t in parts if t) or None

    def energy_joules(self) -> tuple[float, ...] | None:
        """Return each card's energy since its driver was loaded [J]; None unless all have it."""
        return self._each("nvmlDeviceGetTotalEnergyConsumption", 1e-3)  # in mJ

    def power_watts(self) -> tuple[float, ...] | None:
        """Return the power of each card [W]; None unless all report it."""
        return self._each("nvmlDeviceGetPowerUsage", 1e-3)  # in mW

    def _each(self, name: str, unit: float) -> tuple[float, ...] | None:
        if self.is_shared():  # other users of the card draw power too
            return None
        values = [self._first(h, name) for h in self.handles]
        return None if not values or None in values else tuple(t * unit for t in values)

    def _clock(self, card: object, kind: str) -> int | None:
        mhz: int | None = self._first(
            card, "nvmlDeviceGetClockInfo", getattr(self.nvml, kind, None)
        )
        return mhz

    def _throttle(self, card: object) -> str:
        bits = self._first(card, "nvmlDeviceGetCurrentClocksEventReasons")
        if bits is None:  # the name before driver 535
            bits = self._first(card, "nvmlDeviceGetCurrentClocksThrottleReasons")
        if bits is None:
            return ""
        why = [word for name, word in REASONS.items() if bits & getattr(self.nvml, name, 0)]
        return Text("held back by {reasons}", reasons=", ".join(why)) if why else "not held back"

    def _nvlinks(self, card: object) -> int:
        """Return the number of active NVLinks; cards without them return errors."""
        states = [
            self._first(card, "nvmlDeviceGetNvLinkState", link)
            for link in range(getattr(self.nvml, "NVML_NVLINK_MAX_LINKS", 0))
        ]
        return sum(state == 1 for state in states)

    def _first(self, card: object, name: str, *more: object) -> Any:  # noqa: ANN401 - NVML's own
        return _query(self.nvml, name, card, *more)


def open_cards(visible: str | None, count: int | None = None) -> Cards:
    """Return the first `count` cards that CUDA_VISIBLE_DEVICES=`visible` shows; close them.

    None shows all. Empty `Cards` without the package, the driver or a card.
    """
    try:
        import pynvml
    except ImportError:
        return Cards(None, ())
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return Cards(None, ())
    cards = [
        _query(pynvml, "nvmlDeviceGetHandleByIndex", i)
        for i in range(_query(pynvml, "nvmlDeviceGetCount") or 0)
    ]
    return Cards(pynvml, tuple(_choose(pynvml, cards, visible)[:count]))


def _choose(nvml: Any, cards: Sequence[Any], visible: str | None) -> list[Any]:  # noqa: ANN401
    """Return handles in the order of `visible`; as in CUDA, an invalid entry ends the list."""
    if visible is None:
        return [card for card in cards if card is not None]
    chosen: list[Any] = []
    for entry in visible.split(","):
        card = _named(nvml, cards, entry.strip())
        if card is None:
            break
        chosen.append(card)
    return chosen


def _named(nvml: Any, cards: Sequence[Any], entry: str) -> Any:  # noqa: ANN401
    """Return the card of an index or a UUID prefix, or the MIG part of a full UUID."""
    if entry.isdecimal():
        return cards[int(entry)] if int(entry) < len(cards) else None
    if entry.startswith("MIG-"):
        return _query(nvml, "nvmlDeviceGetHandleByUUID", entry)
    uuids = [_words(_query(nvml, "nvmlDeviceGetUUID", card)) or "" for card in cards]
    fit = [card for card, uuid in zip(cards, uuids, strict=True) if uuid.startswith(entry)]
    return fit[0] if entry.startswith("GPU-") and len(fit) == 1 else None


def _query(nvml: Any, name: str, *arguments: Any) -> Any:  # noqa: ANN401 - NVML's own types
    """Return a value from NVML; None if the card, driver or package does not support it."""
    function = getattr(nvml, name, None)
    if function is None or None in arguments:
        return None
    try:
        return function(*arguments)
    except nvml.NVMLError:
        return None


def _words(text: str | bytes | None) -> str | None:
    """Return text; older packages return bytes."""
    return text.decode(errors="replace") if isinstance(text, bytes) else text
