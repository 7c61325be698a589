"""Start and end of a child: import Keras without optional libraries, leave after the last event.

Keras imports scikit-learn and pandas if they are installed; a child needs neither for Keras.
Processor time on a 2-core EPYC: 2.7 s instead of 3.6 s on TensorFlow, 1.3 s instead of 2.1 s on
JAX (`python -c "import keras"` beside
`python -c "from runners.child.start import import_keras; import_keras()"`).

TensorFlow takes a second or more to shut down. Nothing is left to save by then, so `leave` exits at
once. If the process still has worker processes, Python's normal exit ends them.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NoReturn

WRAPPED: Final = ("sklearn", "pandas")
"""Libraries hidden from Keras; they may be imported later."""


def import_keras() -> None:
    """Import Keras and its backend; call it before any other import of Keras."""
    with hidden(WRAPPED):
        import keras  # noqa: F401


@contextmanager
def hidden(names: tuple[str, ...]) -> Iterator[None]:
    """Hide libraries from imports, as if not installed; imported ones stay."""
    absent = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]  # None: not to be found
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]


def leave(code: int) -> NoReturn:
    """Exit this process with a status code."""
    if multiprocessing.active_children():
        sys.exit(code)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
