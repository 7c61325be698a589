"""What every answer is recorded in: all that ships, no files of a user, one clock, one store.

Only what has a name outside the program is used, so that moves of modules change nothing here.
"""

from __future__ import annotations

import functools
import importlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest
import streamlit as st

from pages.common import widgets
from planner.store import Folder, Store

ROOT: Final = Path(__file__).parent.parent.parent
NOW: Final = datetime(2026, 11, 23, 9, 0, tzinfo=UTC)
OWN_CATALOG: Final = "EPOCHWISE_CATALOG"
NOWHERE: Final = ("EPOCHWISE_RESULTS", OWN_CATALOG, "EPOCHWISE_SAVED", "EPOCHWISE_STATE")
"""Settings that name folders of one's own."""
_READS_THE_CLOCK: Final = "datetime.now("
_STORES: Final[dict[tuple[tuple[Folder, ...], object], dict[str, Any]]] = {}
_begin: Final = Store.__init__
_expander, _popover = st.expander, widgets.popover
_download: Final = st.download_button
Make = Callable[[], bytes | str]


@contextmanager
def surroundings() -> Iterator[list[tuple[str, Make]]]:
    """Answer as at `NOW`, from what ships; the files that pages offer are in the list it gives."""
    files: list[tuple[str, Make]] = []
    with pytest.MonkeyPatch.context() as patch:
        for name in [n for n in os.environ if n.startswith("EPOCHWISE_")]:
            patch.delenv(name)
        for name in NOWHERE:
            patch.setenv(name, str(_nowhere()))
        for module in _modules_with_a_clock():
            patch.setattr(module, "datetime", _Pinned)
        patch.setattr(Store, "__init__", _shared)
        patch.setattr(st, "expander", _unfolded)
        patch.setattr(widgets, "popover", _opened)
        patch.setattr(st, "download_button", functools.partial(_kept, files))
        yield files


@functools.cache
def _nowhere() -> Path:
    return Path(tempfile.gettempdir()) / "epochwise-golden-is-nowhere"


def _shared(
    self: Store,
    folders: Sequence[Folder],
    memory_bytes: int | None = None,
    **audience: Any,  # noqa: ANN401 - as the store takes them
) -> None:
    """Begin a store: the runs of the same folders are read once for all commands and pages."""
    question = tuple(folders), audience.get("viewer")
    known = _STORES.get(question)
    if known is None:
        _begin(self, folders, memory_bytes, **audience)
        _STORES[question] = self.__dict__
    else:
        self.__dict__ = known


def _unfolded(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - as Streamlit takes them
    """Draw a folded box open: what is inside is made only then."""
    return _expander(*given, **{**named, "expanded": True})


def _opened(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - as the pages give them
    """Draw the box behind a button open, for the same reason."""
    st.session_state.setdefault(given[2], True)
    return _popover(*given, **named)


def _kept(files: list[tuple[str, Make]], *given: Any, **named: Any) -> bool:  # noqa: ANN401
    """Draw a download, and keep what makes its file."""
    if callable(named.get("data")):
        files.append((str(named["file_name"]), named["data"]))
    return bool(_download(*given, **named))


class _OfAnyMoment(type):
    """Moments that were made elsewhere are moments too."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, datetime)


class _Pinned(datetime, metaclass=_OfAnyMoment):
    """A clock that stands still."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        """Return `NOW` in a zone."""
        return NOW.astimezone(tz) if tz else NOW.replace(tzinfo=None)


@functools.cache
def _modules_with_a_clock() -> tuple[ModuleType, ...]:
    """Return the modules that ask for the time, wherever they lie.

    Streamlit runs the files beside pages/shell.py as scripts, which no name leads to: the time in
    their reports is taken out (`record.MADE`).
    """
    rooms = (ROOT / "planner", ROOT / "api", ROOT / "pages")
    files = sorted(path for room in rooms for path in room.rglob("*.py"))
    clocks = [path for path in files if _READS_THE_CLOCK in path.read_text(encoding="utf-8")]
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in clocks]
    return tuple(importlib.import_module(name.removesuffix(".__init__")) for name in names)
