"""A stand-in for `pynvml`: no NVIDIA card exists where the tests run, so the answers are made up.

Its names are checked against the real package (test_machine.py), its numbers are a data sheet's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import pynvml

_CONSTANTS = re.compile(r"nvmlClocksThrottleReason\w+|NVML_CLOCK_(SM|MEM)|NVML_NVLINK_MAX_LINKS")
REAL = {name: getattr(pynvml, name) for name in dir(pynvml) if _CONSTANTS.fullmatch(name)}


@dataclass(frozen=True)
class Card:
    """What one made-up card answers; energies [mJ] and powers [mW] are told one after another."""

    name: str | bytes = "NVIDIA H200"
    uuid: str = "GPU-0"
    links: int = 18
    reasons: int = 0
    mig: int = 0
    energies: list[int] = field(default_factory=list)
    powers: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Question:
    """A function of NVML."""

    name: str


class FakeNvml(ModuleType):
    """Stands in `sys.modules`; `deaf` functions raise NVMLError, `lacking` ones do not exist."""

    NVMLError = pynvml.NVMLError

    def __init__(
        self,
        cards: Iterable[Card],
        *,
        p2p: int = 0,
        parts: Mapping[str, int] | None = None,
        deaf: Iterable[str] = (),
        lacking: Iterable[str] = (),
    ) -> None:
        super().__init__("pynvml")
        self.cards = tuple(cards)
        self.opened = 0
        answers: dict[str, Any] = {
            "nvmlInit": lambda: self._open(1),
            "nvmlShutdown": lambda: self._open(-1),
            "nvmlDeviceGetCount": lambda: len(self.cards),
            "nvmlDeviceGetHandleByIndex": lambda i: self.cards[i],
            "nvmlDeviceGetHandleByUUID": lambda uuid: self.cards[(parts or {})[uuid]],
            "nvmlDeviceGetUUID": lambda card: card.uuid,
            "nvmlDeviceGetName": lambda card: card.name,
            "nvmlDeviceGetMemoryInfo": lambda _: SimpleNamespace(total=141 * 2**30),
            "nvmlDeviceGetMigMode": lambda card: [card.mig, card.mig],
            "nvmlSystemGetDriverVersion": lambda: "570.86.15",
            "nvmlSystemGetCudaDriverVersion": lambda: 12080,
            "nvmlDeviceGetMaxPcieLinkGeneration": lambda _: 5,
            "nvmlDeviceGetMaxPcieLinkWidth": lambda _: 16,
            "nvmlDeviceGetP2PStatus": lambda _a, _b, _which: p2p,
            "nvmlDeviceGetNvLinkState": lambda card, link: int(link < card.links),
            "nvmlDeviceGetClockInfo": lambda _, kind: {1: 1980, 2: 3201}[kind],
            "nvmlDeviceGetEnforcedPowerLimit": lambda _: 700_000,
            "nvmlDeviceGetCurrentClocksEventReasons": lambda card: card.reasons,
            "nvmlDeviceGetCurrentClocksThrottleReasons": lambda card: card.reasons,
            "nvmlDeviceGetTotalEnergyConsumption": lambda card: _next(card.energies),
            "nvmlDeviceGetPowerUsage": lambda card: _next(card.powers),
        }
        vars(self).update(REAL)
        vars(self).update({n: a for n, a in answers.items() if n not in set(lacking)})
        vars(self).update(dict.fromkeys(deaf, _refuse))

    def _open(self, by: int) -> None:
        self.opened += by

    @classmethod
    def questions(cls) -> list[Question]:
        """All functions but the one that opens it (a package cannot lack that)."""
        names = [n for n in vars(cls(())) if n.startswith("nvml") and "Reason" not in n]
        return [Question(n) for n in (*names, *_REASONS) if n != "nvmlInit"]


_REASONS = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")


def _refuse(*_: object) -> None:
    raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)


def _next(answers: list[int]) -> int:
    """The next answer; a card that has none left refuses."""
    if not answers:
        _refuse()
    return answers.pop(0)
