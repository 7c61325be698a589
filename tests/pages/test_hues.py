"""A system has one hue on every page, whatever is drawn beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pages.explore import fields
from planner import figures
from planner.core import slug
from planner.figures.frame import HUES, LIGHT_THEME, SHADES, system_key
from planner.store import queries
from planner.store.catalog import read_catalog
from tests import shipped
from tests.each import each
from tests.pages.conftest import figure, show
from tests.shipped import ROOT

_HUE_OF: Final = {
    LIGHT_THEME.colour(hue + HUES * shade): hue for hue in range(HUES) for shade in range(SHADES)
}
_INPUTS: Final = ("Time o", "Price", "Rental price", "Scaling", "Efficiency")
"""What matters most: bars from a low to a high input, in the two colours of their legend."""
_FLEET: Final = (
    "1 x buy|mi300x|8|180000 total", "3 x rent|mi300x|8|20", "2 x rent|h100-sxm|8|20",
)  # fmt: skip
_JOB: Final = "name=A; network=resnet-50; epochs=90; samples=1281167; runs=10; within=48"
_CAPACITY: Final = {"jobs": [_JOB], "find": "off", "fleet": list(_FLEET), "months": "12"}
_STATED: Final = "RetinaNet ResNeXt-50 MLPerf · Open Images · mean average precision"
"""Trials whose stated times to the target are drawn by accelerator."""
_PAGES: Final[tuple[tuple[str, Mapping[str, Any]], ...]] = (
    ("how-long", {}),
    ("throughput", {}),
    ("compare", {}),
    ("compare", {"network": "llama-3-8b", "total_tokens": "100M"}),
    ("capacity", {**_CAPACITY, "chart": "machine"}),
    ("capacity", {**_CAPACITY, "chart": "use"}),
    *(("explore", {"preset": name}) for name in
      ("memory", "energy", "price", "devices", "target")),
    ("steps-to-target", {"workload": slug(_STATED)}),
)  # fmt: skip


def _systems() -> list[str]:
    """Names of accelerators, the longest first: 'H100 PCIe 80GB' comes before 'H100'."""
    names = [a.name for a in read_catalog(ROOT / "data" / "catalog", []).catalog.accelerators]
    known = {*names, *map(system_key, names), "TPU v2-8", "GPU"}
    return sorted(known, key=len, reverse=True)


def _drawn(of: Mapping[str, Any], systems: list[str]) -> Iterator[tuple[str, str]]:
    """System and colour of every line and marker that is named by one system."""
    for trace in of["data"]:
        name = str(trace.get("name") or "")
        system = next((s for s in systems if s in name and not name.startswith(_INPUTS)), None)
        for part in ("line", "marker"):
            colour = (trace.get(part) or {}).get("color")
            if system is not None and isinstance(colour, str) and colour in _HUE_OF:
                yield system, colour


def test_hues_differ_and_their_shades_too() -> None:
    assert len(_HUE_OF) == HUES * SHADES


@each(("page", "asked"), list(_PAGES))
def test_a_system_has_its_hue_on_every_page(
    page: str, asked: Mapping[str, Any], library_pages: None
) -> None:
    if page == "explore":
        asked = fields.preset(shipped.library(), asked["preset"])
    systems, shown = _systems(), show(page, **asked)
    charts = range(len(shown.get("plotly_chart")))
    drawn = [pair for place in charts for pair in _drawn(figure(shown, place), systems)]
    assert drawn, f"no system is drawn on {page}"
    for system, colour in drawn:
        assert _HUE_OF[colour] == figures.system_slot(system), (page, system, colour)


@each("system", ["GPU", "2-core AMD EPYC", "NVIDIA H100 80GB HBM3"])
def test_the_epochs_of_a_run_have_the_hue_of_its_system(system: str, library_pages: None) -> None:
    every = (r for r in queries.checked_runs(shipped.library()) if r.system_name == system)
    run = next(r.run_id for r in every if (r.epochs_measured or 0) > 2)
    (drawn,) = [t for t in figure(show("results", run=run))["data"] if t["name"] == "epoch"]
    assert _HUE_OF[drawn["marker"]["color"]] == figures.system_slot(system)
