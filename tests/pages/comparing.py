"""What the tests of Compare hardware share: a link, a program's answer to it, the page's table."""

from __future__ import annotations

from typing import Any, Final

from streamlit.testing.v1 import AppTest

from pages.common import hardware
from pages.compare import state
from planner.answers import CompareAnswer, compare_answered
from planner.compare.comparison import Comparison
from planner.store import Store
from tests.pages.conftest import on_tab

OPTIONS: Final = ["buy-1x-rtx-5090", "mine-rent-h100-sxm-1-1.99", "own-tpu-v2-8"]
WORKLOAD: Final = "wideresnet-103m-cifar-100-adam-float32"
"""The workload measured on most systems."""
LINK: Final[dict[str, str | list[str]]] = {
    "workload": WORKLOAD,
    "options": OPTIONS, "own": "rent|h100-sxm|1|1.99", "deadline": "72", "budget": "500",
    "runs_per_month": "6", "country": "DE",
}  # fmt: skip


def asked(store: Store, **link: str | list[str]) -> CompareAnswer:
    """What a program gets that asks the same."""
    given = {n: [v] if isinstance(v, str) else v for n, v in link.items()}
    catalog = hardware.catalog().catalog
    return compare_answered(store, catalog, given, state.today())


def comparison(store: Store, **link: str | list[str]) -> Comparison:
    result = asked(store, **link).answered.comparison
    assert result is not None
    return result


def table(shown: AppTest) -> list[dict[str, Any]]:
    rows = on_tab(shown).dataframe[0].value.to_dict("records")
    return [{str(name): cell for name, cell in row.items()} for row in rows]


def all_options(shown: AppTest) -> list[dict[str, Any]]:
    """The rows of the table to choose options from, which this opens."""
    shown.session_state["compare.picker.open"] = True
    table_of = next(t.value for t in shown.run().dataframe if "per_hour_each" in t.value)
    return [{str(n): cell for n, cell in row.items()} for row in table_of.to_dict("records")]


def address_of(shown: AppTest) -> dict[str, list[str]]:
    result = {name: shown.query_params[name] for name in shown.query_params}
    return {n: [v] if isinstance(v, str) else list(v) for n, v in result.items()}
