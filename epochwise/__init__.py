"""The installed program: `pip install .` gives the command `epochwise`.

A wheel holds planner/, runners/, pages/ and the data inside this package. They import each other by
their own names, so this package puts its folder at the end of the search path:

    from epochwise import EpochTimes, compare
"""

import sys
from pathlib import Path
from typing import Any, Final

__all__ = ["HOME", "EpochTimes", "compare"]

_HERE: Final = Path(__file__).resolve().parent
HOME: Final = _HERE if (_HERE / "planner").is_dir() else _HERE.parent
"""Folder that holds planner/ and data/: this package once installed, else the repository."""

if str(HOME) not in sys.path:
    sys.path.append(str(HOME))


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a class or a function
    if name == "EpochTimes":
        from planner.record import EpochTimes

        return EpochTimes
    if name == "compare":
        import planner

        return planner.compare
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
