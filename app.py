"""Start Epochwise: `make app`, `streamlit run app.py` and `uvicorn app:app` all come here.

The script proper is pages/shell.py: with `st.navigation` in this file, beside the folder pages/,
a cold deep link would run a page without the shell (docs/decisions/0002).
"""

from pathlib import Path

import streamlit as st

ROOT = Path(__file__).parent

app = st.App(ROOT / "pages" / "shell.py")
