"""Streamlit's test harness without what takes longer than a page.

It looks through the metadata of all installed packages for every page that it opens, and a
thousand times a second whether a page has ended.
"""

from __future__ import annotations

import functools
from typing import Final

from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import local_script_runner
from streamlit.testing.v1.local_script_runner import LocalScriptRunner

_stopped: Final = local_script_runner.require_widgets_deltas


def _joined(runner: LocalScriptRunner, timeout: float = 3) -> None:
    """Wait for the end of a script run."""
    if runner._script_thread:
        runner._script_thread.join(timeout)
    _stopped(runner, timeout=0.01)


@functools.cache
def quicken() -> None:
    """Look through the packages once, and wait for pages without looking."""
    if _stopped.__module__ == local_script_runner.__name__:  # tests/pages may have done so
        manifest_scanner.scan_component_manifests = functools.cache(
            manifest_scanner.scan_component_manifests
        )
        local_script_runner.require_widgets_deltas = _joined
