"""Damaged result files: bits flipped, pieces cut, put in, blanked, appended; re-sealed or not."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from planner.store import Store, commit_runs
from planner.store.sealed.seal import SealError, seal_bytes
from tests.store.build import EPOCHS, EVALUATIONS, STEPS, a_set, row, together

Change = Callable[[random.Random, bytearray], None]
_TAIL: Final = 8
"""Bytes behind a footer: its length and PAR1."""


def _flip(draw: random.Random, data: bytearray) -> None:
    for _ in range(draw.choice((1, 1, 2, 8))):
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)


def _cut(draw: random.Random, data: bytearray) -> None:
    at = draw.randrange(len(data))
    del data[at : at + draw.choice((1, 4, 64, len(data)))]


def _insert(draw: random.Random, data: bytearray) -> None:
    at = draw.randrange(len(data))
    data[at:at] = draw.randbytes(draw.choice((1, 4, 64, 4096)))


def _zeros(draw: random.Random, data: bytearray) -> None:
    at = draw.randrange(len(data))
    count = min(draw.choice((1, 8, 256)), len(data) - at)
    data[at : at + count] = bytes(count)


def _tail(draw: random.Random, data: bytearray) -> None:
    data += draw.choice((b"\0", b"PAR1", draw.randbytes(16), bytes(data[-64:])))


def _footer_byte(draw: random.Random, data: bytearray) -> None:
    """One byte of the footer, most often near its start, where its structure is told."""
    length = int.from_bytes(data[-_TAIL:-4], "little")
    start = max(4, len(data) - _TAIL - length)
    span = max(1, len(data) - _TAIL - start)
    at = start + min(span - 1, int(draw.expovariate(1 / 40)))
    data[draw.choice((start, at, draw.randrange(start, start + span)))] = draw.randrange(256)


def _footer_length(draw: random.Random, data: bytearray) -> None:
    data[-_TAIL:-4] = draw.choice(
        (b"\0\0\0\0", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", draw.randbytes(4))
    )


CHANGES: Final[Mapping[str, Change]] = MappingProxyType(
    {
        "flipped": _flip,
        "cut": _cut,
        "inserted": _insert,
        "blanked": _zeros,
        "appended": _tail,
        "footer byte": _footer_byte,
        "footer length": _footer_length,
    }
)


def unsealed(draw: random.Random, whole: bytes) -> tuple[str, bytes]:
    """A kind of damage, and the damaged file."""
    while True:
        kind = draw.choice(tuple(CHANGES))
        data = bytearray(whole)
        CHANGES[kind](draw, data)
        if bytes(data) != whole:
            return kind, bytes(data)


def resealed(draw: random.Random, whole: bytes) -> tuple[str, bytes]:
    """The same with a seal that fits: sealing is no secret, so anyone can do it."""
    while True:
        kind, data = unsealed(draw, whole)
        try:
            sealed = seal_bytes(data)
        except SealError:
            continue
        if sealed != whole:
            return kind, sealed


def single_file(place: Path, number: int = 0) -> bytes:
    """A sealed file of one run with everything nested in it; another run by its number."""
    [done] = commit_runs(place, [_whole_row(number)])
    whole = done.path.read_bytes()
    done.path.unlink()
    return whole


def merged_file(place: Path, first: int = 0, runs: int = 12) -> bytes:
    """A sealed file of many such runs, from that number on."""
    path = together(place, [_whole_row(n) for n in range(first, first + runs)])
    whole = path.read_bytes()
    path.unlink()
    return whole


def good_runs(root: Path) -> Path:
    """A result set with single and merged runs on two systems, beside which others are bad."""
    place = a_set(root, [_good_row(n) for n in range(8)], slug="good")
    together(place, [_good_row(n) for n in range(8, 16)])
    return place


def shown_of(store: Store, model: str) -> list[tuple[Any, ...]]:
    """Every summary column of a model's runs but where they lie."""
    return store.rows("SELECT * EXCLUDE (file) FROM runs WHERE model = ? ORDER BY run_id", [model])


def _good_row(number: int) -> dict[str, Any]:
    return _timed(
        result_set="good",
        model="Good net",
        system_name=f"Good {number % 2}",
        global_batch_size=32 << (number // 2 % 4),
        repeat=number // 8,
        later_epoch_mean_s=10.0 + number,
    )


def _whole_row(number: int) -> dict[str, Any]:
    return _timed(
        result_set="bad",
        model="Bad net",
        system_name="Bad machine",
        repeat=number,
        evaluations=EVALUATIONS,
        steps=STEPS,
    )


def _timed(**changes: object) -> dict[str, Any]:
    """A run of two epochs: 12.5 s, then 10.1 s or what `changes` says."""
    later = changes.get("later_epoch_mean_s", 10.1)
    epochs = [EPOCHS[0], EPOCHS[1] | {"epoch_s": later}]
    known = {
        "dataset": "CIFAR-10", "samples_per_epoch": 50_000, "train_samples": 50_000,
        "pre_train_s": 1.5, "first_epoch_s": 12.5, "later_epoch_mean_s": later,
        "epochs_measured": 2, "epochs": epochs,
    }  # fmt: skip
    return row(**(known | changes))
