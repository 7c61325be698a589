"""Several files side by side under a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from pages.common import widgets


@dataclass(frozen=True, slots=True)
class File:
    """A file that is made when it is clicked: its label, its bytes, its name, the widget's key."""

    label: str
    make: Callable[[], bytes | str]
    name: str
    key: str


def row(files: Sequence[File]) -> None:
    """A button for each file, in columns of equal width."""
    for place, file in zip(st.columns(len(files)), files, strict=True):
        with place:
            widgets.download(file.label, file.make, file.name, key=file.key)
