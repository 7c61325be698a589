"""Names of a package that are imported on first use, for those who need only the others."""

import sys
from collections.abc import Callable
from importlib import import_module

from planner.core._text import Text


def on_first_use(package: str, *modules: str) -> Callable[[str], object]:
    """Return the `__getattr__` of a package, which imports public names from these modules."""

    def get(name: str) -> object:
        for module in () if name.startswith("_") else modules:
            values = vars(import_module(f"{package}.{module}"))
            if name in values:
                setattr(sys.modules[package], name, values[name])
                return values[name]
        raise AttributeError(
            Text("module {package!r} has no attribute {name!r}", package=package, name=name)
        )

    return get
