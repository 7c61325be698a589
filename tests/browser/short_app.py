"""The app whose shipped sweeps are short: `streamlit run tests/browser/short_app.py`.

SHORT_PYTHON may name a Python for its commands, SHORT_TENSORFLOW one for its children.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))

import streamlit as st  # noqa: E402 - after the path is set

from pages.measure import measuring  # noqa: E402

measuring.COMMAND = (
    os.environ.get("SHORT_PYTHON", sys.executable),
    "-m",
    "tests.browser.short_runners",
)
app = st.App(ROOT / "pages" / "shell.py")
