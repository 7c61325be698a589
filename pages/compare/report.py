"""The report: a page or a PDF with your name and logo, and the rows as data."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import streamlit as st

from pages.common import widgets
from pages.common.link import Link, as_text, plain
from pages.compare.state import Reply
from planner.answers.comparison import option_rows
from planner.compare.evaluation import Comparison
from planner.core import csv_text
from planner.report import MOST_LOGO_BYTES, MOST_NAME, compare_page, logo_uri
from planner.store.pdf import PdfError, chromium, pdf_of
from planner.store.records_file import records_file

_COMPANY: Final = "compare-report-company"
_LOGO: Final = "compare-report-logo"
_REFUSED: Final = "compare-report-logo-problem"
_PDF: Final = "compare-report-pdf"
_FIELD: Final = "compare.report.company"
_FILE: Final = "compare.report.logo"
"""Session keys; a widget's value is lost when its popover closes."""


def draw(link: Link, reply: Reply, comparison: Comparison, begins: datetime) -> None:
    """Draw the report button, and a popover with logo, PDF and data."""
    made = _maker(reply, link.url(), begins)
    widgets.download(
        "Report", made, "epochwise-compare.html", key="compare.report", width="content"
    )
    box = st.popover("Logo, PDF, data", icon=":material/picture_as_pdf:", key="compare.handout",
                     width="content", on_change="rerun")  # fmt: skip
    if not box.open:
        return
    with box:
        _letterhead()
        made = _maker(reply, link.url(), begins)  # with the current letterhead
        widgets.download("HTML", made, "epochwise-compare.html", key="compare.report.html")
        _pdf(made)
        records = option_rows(comparison, reply.display, begins)
        _data(lambda: csv_text(records), "csv")
        _data(lambda: records_file(records), "parquet")


def _data(make: Callable[[], bytes | str], kind: str) -> None:
    label = {"csv": "CSV of the options", "parquet": "Parquet of the options"}[kind]
    widgets.download(label, make, f"epochwise-compare.{kind}", key=f"compare.report.{kind}")


def _maker(reply: Reply, address: str, begins: datetime) -> Callable[[], str]:
    """Return a function that makes the page at the click; it reads its inputs now."""
    company, logo = st.session_state.get(_COMPANY, ""), st.session_state.get(_LOGO)
    made = f"{begins:%Y-%m-%d %H:%M} {begins.tzname()}"
    answered = replace(reply.answered, problems=tuple(dict.fromkeys(reply.problems)))
    return lambda: compare_page(
        answered, link=address, made=made, display=reply.display, company=company,
        logo=logo[1] if logo else None, begins=begins, by=reply.by,
    )  # fmt: skip


def _letterhead() -> None:
    """Draw company name and logo of the report; they stay in this session, not in the link."""
    st.text_input(
        "Company", st.session_state.get(_COMPANY, ""), key=_FIELD, max_chars=MOST_NAME,
        on_change=_named, placeholder="shown above the report",
    )  # fmt: skip
    upload = st.file_uploader(
        f"Logo (PNG, JPEG or SVG, {MOST_LOGO_BYTES // 1024:,} KiB at most)",
        type=["png", "jpg", "jpeg", "svg"], key=_FILE, on_change=_pictured,
        max_upload_size=max(MOST_LOGO_BYTES // 1_000_000, 1),
    )  # fmt: skip
    if upload is None:
        st.session_state.pop(_REFUSED, None)
    elif problem := st.session_state.get(_REFUSED, ""):  # as long as that file is chosen
        st.warning(as_text(f"{problem} The report leaves out {plain(upload.name)[:80]}."))
    if logo := st.session_state.get(_LOGO):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(as_text(f"Logo: {logo[0]}"))
            st.button("Without it", key="compare.report.plain", icon=":material/close:",
                      on_click=lambda: st.session_state.pop(_LOGO, None))  # fmt: skip


def _named() -> None:
    st.session_state[_COMPANY] = plain(str(st.session_state.get(_FIELD) or ""))[:MOST_NAME]


def _pictured() -> None:
    """Check a logo as soon as it is chosen; a refused one is not kept."""
    upload = st.session_state.get(_FILE)
    st.session_state.pop(_REFUSED, None)
    if upload is None:
        return
    picture = upload.getvalue()
    try:
        logo_uri(picture)
    except ValueError as error:
        st.session_state[_REFUSED] = str(error)
        return
    st.session_state[_LOGO] = (plain(upload.name)[:80], picture)


def _pdf(made: Callable[[], str]) -> None:
    """Draw a button that makes the PDF, then one that saves it; a download cannot show errors."""
    if chromium() is None:
        st.caption(
            "A PDF needs Chromium or Chrome on the machine that runs this app; none was found. "
            "Open the HTML and print it. It is laid out for A4."
        )
        return
    page = made()
    key = hashlib.sha256(page.encode()).hexdigest()
    st.button(
        "Make the PDF", key="compare.report.pdf.make", icon=":material/print:", width="stretch",
        on_click=lambda: _print(page, key),
    )  # fmt: skip
    if problem := st.session_state.pop(f"{_PDF}-problem", ""):
        st.warning(as_text(problem))
    made_pdf: Any = st.session_state.get(_PDF)
    if made_pdf and made_pdf[0] == key:
        st.download_button(
            "Save the PDF", made_pdf[1], "epochwise-compare.pdf", "application/pdf",
            key="compare.report.pdf", icon=":material/picture_as_pdf:", type="primary",
            on_click="ignore", width="stretch",
        )  # fmt: skip


def _print(page: str, key: str) -> None:
    try:
        st.session_state[_PDF] = (key, pdf_of(page))
    except PdfError as error:
        st.session_state[f"{_PDF}-problem"] = str(error)
