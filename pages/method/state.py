"""The figures of the back-test, cached until their file changes."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from backtest.accuracy.file import read_accuracy
from backtest.accuracy.seconds_file import read_seconds
from backtest.accuracy.verdicts import Accuracy, accuracy_of
from pages.common.store import ROOT

PLACE = ROOT / "data" / "accuracy.parquet"


@st.cache_resource(show_spinner=False, max_entries=2)
def _kept(path: str, state: tuple[int, ...]) -> Accuracy:  # noqa: ARG001 - it is the key
    place = Path(path)
    return accuracy_of(read_accuracy(place), read_seconds(_seconds_of(place)))


def _seconds_of(place: Path) -> Path:
    return place.with_name(f"{place.stem}-seconds{place.suffix}")


def _state(place: Path) -> tuple[int, ...]:
    now = place.stat()
    return now.st_mtime_ns, now.st_size


def accuracy() -> Accuracy | str:
    """Return all figures, or why they are missing."""
    try:
        seconds = _seconds_of(PLACE)
        beside = _state(seconds) if seconds.is_file() else ()
        return _kept(str(PLACE), _state(PLACE) + beside)
    except FileNotFoundError:
        return "The file data/accuracy.parquet is missing."
    except (OSError, ValueError) as error:
        return str(error)
