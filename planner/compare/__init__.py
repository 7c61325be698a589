"""Which hardware does a job soonest or cheapest: candidates, their times and money, their ranks.

The package can be called: `planner.compare(network="Llama 3 8B", total_tokens="100M")` answers as
the page Compare hardware does (`planner.comparing`).
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Door(ModuleType):
    """A package that answers when it is called: its name is that of the question."""

    def __call__(self, **question: Any) -> Any:  # noqa: ANN401 - as `planner.comparing.compare`
        """Return the comparison, see `planner.comparing.compare`."""
        from planner.comparing import compare

        return compare(**question)


sys.modules[__name__].__class__ = _Door
