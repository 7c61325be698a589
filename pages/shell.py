"""The frame of every page: tab icon, navigation, and the footer.

Every request, also a cold deep link, runs this script first (docs/decisions/0002).
"""

import logging
import uuid
from typing import Final

import streamlit as st

from pages.common import kept, markup, narrow, widgets
from pages.common.addresses import navigation
from pages.common.kept import LATE_S, TURNS, at_one_moment, store
from pages.visitor import identity, sending
from planner.core import Text, several
from planner.figures import style_sheet
from planner.store import LimitError

WRITING: Final = "add-results"
"""Page that changes results: it shows them at once, and then so does every other page."""
SIDEBAR: Final = 256
"""Width of the navigation [px]: narrower than usual, so that long names have room in fields."""
_LOG: Final = logging.getLogger("epochwise")


def _footer() -> None:
    """Draw the amount and date of the data: the same on every page."""
    shared = store()
    totals = kept.totals(shared)
    newest = (
        Text("last recorded {newest:%-d %b %Y}", newest=totals.newest)
        if totals.newest
        else "no data yet"
    )
    refused = f" · {len(shared.refused)} refused" if shared.refused else ""
    with st.sidebar:
        st.caption(
            f"**Epochwise** · {several(len(shared.sets), 'result set')} · "
            f"{several(totals.runs, 'run')}{refused}  \n{newest}"
        )


identity.take_share()
st.set_page_config(page_icon=markup.icon(), layout="wide", initial_sidebar_state=SIDEBAR)
markup.draw(style_sheet(widgets.theme()))
page = st.navigation(navigation())
markup.draw(narrow.STYLE)
try:
    late_s = 0.0 if page.url_path == WRITING else LATE_S
    with TURNS.turn(late_s) as requested_s, at_one_moment(requested_s):
        with sending.drawing():
            page.run()
        identity.draw_account()
        _footer()
except LimitError as error:
    st.error(str(error), icon=":material/memory:")
except Exception:  # Streamlit logs it and shows a box without details
    number = uuid.uuid4().hex[:12]
    _LOG.error("Error %s follows.", number)
    st.error(
        Text("Something went wrong here. The server's log has it under {number}.", number=number)
    )
    raise
