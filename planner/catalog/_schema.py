"""The columns of the catalogue's three tables, for its checks and docs/catalog.md.

Every column has a unit in its name, a range outside which a value is a typing error, and a meaning.
An empty cell means that the number is unknown; 0 never does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, get_args

from planner.catalog._records import PRECISIONS, Customer, Kind, Terms
from planner.core import Text

CellKind = Literal["text", "names", "number", "whole", "date", "link"]
TableName = Literal["hardware", "prices", "electricity"]
TABLE_NAMES: Final[tuple[TableName, ...]] = get_args(TableName)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: its allowed values and meaning.

    `low` and `high` are the inclusive limits of a number; `pattern` must match a whole text, such
    as `example`.
    """

    name: str
    kind: CellKind
    meaning: str
    unit: str = ""
    low: float = 0.0
    high: float = 0.0
    choices: tuple[str, ...] = ()
    pattern: str = ""
    example: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A limit of a file: its value, unit, and why it is enough."""

    name: str
    value: int
    unit: str
    why: str


LIMITS: Final = MappingProxyType(
    {
        limit.name: limit
        for limit in (
            Limit(name="file", value=2_000_000, unit="bytes", why="5,000 rows of 400 characters"),
            Limit(name="rows", value=5_000, unit="rows", why="100 times what is shipped"),
            Limit(name="columns", value=64, unit="columns", why="three times the widest table"),
            Limit(name="cell", value=1_000, unit="characters", why="a note, or a long address"),
            Limit(name="problems", value=200, unit="problems", why="a longer list is not read"),
        )
    }
)
"""Limits of one file."""


def peak_column(precision: str) -> str:
    """Return the name of the column of a precision's dense peak."""
    return "int8_operations_per_s" if precision == "int8" else f"{precision}_flops_per_s"


_ID: Final = r"[a-z0-9]+(-[a-z0-9]+)*"
_PEAK: Final = "dense peak, without sparsity, as the maker prints it"
_PEAK_OF: Final = MappingProxyType(
    {
        "float32": Text(
            "{peak} (of processors, in all formats, cores x base clock x what a core "
            "does in a cycle); the whole 23-bit mantissa: shaders at NVIDIA, matrix "
            "cores at AMD",
            peak=_PEAK,
        ),
        "tensorfloat32": Text("{peak}; float32 in, 10-bit mantissa inside", peak=_PEAK),
        "bfloat16": Text("{peak}; sums in float32", peak=_PEAK),
        "float16": Text("{peak}; sums in float32, which halves GeForce cards", peak=_PEAK),
        "float8": Text("{peak}; sums in float32", peak=_PEAK),
        "int8": Text("{peak}; operations, not FLOP", peak=_PEAK),
    }
)


def _text(name: str, meaning: str, *, required: bool = False, pattern: str = "", example: str = "",
          choices: tuple[str, ...] = ()) -> Column:  # fmt: skip
    return Column(name=name, kind="text", meaning=meaning, required=required, pattern=pattern,
                  example=example, choices=choices)  # fmt: skip


def _number(name: str, meaning: str, unit: str, low: float, high: float, *,
            required: bool = False) -> Column:  # fmt: skip
    return Column(name=name, kind="number", meaning=meaning, unit=unit, low=low, high=high,
                  required=required)  # fmt: skip


def _whole(name: str, meaning: str, unit: str, low: int, high: int, *,
           required: bool = False) -> Column:  # fmt: skip
    return Column(name=name, kind="whole", meaning=meaning, unit=unit, low=low, high=high,
                  required=required)  # fmt: skip


def _date(name: str, meaning: str, *, required: bool = False) -> Column:
    return Column(name=name, kind="date", meaning=meaning, unit="YYYY-MM-DD or YYYY-MM",
                  required=required)  # fmt: skip


def _link(name: str, meaning: str, *, required: bool = False) -> Column:
    return Column(name=name, kind="link", meaning=meaning, required=required)


HARDWARE: Final[tuple[Column, ...]] = (
    _text("id", "short name for links and price rows", required=True, pattern=_ID,
          example="h100-sxm"),
    _text("name", "what people call it", required=True),
    _text("maker", "who makes it", required=True),
    _text("kind", "what it is", required=True, choices=get_args(Kind)),
    Column(name="aliases", kind="names", meaning="what drivers, frameworks and clouds call it"),
    _whole("devices", "devices that a framework sees on one", "devices", 1, 16, required=True),
    _number("memory_bytes", "the GB that the maker prints times 1e9 (no GiB made of them); empty "
            "for processors, whose memory is the machine's", "bytes", 1e9, 2e12),
    _number("memory_bandwidth_bytes_per_s", "of its own memory", "bytes/s", 2e10, 1e14),
    *(_number(peak_column(p), _PEAK_OF[p], "operations/s" if p == "int8" else "FLOP/s", 5e11, 5e16)
      for p in PRECISIONS),
    _number("board_power_watts", "the most it draws by its data sheet", "W", 10.0, 3_000.0),
    _text("link_name", "its link to others of its kind"),
    _number("link_bytes_per_s", "of all links of one, both directions added", "bytes/s", 1e9, 1e14),
    _number("list_price_usd", "list price of one by its maker; resellers differ", "USD",
            50.0, 200_000.0),
    _date("list_price_as_of", "date of that price; required with a list price"),
    _link("list_price_source_url", "where it says so; required with a list price"),
    _number("server_price_usd", "price of a whole server with it, host included, without tax",
            "USD", 1_000.0, 1e7),
    _number("server_price_low_usd", "where that price is an estimate: the least it may be",
            "USD", 1_000.0, 1e7),
    _number("server_price_high_usd", "where that price is an estimate: the most it may be",
            "USD", 1_000.0, 1e7),
    _whole("server_accelerators", "how many of it that server has; required with its price",
           "accelerators", 2, 128),
    _date("server_price_as_of", "when that was the price; required with it"),
    _link("server_price_source_url", "source of that price; required with it"),
    _date("launched", "month in which the maker announced it"),
    _link("source_url", "where the maker prints these numbers", required=True),
    _date("as_of", "when the row was last compared with other sources", required=True),
    _text("note", "what a reader should know"),
)  # fmt: skip

