"""Reports of the pages: one click, or a box with customer, reference, text, logo, PDF and data."""

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import streamlit as st

from pages.common import widgets
from pages.common.link import as_text, is_local, plain
from pages.common.widgets import File
from pages.visitor.sending import accept_files
from planner.core import Text, message_of
from planner.report import (
    MOST_LOGO_BYTES,
    MOST_NAME,
    MOST_TEXT,
    SETTING,
    AnswerReport,
    Letterhead,
    answer_page,
    logo_uri,
    public_url,
)
from planner.store.pdf import PdfError, chromium, pdf_of

Make = Callable[[Letterhead, str], str]
"""Makes a report of a letterhead and a date in words."""
_NAMES: Final = {
    "customer": ("Customer", "Tanaka Ltd"),
    "reference": ("Reference", "Offer 2026-117"),
    "company": ("Company", "shown above the report"),
}
_KEPT: Final = "handout"
"""Begin of the session keys: a widget's value is lost when its popover closes."""


def of_content(address: str, content: Callable[[], AnswerReport]) -> Make:
    """Return the report of a page's content, with its link, date and letterhead."""
    return lambda letterhead, made: answer_page(
        replace(content(), link=address, made=made, letterhead=letterhead)
    )


def draw(page: str, make: Make, data: Sequence[File] = ()) -> None:
    """Draw the report button, and a box with the letterhead, the PDF and `data`.

    `make` reads nothing of the session: the report is made at the click, when no page is drawn.
    """
    letterhead, made = _letterhead(), now()
    name = f"epochwise-{page}.html"
    widgets.download(
        "Report", lambda: make(letterhead, made), name, key=f"{page}.report", width="content"
    )
    box = widgets.popover("Hand-out", "picture_as_pdf", f"{page}.handout")
    if not box.open:
        return
    with box:
        buttons = st.container(horizontal=True)
        _fields(page)
        letterhead = _letterhead()  # as it is now
        with buttons:
            widgets.download("HTML", lambda: make(letterhead, made), name,
                             key=f"{page}.report.html")  # fmt: skip
            problem = _pdf(page, lambda date: make(letterhead, date))
        if problem:
            buttons.warning(as_text(problem))
        _addresses()
        for file in data:
            widgets.download(file.label, file.make, file.name, key=file.key)


def now() -> str:
    """Return the date of a report that is made now."""
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"


def _letterhead() -> Letterhead:
    held: dict[str, Any] = {name: st.session_state.get(f"{_KEPT}-{name}", "") for name in _NAMES}
    logo = st.session_state.get(f"{_KEPT}-logo")
    text = st.session_state.get(f"{_KEPT}-text", "")
    return Letterhead(**held, text=text, logo=logo[1] if logo else None)


def _fields(page: str) -> None:
    """Draw the fields of the letterhead; they stay in this session, on every page, in no link."""
    for name, (label, example) in _NAMES.items():
        key = f"{page}.report.{name}"
        st.text_input(
            label, st.session_state.get(f"{_KEPT}-{name}", ""), key=key, max_chars=MOST_NAME,
            on_change=_named, args=(name, key), placeholder=example,
        )  # fmt: skip
    key = f"{page}.report.text"
    st.text_area(
        "Text", st.session_state.get(f"{_KEPT}-text", ""), key=key, max_chars=MOST_TEXT, height=100,
        on_change=_written, args=(key,), placeholder="below the answer, in your words",
    )  # fmt: skip
    _logo(page)


def _logo(page: str) -> None:
    key = f"{page}.report.logo"
    accept_files()
    upload = st.file_uploader(
        "Logo (PNG, JPEG or SVG)", type=["png", "jpg", "jpeg", "svg"], key=key,
        on_change=_pictured, args=(key,), max_upload_size=MOST_LOGO_BYTES // 2**20,
    )  # fmt: skip
    if upload is None:
        st.session_state.pop(f"{_KEPT}-logo-problem", None)
    elif problem := st.session_state.get(f"{_KEPT}-logo-problem", ""):  # while that file is chosen
        st.warning(
            as_text(
                Text(
                    "{problem} The report leaves out {upload}.",
                    problem=problem,
                    upload=plain(upload.name)[:80],
                )
            )
        )
    if logo := st.session_state.get(f"{_KEPT}-logo"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(as_text(f"Logo: {logo[0]}"))
            st.button("Without it", key=f"{page}.report.plain", icon=":material/close:",
                      on_click=lambda: st.session_state.pop(f"{_KEPT}-logo", None))  # fmt: skip


def _named(name: str, key: str) -> None:
    st.session_state[f"{_KEPT}-{name}"] = plain(str(st.session_state.get(key) or ""))[:MOST_NAME]


def _written(key: str) -> None:
    lines = str(st.session_state.get(key) or "")[:MOST_TEXT].splitlines()
    st.session_state[f"{_KEPT}-text"] = "\n".join(map(plain, lines))


def _pictured(key: str) -> None:
    """Check a logo as soon as it is chosen; a refused one is not kept."""
    upload = st.session_state.get(key)
    st.session_state.pop(f"{_KEPT}-logo-problem", None)
    if upload is None:
        return
    picture = upload.getvalue()
    try:
        logo_uri(picture)
    except ValueError as error:
        st.session_state[f"{_KEPT}-logo-problem"] = message_of(error)
        return
    st.session_state[f"{_KEPT}-logo"] = (plain(upload.name)[:80], picture)


def _pdf(page: str, make: Callable[[str], str]) -> str:
    """Draw a button that makes the PDF, then one that saves it; return what went wrong.

    A download cannot show errors.
    """
    if chromium() is None:
        st.caption(
            "A PDF needs Chromium or Chrome on the machine that runs this app; none was found. "
            "Open the HTML and print it. It is laid out for A4."
        )
        return ""
    key = hashlib.sha256(make("").encode()).hexdigest()  # whatever the minute
    kept: Any = st.session_state.get(f"{_KEPT}-pdf")
    st.button(
        "Make the PDF", key=f"{page}.report.pdf.make", icon=":material/print:", width="stretch",
        on_click=lambda: _print(make, key),
    )  # fmt: skip
    if kept and kept[0] == key:
        st.download_button(
            "Save the PDF", kept[1], f"epochwise-{page}.pdf", "application/pdf",
            key=f"{page}.report.pdf", icon=":material/picture_as_pdf:", type="primary",
            on_click="ignore", width="stretch",
        )  # fmt: skip
    return str(st.session_state.pop(f"{_KEPT}-pdf-problem", ""))


def _print(make: Callable[[str], str], key: str) -> None:
    try:
        st.session_state[f"{_KEPT}-pdf"] = (key, pdf_of(make(now())))
    except PdfError as error:
        st.session_state[f"{_KEPT}-pdf-problem"] = message_of(error)


def _addresses() -> None:
    """Draw where the links of a report lead, if only this machine can open them."""
    try:
        public = public_url(os.environ)
    except ValueError as error:
        st.warning(as_text(message_of(error)))
        return
    if not public and is_local():
        st.caption(
            Text(
                "Links in it open on this machine only. Set {setting} to your public address.",
                setting=SETTING,
            )
        )
