"""The app with the test double of the runners: `streamlit run tests/browser/stand_in_app.py`.

STAND_IN_PYTHON may name a Python for its commands.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))
os.environ["PYTHONPATH"] = str(ROOT)  # the stand-in is a script in a folder of its own

import streamlit as st  # noqa: E402 - after the path is set

from pages.measure import measuring  # noqa: E402

measuring.COMMAND = (
    os.environ.get("STAND_IN_PYTHON", sys.executable),
    "-m",
    "tests.pages.stand_in",
)
app = st.App(ROOT / "pages" / "shell.py")
