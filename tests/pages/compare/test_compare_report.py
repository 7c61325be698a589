"""The report of Compare hardware: one click as it is, and with name, logo, PDF and data beside."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.common import handout
from pages.compare import answer, state
from planner.report import NO_LETTERHEAD
from planner.store import Store
from planner.store.pdf import PdfError
from tests.pages.comparing import LINK
from tests.pages.conftest import show, sound, texts, unfold

pytestmark = pytest.mark.usefixtures("folders")
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><path d="M0 0h9"/></svg>'


def _labels(shown: AppTest) -> list[str]:
    return [b.proto.label for b in shown.get("download_button")]


def _box() -> AppTest:
    return unfold(show("compare", **LINK), "compare.handout")


def _with_logo(content: bytes) -> AppTest:
    shown = _box()
    field: Any = shown.get("file_uploader")[0]
    field.set_value(("logo.svg", content, "image/svg+xml"))
    return sound(shown.run())


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stands in for Chromium; the pages it was given."""
    printed: list[str] = []

    def pdf(html: str) -> bytes:
        printed.append(html)
        return b"%PDF-1.4"

    monkeypatch.setattr(handout, "chromium", lambda: "chromium")
    monkeypatch.setattr(handout, "pdf_of", pdf)
    return printed


def test_the_plain_report_takes_one_click_and_the_rest_is_folded() -> None:
    labels = _labels(show("compare", **LINK))
    assert "Report" in labels
    assert "HTML" not in labels
    assert {"HTML", "CSV of the options", "Parquet of the options"} <= set(_labels(_box()))


def test_company_and_logo_stand_in_the_page_that_is_handed_out(browser: list[str]) -> None:
    shown = _with_logo(SVG)
    assert "Logo: logo.svg" in texts(shown)
    shown.text_input(key="compare.report.company").set_value("Tanaka & Sons")
    sound(shown.run())
    shown.button(key="compare.report.pdf.make").click()
    assert "Save the PDF" in _labels(sound(shown.run()))
    assert "Tanaka &amp; Sons" in browser[0]
    assert 'src="data:image/svg+xml;base64,' in browser[0]
    shown.text_input(key="compare.report.company").set_value("Sato")
    assert "Save the PDF" not in _labels(sound(shown.run()))  # it would be another one's


def test_name_and_logo_outlive_the_closed_box_and_stand_in_no_link(browser: list[str]) -> None:
    shown = _with_logo(SVG)
    shown.text_input(key="compare.report.company").set_value("Tanaka")
    sound(shown.run())
    shown.session_state["compare.handout"] = False
    unfold(sound(shown.run()), "compare.handout")
    assert shown.text_input(key="compare.report.company").value == "Tanaka"
    shown.button(key="compare.report.plain").click()
    assert "Logo: logo.svg" not in texts(sound(shown.run()))
    assert not [n for n in shown.query_params if n not in {*LINK, "workload"}]


def test_a_logo_that_runs_something_is_refused_at_once() -> None:
    shown = _with_logo(SVG.replace(b"<path", b'<path onclick="x()"'))
    assert "The SVG contains more than a drawing" in texts(shown)
    assert "Logo: logo.svg" not in texts(shown)


def test_a_refused_logo_is_reported_as_long_as_its_file_stands_there(browser: list[str]) -> None:
    shown = _with_logo(SVG.replace(b"<path", b'<path onclick="x()"'))
    assert "The report leaves out logo.svg." in texts(shown)
    shown.button(key="compare.report.pdf.make").click()
    sound(shown.run())
    assert "Save the PDF" in _labels(shown)
    assert "The SVG contains more than a drawing" in texts(shown)
    assert "The report leaves out logo.svg." in texts(shown)
    assert "data:image/svg+xml" not in browser[0]
    field: Any = shown.get("file_uploader")[0]
    field.set_value(("good.svg", SVG, "image/svg+xml"))
    result = texts(sound(shown.run()))
    assert "made without" not in result
    assert "Logo: good.svg" in result


def test_a_refusal_goes_with_its_file() -> None:
    shown = _with_logo(SVG.replace(b"<path", b'<path onclick="x()"'))
    shown.session_state["compare.handout"] = False
    unfold(sound(shown.run()), "compare.handout")
    assert "made without" not in texts(shown)


def test_without_chromium_it_says_so_and_offers_the_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(handout, "chromium", lambda: None)
    shown = _box()
    assert "Open the HTML and print it" in texts(shown)
    assert not [b for b in shown.button if b.key == "compare.report.pdf.make"]


def test_a_browser_that_fails_is_reported_in_words(
    browser: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: str) -> bytes:
        raise PdfError("Chromium made no PDF. Open the HTML report and print it.")

    shown = _box()
    monkeypatch.setattr(handout, "pdf_of", fails)
    shown.button(key="compare.report.pdf.make").click()
    assert "Chromium made no PDF" in texts(sound(shown.run()))
    assert "Save the PDF" not in _labels(shown)
    assert not browser


def test_the_page_is_the_planners_own_report(store: Store) -> None:
    given = {n: [v] if isinstance(v, str) else v for n, v in LINK.items()}
    result = state.reply(store, given)
    assert result is not None
    begins = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)
    page = answer._maker(result, "https://plan.example/compare?x=1", begins)(
        NO_LETTERHEAD, "2026-11-22 09:00 UTC"
    )
    assert "2026-11-22 09:00 UTC" in page
    assert "https://plan.example/compare?x=1" in page


def test_customer_reference_and_text_stand_in_the_page_and_in_no_link(browser: list[str]) -> None:
    shown = _box()
    shown.text_input(key="compare.report.customer").set_value("Tanaka <b>")
    shown.text_input(key="compare.report.reference").set_value("Offer 7")
    shown.text_area(key="compare.report.text").set_value("First.\n\n<script>second</script>")
    sound(shown.run())
    shown.button(key="compare.report.pdf.make").click()
    sound(shown.run())
    for text in ("Tanaka &lt;b&gt;", "Offer 7", "<p>First.</p><p>&lt;script&gt;second"):
        assert text in browser[0]
    assert not [n for n in shown.query_params if "Offer" in str(shown.query_params[n])]


def test_links_lead_to_the_public_address_that_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPOCHWISE_PUBLIC_URL", "plan.example")
    assert "is not a web address" in "".join(w.value for w in _box().warning).replace("\\", "")
