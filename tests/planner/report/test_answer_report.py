"""The report of any page: one frame, a page of summary, an appendix, no script, and its address."""

from __future__ import annotations

import numpy as np
import pytest

from planner.figures.frame import LIGHT_THEME, Drawing
from planner.report import (
    SETTING,
    AnswerReport,
    Chart,
    Letterhead,
    Table,
    answer_page,
    public_url,
    with_base,
)
from planner.report._answer import first_page
from planner.report._page import NO_LETTERHEAD
from tests.each import each

HOSTILE = "<img src=http://x onerror=alert(1)>"


def _chart() -> Chart:
    drawing = Drawing(LIGHT_THEME)
    drawing.x["type"] = drawing.y["type"] = "log"
    x = np.array([1.0, 10.0, 100.0])
    drawing.band(x, x, 3 * x, colour="#0072B2", name="a")
    drawing.line(x, 2 * x, name="a", line={"color": "#0072B2", "dash": "dot"})
    drawing.points(x, 2 * x, name="a", marker={"symbol": "square", "color": "#0072B2", "size": 8})
    drawing.note(HOSTILE, x=1.0, y=1.0)
    return Chart(title="Speed", spec=drawing.figure(), alt="Speed against batch", caption="Bands.")


def _page(**more: object) -> str:
    report = {"title": "T", "sentence": "S", "made": "today"} | more
    return answer_page(AnswerReport(**report))  # type: ignore[arg-type]


def test_names_are_text_wherever_they_stand() -> None:
    head = Letterhead(company=HOSTILE, customer=HOSTILE, reference=HOSTILE, text=HOSTILE)
    page = _page(title=HOSTILE, sentence=HOSTILE, notes=[HOSTILE], charts=[_chart()],
                 tables=[Table(title=HOSTILE, rows=[{HOSTILE: HOSTILE}])],
                 sources=[{"s": HOSTILE}], link="javascript:alert(1)", letterhead=head)  # fmt: skip
    assert "<img" not in page
    assert "<script" not in page
    assert "href" not in page.split("</style>")[1]


def test_the_first_chart_is_in_the_summary_and_the_rest_in_the_appendix() -> None:
    page = _page(charts=[_chart(), _chart()], tables=[Table(title="All", rows=[{"A": 1}])])
    summary, appendix = page.split('<div class="appendix">')
    assert summary.count("<svg") == appendix.count("<svg") == 1
    assert "<h2>Speed</h2>" in summary
    assert "<h2>All</h2>" in appendix


def test_sources_that_are_the_same_stand_once_with_all_their_names() -> None:
    page = _page(sources=[{"Option": "A", "Source": "x"}, {"Option": "B", "Source": "x"}])
    assert "A,&nbsp;B" in page
    assert page.count(">x</td>") == 1


def test_a_still_chart_has_the_lines_bands_and_markers_of_its_chart() -> None:
    page = _page(charts=[_chart()])
    assert page.count("<polyline") == 1
    assert page.count("<polygon") == 1 + 3
    assert 'aria-label="Speed against batch"' in page
    assert "nan" not in page.split("<main>")[1]


@pytest.mark.parametrize(
    ("text", "address"),
    [("", ""), ("https://plan.example/", "https://plan.example"),
     ("http://h:8080/plan", "http://h:8080/plan")],
)  # fmt: skip
def test_a_public_address_is_taken_without_its_last_slash(text: str, address: str) -> None:
    assert public_url({SETTING: text}) == address


@each("text", ["plan.example", "ftp://h", "https://", "https://a:b@h", "https://h?x=1", "https://h#f",
             "https://h:99999", "https://a b", "javascript:alert(1)"])  # fmt: skip
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"EPOCHWISE_PUBLIC_URL .*https://plan\.example\.org"):
        public_url({SETTING: text})


def test_a_page_keeps_its_name_and_question_below_the_public_address() -> None:
    base = "https://plan.example/tools"
    assert with_base("http://127.0.0.1:8501/compare?a=1", base) == f"{base}/compare?a=1"
    assert with_base("http://127.0.0.1:8501/compare", "") == "http://127.0.0.1:8501/compare"


def test_a_wide_table_has_its_long_texts_below() -> None:
    row = {f"Column {n}": n for n in range(9)} | {"Notes": "word " * 30}
    page = answer_page(
        AnswerReport(title="T", sentence="S.", tables=[Table(title="A", rows=[row])])
    )
    assert "Notes</th>" not in page
    assert f"<li>0: {('word ' * 30).strip()}</li>" in page
    narrow = {"Column": 1, "Notes": "word " * 30}
    assert "Notes</th>" in answer_page(
        AnswerReport(title="T", sentence="S.", tables=[Table(title="A", rows=[narrow])])
    )


def test_lines_of_the_own_text_stay_lines() -> None:
    of = Letterhead(text="Dear <b>\nBest regards\nA. Meier")
    page = answer_page(AnswerReport(title="T", sentence="S.", letterhead=of))
    assert "<p>Dear &lt;b&gt;<br>Best regards<br>A. Meier</p>" in page


def test_the_first_chart_fills_the_first_page_as_far_as_it_has_room() -> None:
    def room(notes: list[str]) -> float:
        return first_page("T", "S.", notes, NO_LETTERHEAD, tiles=True, caption="C").chart_mm

    assert room([]) == 85.0
    assert 50.0 <= room(["word " * 80] * 4) < 85.0
