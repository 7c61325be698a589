"""The figures of the back-test, read once for every state of their file."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.parts.state import ROOT
from planner.accuracy import Accuracy, accuracy_of
from planner.store.accuracy import read_accuracy

PLACE = ROOT / "data" / "accuracy.parquet"


@st.cache_resource(show_spinner=False, max_entries=2)
def _kept(path: str, modified_ns: int, size: int) -> Accuracy:  # noqa: ARG001 - both are the key
    return accuracy_of(read_accuracy(Path(path)))


def accuracy() -> Accuracy | str:
    """All figures, or why there are none."""
    try:
        now = PLACE.stat()
        return _kept(str(PLACE), now.st_mtime_ns, now.st_size)
    except FileNotFoundError:
        return "The file data/accuracy.parquet is not there."
    except (OSError, ValueError) as error:
        return str(error)
