"""The charts of Scaling out are valid and show what was put into them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from planner import figures
from planner.figures.frame import DARK_THEME, LIGHT_THEME, Theme

COUNTS = np.array([1.0, 2, 4, 8])
STEP = np.array([0.1, 0.06, 0.05, 0.048])


def line(slot: int = 0, *, refused: bool = False, missed: int = 0) -> figures.CountLine:
    value = np.where([refused] * 4, np.nan, STEP)
    return figures.CountLine(
        label=f"global batch {slot}",
        short=str(slot),
        slot=slot,
        devices=COUNTS,
        nodes=np.ones(4),
        value=value,
        low=value / 1.2,
        high=value * 1.2,
        measured=COUNTS[:3],
        points=STEP[:3],
        outside=np.arange(3) >= 3 - missed,
        most=4.0,
    )


def steps(slot: int, *, is_driver: bool) -> figures.StepLine:
    batch = np.geomspace(16, 1024, 9)
    return figures.StepLine(
        label=f"{slot} devices",
        short=f"{slot} devices",
        slot=slot,
        batch=batch,
        value=0.01 * (slot + 1) + batch / 1000.0,
        measured=batch[:2],
        points=batch[:2] / 900.0,
        is_driver=is_driver,
    )


def charts(theme: Theme) -> dict[str, figures.ChartSpec]:
    slow = np.linspace(0, 0.9, 5)
    parts = tuple((n, np.array([0.5, 0.25])) for n in ("work", "overhead", "interconnect"))
    cuts = figures.Cuts(names=("1 x 1 x 2", "2 x 1 x 1"), state_gb=np.array([90.0, 45.0]),
                        activations_gb=np.array([5.0, 9.0]), memory_gb=75.0,
                        bubble=np.zeros(2))  # fmt: skip
    return {
        "steps": figures.step_by_devices([line(), line(1, refused=True)], theme),
        "efficiency": figures.efficiency_by_devices([line()], theme),
        "shares": figures.shares(figures.StepShares(counts=("1", "2"), parts=parts), theme),
        "batch": figures.step_by_batch([steps(0, is_driver=True), steps(1, is_driver=False)],
                                       theme, 100.0),
        "uneven": figures.uneven(slow, 100.0 * (1 - slow), 100.0 - 20.0 * slow, 0.5, theme),
        "cuts": figures.memory_of_cuts(cuts, theme),
    }  # fmt: skip


@pytest.mark.parametrize("theme", [LIGHT_THEME, DARK_THEME])
def test_every_chart_is_one_that_plotly_accepts(theme: Theme) -> None:
    for chart in charts(theme).values():
        assert go.Figure(chart).to_dict()["data"]


def test_counts_beyond_the_measured_ones_are_dashed_and_grey() -> None:
    data = charts(LIGHT_THEME)["steps"]["data"]
    grey = [t for t in data if t.get("line", {}).get("color") == LIGHT_THEME.quiet
            and list(t["x"]) != [None]]  # fmt: skip
    assert list(grey[0]["x"]) == [4.0, 8.0]
    assert all(t["line"]["dash"] == "dash" for t in grey)


@pytest.mark.parametrize(
    ("nodes", "boundary", "title"),
    [
        ([1, 1, 1, 1], None, "devices"),
        ([1, 1, 2, 4], 8**0.5, "devices"),
        ([1, 2, 4, 8], 2**0.5, "devices"),
        ([1, 2, 1, 4], None, "devices"),
        ([2, 4, 8, 16], None, "devices, all on several nodes"),
    ],
)
def test_the_counts_of_one_node_and_of_several_are_told_apart(
    nodes: list[int], boundary: float | None, title: str
) -> None:
    of = replace(line(), nodes=np.array(nodes, float))
    for chart in (figures.step_by_devices([of], LIGHT_THEME),
                  figures.efficiency_by_devices([of], LIGHT_THEME)):  # fmt: skip
        layout = chart["layout"]
        marked = [s["x0"] for s in layout.get("shapes", ()) if s.get("yref") == "paper"]
        assert marked == ([] if boundary is None else [pytest.approx(boundary)])
        texts = [a["text"] for a in layout.get("annotations", ())]
        assert ("one node | several nodes" in texts) == (boundary is not None)
        assert layout["xaxis"]["title"]["text"] == title


def test_a_crossover_outside_the_chart_is_not_marked() -> None:
    lines = [steps(0, is_driver=True)]
    inside = figures.step_by_batch(lines, LIGHT_THEME, 100.0)
    outside = figures.step_by_batch(lines, LIGHT_THEME, 1e6)
    assert len(inside["layout"]["shapes"]) == 1
    assert outside["layout"]["shapes"] == []


def test_the_memory_of_a_device_is_a_level_across_the_cuts() -> None:
    [shape] = charts(LIGHT_THEME)["cuts"]["layout"]["shapes"]
    assert (shape["y0"], shape["y1"], shape["xref"]) == (75.0, 75.0, "paper")


def test_charts_without_lines_are_empty_and_valid() -> None:
    for chart in (
        figures.step_by_devices([], LIGHT_THEME),
        figures.efficiency_by_devices([], LIGHT_THEME),
        figures.step_by_batch([], LIGHT_THEME, None),
    ):
        assert go.Figure(chart)


def test_stated_places_are_markers_and_open_ones_bars() -> None:
    places = [
        figures.Place(name="driver", slot=0, batch=64, first=1, last=1),
        figures.Place(name="3 workers", slot=1, batch=512, first=1, last=1),
        figures.Place(name="1 worker", slot=2, batch=64, first=2, last=4),
    ]
    drawn = figures.stated_order(places, [64, 256, 512], LIGHT_THEME)
    shown = [t for t in drawn["data"] if not t["showlegend"]]
    assert [(t["x"], t["y"], t["name"]) for t in shown] == [
        (["64"], [1], "driver"), (["512"], [1], "3 workers"), (["64", "64"], [2, 4], "1 worker")
    ]  # fmt: skip
    assert shown[2]["marker"]["symbol"].endswith("-open")
    assert drawn["layout"]["xaxis"]["categoryarray"] == ["64", "256", "512"]
    assert drawn["layout"]["yaxis"]["range"] == [4.5, 0.5]


def test_a_legend_names_every_configuration_once_by_symbol_and_colour() -> None:
    places = [
        figures.Place(name=name, slot=slot, batch=batch, first=1, last=last)
        for name, slot, batch, last in (
            ("driver", 0, 64, 1), ("1 worker", 1, 256, 4), ("driver", 0, 256, 4),
            ("1 worker", 1, 512, 3), ("3 workers", 2, 512, 1),
        )
    ]  # fmt: skip
    drawn = figures.stated_order(places, [64, 256, 512], LIGHT_THEME)
    looks = {
        (t["name"], t["marker"]["symbol"].removesuffix("-open"), t["marker"]["color"])
        for t in drawn["data"]
        if not t["showlegend"]
    }
    legend = [
        (t["name"], t["marker"]["symbol"], t["marker"]["color"])
        for t in drawn["data"]
        if t["showlegend"] and "marker" in t
    ]
    assert [name for name, *_ in legend] == ["driver", "1 worker", "3 workers"]
    assert set(legend) == looks


def test_places_that_a_text_leaves_open_are_in_the_legend() -> None:
    exact = figures.Place(name="driver", slot=0, batch=64, first=1, last=1)

    def words(*places: figures.Place) -> list[str]:
        drawn = figures.stated_order(places, [64], LIGHT_THEME)
        return [t["name"] for t in drawn["data"] if t["showlegend"]]

    assert words(exact) == ["driver"]
    assert words(replace(exact, last=2)) == ["driver", "places that the text leaves open"]


def test_a_point_outside_its_band_has_an_open_marker_and_a_legend() -> None:
    missed = figures.step_by_devices([line(missed=1)], LIGHT_THEME)["data"]
    [open_] = [t for t in missed if str(t.get("marker", {}).get("symbol")) == "circle-open"
               and t["x"][0] is not None]  # fmt: skip
    assert (list(open_["x"]), list(open_["y"])) == ([4.0], [0.05])
    assert "outside the interval" in open_["hovertemplate"]
    assert "outside the interval" in {t.get("name") for t in missed}
    inside = figures.step_by_devices([line()], LIGHT_THEME)["data"]
    assert "outside the interval" not in {t.get("name") for t in inside}
