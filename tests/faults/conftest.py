"""After the campaigns: one table of what they found."""

from __future__ import annotations

import pytest

from tests import figures_page
from tests.faults.outcomes import FINISHED, FULL, table, write_figures


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table; `make faults` writes it to docs/reliability.md too, and README follows."""
    if not FINISHED:
        return
    terminalreporter.section("what the campaigns found")
    for line in table(FINISHED):
        terminalreporter.write_line(line)
    if FULL:
        write_figures(FINISHED)
        figures_page.write_readme()
