"""Limits of stored values by unit, of files and of texts. docs/records.md shows this table.

A value outside its limits is a wrong unit, a damaged cell or an attack, not a measurement. Within
them every product, ratio and square of two values fits a float.
"""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The smallest size a value other than 0 may have, and the largest."""

    least: float
    most: float

    def __contains__(self, value: float) -> bool:
        """Return whether the size of `value` is within; 0 is left to the column's own rule."""
        return value == 0 or self.least <= abs(value) <= self.most

    def words(self, unit: str) -> str:
        """Return "1e-09 s to 1e+12 s"."""
        of = f" {unit}" if unit else ""
        return f"{self.least:g}{of} to {self.most:g}{of}"


_COUNT: Final = Span(least=1.0, most=1e15)
_PARTS: Final = Span(least=1.0, most=1e7)
UNITS: Final = MappingProxyType(
    {
        "s": Span(least=1e-9, most=1e12),
        "samples/s": Span(least=1e-9, most=1e15),
        "samples": Span(least=1e-9, most=1e15),
        "steps": _COUNT,
        "epochs": Span(least=1.0, most=1e9),
        "parameters": _COUNT,
        "tokens": _COUNT,
        "px": _PARTS,
        "bytes": Span(least=1.0, most=1e18),
        "devices": _PARTS,
        "nodes": _PARTS,
        "sockets": _PARTS,
        "cores": _PARTS,
        "threads": _PARTS,
        "workers": _PARTS,
        "kWh": Span(least=1e-12, most=1e12),
        "W": Span(least=1e-6, most=1e12),
        "FLOP": Span(least=1e-3, most=1e30),
        "FLOP/s": Span(least=1.0, most=1e24),
        "": Span(least=1e-15, most=1e15),
    }
)
"""Sizes of a value, by the unit of its column."""

COLUMNS: Final = MappingProxyType(
    {
        "seed": Span(least=1.0, most=float(2**63)),
        "later_epoch_sd_s": Span(least=0.0, most=1e12),
        "target_value": Span(least=1e-100, most=1e100),
        "final_metric": Span(least=1e-100, most=1e100),
    }
)
"""Columns with limits of their own: seeds fill 63 bits, equal epochs leave a rounding error."""

MAX_TEXT: Final = 10_000
MAX_ENTRIES: Final = 10_000_000
MAX_FILE_BYTES: Final = 2 * 1024**3
MAX_FOOTER_BYTES: Final = 16 * 1024**2
MAX_FILE_RUNS: Final = 1_000_000
MAX_ROW_GROUPS: Final = 4096
MAX_SET_BYTES: Final = 65_536
MAX_SET_LINE: Final = 10_000
MAX_SET_KEYS: Final = 100
MAX_SET_DEPTH: Final = 16
MAX_SET_TEXT: Final = 2_000
MAX_SET_UNKNOWN: Final = 5
MAX_REASON: Final = 500

FILES: Final = MappingProxyType(
    {
        "MAX_TEXT": "longest text of a column [characters]",
        "MAX_ENTRIES": "most epochs, evaluations or steps of one run",
        "MAX_FILE_BYTES": "largest result file [bytes]",
        "MAX_FOOTER_BYTES": "largest footer of a result file [bytes]",
        "MAX_FILE_RUNS": "most runs in one file",
        "MAX_ROW_GROUPS": "most row groups in one file",
        "MAX_SET_BYTES": "largest set.toml [bytes]",
        "MAX_SET_LINE": "longest line of a set.toml [characters]",
        "MAX_SET_KEYS": "most keys in a set.toml",
        "MAX_SET_DEPTH": "deepest nesting in a line of a set.toml: dots, brackets and braces",
        "MAX_SET_TEXT": "shown of a text of a set.toml [characters]",
        "MAX_SET_UNKNOWN": "unknown fields of a set.toml that are listed by name",
        "MAX_REASON": "longest reason of a refused file [characters]",
    }
)
"""The description of each limit above, by its name."""