PRICES: Final[tuple[Column, ...]] = (
    _text("provider", "who rents it out", required=True),
    _text("region", "where; `any` where the price is the same everywhere", required=True),
    _text("instance", "the provider's name of what one rents", required=True),
    _text("accelerator", "id in the hardware table, or any name that is only one's",
          required=True),
    _whole("accelerators", "how many of it the instance has", "accelerators", 1, 10_000,
           required=True),
    _text("terms", "how one is bound", required=True, choices=get_args(Terms)),
    _number("price_per_hour", "of the whole instance, without tax", "currency/h", 0.001, 1e6,
            required=True),
    _text("currency", "ISO 4217", required=True, pattern="[A-Z]{3}", example="USD"),
    _number("billing_increment_s", "a started increment is paid in full; empty where not known",
            "s", 0.001, 31_622_400.0),
    _date("as_of", "date of that price", required=True),
    _link("source_url", "the provider's page, or a copy of it", required=True),
    _text("note", "what a reader should know"),
)  # fmt: skip

ELECTRICITY: Final[tuple[Column, ...]] = (
    _text("id", "ISO 3166-1 alpha-2 code of the country, or EU", required=True,
          pattern="[A-Z]{2}", example="DE"),
    _text("country", "its name", required=True),
    _text("customer", "who pays that price; required with a price", choices=get_args(Customer)),
    _number("price_usd_per_kwh", "of a kWh", "USD/kWh", 0.001, 2.0),
    _date("price_as_of", "first day of the time it was paid in; required with a price"),
    _link("price_source_url", "who says so; required with a price"),
    _number("carbon_kg_per_kwh", "greenhouse gases of a kWh generated there", "kg CO2e/kWh",
            0.0001, 2.0),
    _date("carbon_as_of", "first day of that year; required with a carbon intensity"),
    _link("carbon_source_url", "who says so; required with a carbon intensity"),
    _text("note", "what a reader should know, taxes among it"),
)  # fmt: skip

TABLES: Final[Mapping[TableName, tuple[Column, ...]]] = MappingProxyType(
    {"hardware": HARDWARE, "prices": PRICES, "electricity": ELECTRICITY}
)
"""Table name (data/catalog/NAME.csv) -> its columns in the order of the file."""

TITLES: Final[Mapping[TableName, str]] = MappingProxyType(
    {
        "hardware": "hardware.csv: accelerators and processors",
        "prices": "prices.csv: rental offers",
        "electricity": "electricity.csv: price and carbon by country",
    }
)


_INTRODUCTION: Final = """\
What can be bought or rented, and what its electricity costs: three CSV files in `data/catalog`,
typed by hand from public sources, each row with its address and its date. Where the facts come
from, and under which licences, is in [SOURCES.md](../data/catalog/SOURCES.md).

This page is made from `planner/catalog/_schema.py` by `make docs`. A cell outside its range is a
problem that names file, row and column; the other rows are kept. Rows count as in a spreadsheet:
the header is row 1.

- **One accelerator is what one row of a price list sells**: a card, a module, a TPU chip, a
  processor socket. `devices` says how many devices a framework sees on it.
- **Empty is not known**, never 0. A peak is dense: half of what is printed "with sparsity".
- **GB are 1e9 bytes**, as printed. Cards of "80 GB" often hold 80 GiB, 7 % more.
- **Link bandwidth counts both directions**, as makers print it: NVLink "900 GB/s" moves 450 GB/s
  each way.
- **float16 sums in float32**, as training needs; GeForce cards are twice as fast without.
- **List prices are the maker's on that day**. Data-centre cards mostly have none.
- **Prices of whole servers** include their host: launch prices of makers, or a reseller's
  quotation.
- **A price older than 12 months is stale** and is shown so.

Your own rows lie in the folder `EPOCHWISE_CATALOG` (by default `catalog`), in files of the same
names and columns. A row with an id that is shipped replaces that row whole; the others are added.
The id of an offer is its provider, region, instance and terms."""


def catalog_page() -> str:
    """Return the page: the tables, their columns, and the limits of a file."""
    parts = ["# The catalogue", "", _INTRODUCTION]
    for name, columns in TABLES.items():
        parts += ["", *_table(name, columns)]
    parts += [
        "",
        "## Limits",
        "",
        "A file that strangers gave is read this far and no further.",
        "",
    ]
    parts += ["| of a | at most | why that is enough |", "|---|---|---|"]
    parts += [f"| {limit.name} | {limit.value:,} {limit.unit} | {limit.why} |"
              for limit in LIMITS.values()]  # fmt: skip
    return "\n".join(parts) + "\n"


def _table(name: TableName, columns: tuple[Column, ...]) -> list[str]:
    head = [f"## {TITLES[name]}", "", "| column | kind | unit | values | meaning |"]
    return [*head, "|---|---|---|---|---|", *(_line(column) for column in columns)]


def _line(column: Column) -> str:
    needed = " required" if column.required else ""
    bounds = f"{column.low:g} to {column.high:g}" if column.high else ""
    example = f"like `{column.example}`" if column.example else ""
    values = " / ".join(column.choices) or bounds or example
    kind = "names, separated by `;`" if column.kind == "names" else column.kind
    return f"| `{column.name}`{needed} | {kind} | {column.unit} | {values} | {column.meaning} |"
