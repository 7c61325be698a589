"""Charts and tables as text, for those who do not see them."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np

from planner.figures import TimeLine, cell_text, chart_rows, chart_text, table_text, total_time
from planner.figures.as_text import MOST_POINTS, MOST_ROWS, MOST_SERIES
from planner.figures.frame import LIGHT_THEME, Drawing
from tests.each import each

HOSTILE = "<script>alert(1)</script> & <b>"


class _Read(HTMLParser):
    """The tags, the caption, and the rows of cells."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.caption = ""
        self.rows: list[list[str]] = []
        self._in = ""
        self.feed(page)

    def handle_starttag(self, tag: str, _attrs: object) -> None:
        self.tags.add(tag)
        self._in = tag
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self._in == "caption":
            self.caption += data
        elif self._in in ("td", "th"):
            self.rows[-1][-1] += data


def test_a_table_is_read_with_its_title_and_heads() -> None:
    read = _Read(table_text("Totals", ["System", "Total"], [["GPU", "2 h"]], 1))
    assert read.caption == "Totals. As text."
    assert read.rows == [["System", "Total"], ["GPU", "2 h"]]


def test_a_long_table_says_how_much_of_it_is_read() -> None:
    read = _Read(table_text("Runs", ["Run"], [["x"]] * 5000, 5000))
    assert len(read.rows) == 1 + MOST_ROWS
    assert read.caption == f"Runs. As text. The first {MOST_ROWS} of 5,000 rows."


def test_names_from_data_are_text() -> None:
    read = _Read(table_text(HOSTILE, [HOSTILE], [[HOSTILE]], 1))
    assert "script" not in read.tags
    assert read.rows == [[HOSTILE], [HOSTILE]]


@each(
    ("value", "form", "text"),
    [
        (None, "", "–"),
        (float("nan"), "", "–"),
        (True, "", "yes"),
        (4096, "", "4,096"),
        (0.000012345678, "", "0.0000123457"),
        (2.5, "%.2f", "2.50"),
        (40.0, "%.0f %%", "40 %"),
        (40.0, "localized", "40"),
        (8890.0, "%.3g", "8,890"),
        (0.00123, "%.3g", "0.00123"),
        ("x", "%.2f", "x"),
    ],
)
def test_a_cell_is_read_as_it_is_shown(value: object, form: str, text: str) -> None:
    assert cell_text(value, form) == text


def _drawn() -> Drawing:
    drawing = Drawing(LIGHT_THEME)
    drawing.x["title"], drawing.y["title"] = "batch size (samples)", "samples per second"
    return drawing


def test_a_line_is_read_at_a_few_points_with_its_ends_and_bands_are_not() -> None:
    drawing = _drawn()
    x = np.arange(1.0, 101.0)
    drawing.band(x, x - 1, x + 1, colour="#0072B2", name="a GPU")
    drawing.line(x, 2 * x, name="a GPU &amp; <b>more</b>")
    read = _Read(chart_text(drawing.figure(), "Speed"))
    assert read.caption == "Speed. Points of the chart as text."
    assert read.rows[0] == ["Series", "batch size (samples)", "samples per second"]
    assert len(read.rows) == 1 + MOST_POINTS
    assert read.rows[1] == ["a GPU & more", "1", "2"]
    assert read.rows[-1] == ["a GPU & more", "100", "200"]


def test_a_gap_in_a_line_is_left_out_and_an_error_bar_is_read() -> None:
    drawing = _drawn()
    bar = {"type": "data", "array": [1.0, 1.0], "arrayminus": [0.5, 0.5]}
    drawing.points(np.array([1.0, 2.0]), np.array([10.0, np.nan]), name="a", error_y=bar)
    read = _Read(chart_text(drawing.figure(), "Speed"))
    assert read.rows[1:] == [["a", "1", "10 (9.5 to 11)"]]


def test_categories_are_read_by_name_and_many_series_are_counted() -> None:
    drawing = _drawn()
    for number in range(MOST_SERIES + 3):
        drawing.bars(["1 x 1"], np.array([1.0]), slot=0, name=str(number))
    read = _Read(chart_text(drawing.figure(), "Cuts"))
    assert read.rows[1] == ["0", "1 x 1", "1"]
    assert len(read.rows) == 1 + MOST_SERIES
    assert read.caption.endswith("3 more series are in the chart.")


def test_an_axis_that_only_places_a_mark_is_not_read() -> None:
    drawing = Drawing(LIGHT_THEME)
    drawing.x["title"] = "extra cost (USD)"
    drawing.line(np.array([1.0, 2.0]), np.array([7.0, 7.0]), name="Rental price")
    read = _Read(chart_text(drawing.figure(), "What matters most"))
    assert read.rows == [
        ["Series", "extra cost (USD)"],
        ["Rental price", "1"],
        ["Rental price", "2"],
    ]


def test_durations_on_an_axis_of_several_units_are_read_with_their_unit() -> None:
    day = 86_400.0
    line = TimeLine(
        label="GPU", short="GPU", device_kind="gpu", slot=0, epochs=np.array([1.0, 100.0]),
        value=np.array([45.6, 3 * day]), low=np.array([45.0, 2 * day]),
        high=np.array([46.0, 4 * day]), measured_epochs=1.0,
    )  # fmt: skip
    read = _Read(chart_text(total_time([line], 100, LIGHT_THEME, log=True), "Time"))
    assert read.rows[:3] == [
        ["Series", "epochs", "total time"],
        ["GPU", "1", "45.6 s"],
        ["GPU", "100", "3 d"],
    ]
    read = _Read(chart_text(total_time([line], 100, LIGHT_THEME, log=False), "Time"))
    assert read.rows[0][2] == "total time (days)"
    assert read.rows[2] == ["GPU", "100", "3"]


def test_series_over_the_same_values_are_columns_of_a_table_and_others_are_rows() -> None:
    drawing = _drawn()
    drawing.bars(["1", "2"], np.array([60.0, 40.0]), slot=0, name="work")
    drawing.bars(["1", "2"], np.array([40.0, 60.0]), slot=1, name="overhead")
    assert chart_rows(drawing.figure()) == [
        {"batch size (samples)": x, "work, samples per second": work,
         "overhead, samples per second": overhead}
        for x, work, overhead in (("1", "60", "40"), ("2", "40", "60"))
    ]  # fmt: skip
    drawing.bars(["1"], np.array([9.0]), slot=2, name="input")
    assert chart_rows(drawing.figure())[-1] == {
        "Series": "input", "batch size (samples)": "1", "samples per second": "9",
    }  # fmt: skip
    assert chart_rows(_drawn().figure()) == []
