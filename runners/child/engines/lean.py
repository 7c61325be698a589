"""Keras without the libraries that it only wraps: a quarter to a third of a child's imports.

Keras offers its models to scikit-learn, and takes pandas frames, where it finds these libraries;
a child asks for neither. Processor time on a 2-core EPYC: 2.7 s in place of 3.6 s on TensorFlow,
1.3 s in place of 2.1 s on JAX (`python -c "import keras"` beside
`python -c "from runners.child.engines.lean import import_keras; import_keras()"`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

WRAPPED: Final = ("sklearn", "pandas")
"""What Keras does without; `load_digits` of scikit-learn may be imported after it."""


def import_keras() -> None:
    """Import Keras, and with it its backend, before anybody else does."""
    with hidden(WRAPPED):
        import keras  # noqa: F401


@contextmanager
def hidden(names: tuple[str, ...]) -> Iterator[None]:
    """Libraries that look as if they were not installed; those already imported stay."""
    absent = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]  # None: not to be found
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]
