"""Charts: plotly accepts every part, and what is drawn is what was asked."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go

from planner import figures
from planner.core import Floats
from planner.figures.frame import (
    BAND,
    BEYOND,
    DARK_THEME,
    HEIGHT,
    LABEL_GAP,
    LEAST_HEIGHT,
    LEGEND,
    LIGHT_THEME,
    MEASURED,
    TOOLS,
    Drawing,
    LegendEntry,
    Theme,
    contrast,
    mixed,
    rgba,
    slots,
)
from tests.each import each
from tests.planner import charts

EPOCHS = np.array([1.0, 10.0, 100.0, 2000.0])
THEMES = (LIGHT_THEME, DARK_THEME)


def _time_line(label: str = "GPU", slot: int = 0, factor: float = 1.0) -> figures.TimeLine:
    value = factor * 60.0 * EPOCHS
    return figures.TimeLine(
        label=label, short=label, device_kind="gpu", slot=slot, epochs=EPOCHS, value=value,
        low=value * 0.9, high=value * 1.1, measured_epochs=10,
    )  # fmt: skip


def _throughput_line(flags: tuple[str, ...] = ("", "", "")) -> figures.ThroughputLine:
    batch = np.array([32.0, 64.0, 128.0, 256.0, 512.0])
    value = batch / (batch / 100 + 0.5)
    return figures.ThroughputLine(
        label="TPU <b>", short="TPU <b>", device_kind="tpu", slot=3,
        measured=_points(batch[1:4], value[1:4], flags), left_out=_points(batch[:0], value[:0], ()),
        batch=batch, value=value, low=value * 0.9, high=np.r_[value[:-1], np.nan],
        smallest=64.0, largest=256.0,
    )  # fmt: skip


def _points(batch: Floats, throughput: Floats, flags: tuple[str, ...]) -> figures.MeasuredPoints:
    off = np.resize([0.01, -0.02], batch.size)
    return figures.MeasuredPoints(batch=batch, throughput=throughput, residuals=off, flags=flags)


def _all(theme: Theme) -> list[go.Figure]:
    epoch, seconds = np.arange(1.0, 6.0), np.array([9.0, 5.0, 5.1, 4.9, 5.0])
    return [
        *(charts.total_time([_time_line()], 2000, theme, log=log) for log in (True, False)),
        *(charts.throughput([_throughput_line()], theme, log=log) for log in (True, False)),
        charts.throughput([replace(_throughput_line(), too_large=2048.0)], theme, log=True),
        charts.residuals([_throughput_line()], theme),
        charts.epoch_times(epoch, seconds, 5.0, 0.1, theme),
        charts.epoch_times(epoch, seconds, None, None, theme),
    ]


@each("theme", THEMES)
def test_plotly_accepts_every_part_of_every_chart(theme: Theme) -> None:
    for figure in _all(theme):
        go.Figure(figure.to_dict())  # raises ValueError on any wrong part


def test_a_few_epochs_have_a_tick_each_and_many_have_not() -> None:
    ticks = {}
    for count in (3, 200):
        epoch = np.arange(1.0, count + 1.0)
        drawn = figures.epoch_times(epoch, epoch, None, None, LIGHT_THEME)
        ticks[count] = drawn["layout"]["xaxis"].get("dtick")
    assert ticks == {3: 1, 200: None}


def test_few_names_over_a_pivot_table_are_turned_where_they_have_no_room() -> None:
    few, many = (_heat_of(count)["layout"]["xaxis"] for count in (5, 12))
    assert few["autotickangles"] == [0, -40, -90]
    assert few["automargin"]
    assert "tickangle" not in few
    assert many["tickangle"] == -40


@each(("theme", "dark"), [(LIGHT_THEME, False), (DARK_THEME, True)])
def test_numbers_on_the_strongest_heat_colour_are_readable(theme: Theme, *, dark: bool) -> None:
    [cells] = _heat_of(2, theme, dark=dark)["data"]
    assert cells["textfont"]["color"] == theme.text
    share = float(str(cells["colorscale"][-1][1]).rsplit(",", 1)[1].rstrip(")"))
    strongest = mixed(theme.colours[0], theme.background, 1.0 - share)
    assert contrast(theme.text, strongest) >= 4.5


def _heat_of(columns: int, theme: Theme = LIGHT_THEME, *, dark: bool = False) -> figures.ChartSpec:
    heat = figures.Heat(
        rows=("A100",),
        columns=tuple(f"precision {k}" for k in range(columns)),
        cells=np.ones((1, columns)),
        texts=[["1"] * columns],
        hover=[["1"] * columns],
        title="MFU (%)",
    )
    drawn = figures.heat_table(heat, theme, dark=dark)
    go.Figure(drawn)  # raises ValueError on any wrong part
    return drawn


def test_charts_of_nothing_are_drawn_empty() -> None:
    assert not charts.total_time([], 10, LIGHT_THEME, log=True).data
    assert not charts.throughput([], LIGHT_THEME, log=False).data


def test_outside_the_measured_batches_the_curve_is_grey_and_dashed() -> None:
    drawn = charts.throughput([_throughput_line()], LIGHT_THEME, log=True).data
    beyond = [t for t in drawn if t.mode == "lines" and t.line.dash == "dash"]
    assert {t.line.color for t in beyond} == {LIGHT_THEME.quiet}
    assert {(min(t.x), max(t.x)) for t in beyond} == {(32, 64), (256, 512)}


def test_a_band_has_the_colour_of_its_line() -> None:
    line = _time_line(slot=4)
    drawn = charts.total_time([line], 2000, DARK_THEME, log=True).data
    fills = [t.fillcolor for t in drawn if t.fill]
    assert fills == [rgba(DARK_THEME.colours[4], 0.18)]


def test_names_from_data_are_not_markup() -> None:
    figure = charts.throughput([_throughput_line()], LIGHT_THEME, log=True)
    assert "<b>" not in "".join(a.text for a in figure.layout.annotations)
    assert not any("<b>" in (t.name or "") for t in figure.data if t.hoverinfo != "skip")


@each(
    ("at", "legend"),
    itertools.product(
        [(0.5, 0.5, 0.501, 0.52, 0.9), (0.98, 0.981, 0.985, 0.99, 0.99, 1.0)], [0, 110]
    ),
)
def test_names_at_the_line_ends_never_touch_and_none_is_cut_off_at_the_top(
    at: tuple[float, ...], legend: int
) -> None:
    """Also on a telephone, where the legend takes 110 px of the chart."""
    drawing, gap = Drawing(LIGHT_THEME), 2 * LABEL_GAP
    drawing.y = {"range": [0.0, 1.0]}
    inside = drawing.height - TOOLS - 48 - legend
    pixels = np.array(at) * inside + drawing._apart(np.array(at), gap)
    assert min(b - a for a, b in itertools.pairwise(sorted(pixels))) >= gap - 0.5
    assert max(pixels) + gap / 2 <= inside + TOOLS


def _names(lines: Sequence[figures.ThroughputLine]) -> list[tuple[str, float]]:
    drawn = charts.throughput(lines, LIGHT_THEME, log=True).layout
    assert drawn.yaxis.range is not None  # names that are moved do not change the scale
    return [(a.text, drawn.margin.r) for a in drawn.annotations]


@each(
    ("name", "lines"),
    [
        (
            "512 × Ascend 910 on 64 nodes · MLPerf 0.7",
            "512 × Ascend 910 on<br>64 nodes · MLPerf 0.7",
        ),
        ("10 × A100 PCIe 80GB · MLPerf 3.1", "10 × A100 PCIe 80GB<br>MLPerf 3.1"),
        ("TPU v2-8", "TPU v2-8"),
        (f"{'a' * 40} b", f"{'a' * 27}…<br>b"),
    ],
)
def test_a_long_name_at_a_line_s_end_has_two_whole_lines(name: str, lines: str) -> None:
    [(text, margin)] = _names([replace(_throughput_line(), short=name)])
    assert text == lines
    assert margin >= 5 * max(map(len, lines.split("<br>")))


@each("height", [LEAST_HEIGHT, HEIGHT])
@each("entries", range(1, 8))
def test_a_legend_in_one_column_begins_below_the_title_of_the_axis(
    height: int, entries: int
) -> None:
    """A telephone: the legend takes so much height that a share of the rest is little."""
    drawing = Drawing(LIGHT_THEME, height=height)
    drawing.legend(*(LegendEntry(words=f"{n}") for n in range(entries)))
    layout = drawing.figure()["layout"]
    margin = layout["margin"]
    inside = height - margin["t"] - margin["b"] - 20 * max(entries, 4) - 30
    assert -layout["legend"]["y"] * inside >= 20 + 8 + 16, "ticks, their gap, the title"
    assert layout["legend"]["y"] <= LEGEND["y"]


@each("height", [100, LEAST_HEIGHT, 900])
def test_no_chart_is_lower_than_420_pixels(height: int) -> None:
    assert Drawing(LIGHT_THEME, height=height).figure()["layout"]["height"] == max(height, 420)


def test_a_legend_begins_with_markers_and_ends_with_shades() -> None:
    drawing = Drawing(LIGHT_THEME)
    drawing.legend(BAND, BEYOND, MEASURED)
    names = [t["name"] for t in drawing.figure()["data"]]
    assert names == [MEASURED.words, BEYOND.words, BAND.words]


def test_the_question_is_marked_with_its_number() -> None:
    figure = charts.total_time([_time_line()], 2000, LIGHT_THEME, log=True)
    assert "2,000 epochs" in [a.text for a in figure.layout.annotations]


def test_the_batch_axis_has_powers_of_two_only() -> None:
    ticks = charts.throughput([_throughput_line()], LIGHT_THEME, log=True).layout.xaxis.tickvals
    assert all(t & (t - 1) == 0 for t in ticks)


def test_a_filter_does_not_recolour_what_stays() -> None:
    everything = [f"system {i}" for i in range(10)]
    assert slots(["system 7"], everything)["system 7"] == slots(everything, everything)["system 7"]


def test_a_suspect_point_is_open_and_says_why_and_the_others_are_filled() -> None:
    line = _throughput_line(("", "throughput falls", ""))
    for chart in (charts.throughput([line], LIGHT_THEME, log=True),
                  charts.residuals([line], LIGHT_THEME)):  # fmt: skip
        go.Figure(chart.to_dict())
        points = next(t for t in chart.data if t.mode == "markers")
        assert tuple(points.marker.symbol) == ("circle", "circle-open", "circle")
        assert tuple(points.customdata) == ("", "<br>suspect: throughput falls", "")
        assert points.marker.color == LIGHT_THEME.colours[3]


def test_a_point_left_out_of_the_fit_is_drawn_open_and_grey() -> None:
    batch = np.array([1024.0])
    line = replace(_throughput_line(), left_out=_points(batch, 7.0 * batch, ("unit slip",)))
    drawn = charts.throughput([line], LIGHT_THEME, log=True)
    points = [t for t in drawn.data if t.mode == "markers"]
    assert [p.marker.color for p in points] == [LIGHT_THEME.colours[3], LIGHT_THEME.quiet]
    assert "left out of the fit" in points[1].hovertemplate
    assert 10 ** drawn.layout.xaxis.range[1] > 1024


def test_a_suspect_total_has_an_open_marker_and_one_left_out_is_grey() -> None:
    odd = replace(_time_line("odd"), suspect="duplicate")
    out = replace(_time_line("out"), suspect="duplicate", left_out=True)
    figure = charts.total_time([odd, out], 2000, LIGHT_THEME, log=True)
    go.Figure(figure.to_dict())
    markers = [t.marker for t in figure.data if t.mode == "markers"]
    assert [m.symbol for m in markers] == ["square-open"] * 2
    assert [m.color for m in markers] == [LIGHT_THEME.colours[0], LIGHT_THEME.quiet]
    names = {a.text: a.font.color for a in figure.layout.annotations}
    assert names["out"] == LIGHT_THEME.quiet != names["odd"]


def test_the_axis_of_residuals_never_shows_rounding() -> None:
    line = _throughput_line()
    exact = replace(line, measured=replace(line.measured, residuals=np.array([0.0, 2e-10, 0.0])))
    drawn = charts.residuals([exact], LIGHT_THEME)
    assert drawn.layout.yaxis.range == (-0.1, 0.1)
    assert drawn.layout.yaxis.exponentformat == "none"
    assert charts.residuals([line], LIGHT_THEME).layout.yaxis.range is None
    assert not charts.residuals([], LIGHT_THEME).data
