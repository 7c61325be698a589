"""The app with the test double of the runners: `streamlit run tests/browser/stand_in_app.py`."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))
os.environ["PYTHONPATH"] = str(ROOT)  # the stand-in is a script in a folder of its own

import streamlit as st  # noqa: E402 - after the path is set

from pages.measure import measuring  # noqa: E402

measuring.COMMAND = (sys.executable, str(ROOT / "tests" / "pages" / "stand_in.py"))
app = st.App(ROOT / "pages" / "shell.py")
