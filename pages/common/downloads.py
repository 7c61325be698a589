"""Download buttons side by side under a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from pages.common import widgets


@dataclass(frozen=True, slots=True)
class File:
    """A file that is made at the click: label, function that makes it, name, widget key."""

    label: str
    make: Callable[[], bytes | str]
    name: str
    key: str


def row(files: Sequence[File]) -> None:
    """Draw a button per file, in columns of equal width."""
    for place, file in zip(st.columns(len(files)), files, strict=True):
        with place:
            widgets.download(file.label, file.make, file.name, key=file.key)
