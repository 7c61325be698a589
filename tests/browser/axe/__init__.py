"""The accessibility checker axe-core, from npm, at the version of package.json.

`make axe` installs it: `python -m tests.browser.axe`. It is not part of the product.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Page

PLACE: Final = Path(__file__).parent
SCRIPT: Final = PLACE / "node_modules" / "axe-core" / "axe.min.js"
TAGS: Final = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
"""WCAG 2.2 A and AA; and what axe advises besides, such as the order of headings."""
_CHECK: Final = """async ([tags, known]) => {
    const found = await axe.run(document, {
        resultTypes: ['violations'], runOnly: {type: 'tag', values: tags}})
    const excused = (rule, node) => known.some(([of, selector]) => of === rule
        && document.querySelector(node.target[0])?.matches(selector))
    return found.violations.flatMap(rule => rule.nodes
        .filter(node => !excused(rule.id, node))
        .map(node => `${rule.id}: ${(node.any[0] ?? node.all[0] ?? node.none[0])?.message ?? ''} `
            + node.html.slice(0, 160)))
}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A fault of Streamlit's own: the rule, the parts of a page that break it, and the reason."""

    rule: str
    selector: str
    reason: str


def script() -> str:
    """Return axe-core; without npm the test is skipped, else its absence is a failure."""
    if SCRIPT.is_file():
        return SCRIPT.read_text(encoding="utf-8")
    if shutil.which("npm") is None:
        pytest.skip("axe-core is not installed, and there is no npm to install it: see `make axe`")
    pytest.fail("axe-core is not installed. Run `make axe`.")


def violations(page: Page, known: tuple[Known, ...] = (), tags: tuple[str, ...] = TAGS) -> set[str]:
    """Return what axe finds on the page as it is now, without the known faults of Streamlit."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(script())
    faults: list[str] = page.evaluate(_CHECK, [list(tags), [[k.rule, k.selector] for k in known]])
    return set(faults)


def _required() -> str:
    package = json.loads((PLACE / "package.json").read_text(encoding="utf-8"))
    return str(package["dependencies"]["axe-core"])


def _installed() -> str:
    package = SCRIPT.with_name("package.json")
    return str(json.loads(package.read_text("utf-8"))["version"]) if package.is_file() else ""


def main() -> int:
    """Install axe-core; without npm its test is skipped."""
    if _installed() == _required():
        return 0
    npm = shutil.which("npm")
    if npm is None:
        sys.stdout.write("axe-core: there is no npm, so the accessibility test is skipped.\n")
        return 0
    return subprocess.run([npm, "ci", "--silent"], cwd=PLACE).returncode
