"""Pictures of every page for the docs: `python -m tests.browser.screenshots docs/screenshots`.

Names of views behind the folder take these only. Each page on the shipped results: light and dark
on a desk, light on a telephone (400 px).
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser import chromium
from tests.browser.look import ARGUMENTS, settled
from tests.browser.server import served

VIEWS: Final = {
    "start": "",
    "how-long": "how-long",
    "compare": "compare",
    "capacity": "capacity?preset=vision",
    "throughput": "throughput",
    "scaling-out": "scaling-out",
    "steps-to-target": "steps-to-target",
    "results": "results?system=gpu",
    "measure": "measure",
    "method": "method",
}
KINDS: Final = {"": (1280, "light"), "-dark": (1280, "dark"), "-400px": (400, "light")}
MOST_BYTES: Final = 300_000
_TALLEST: Final = 3000
_CHARTED: Final = {
    "how-long",
    "compare",
    "capacity",
    "throughput",
    "scaling-out",
    "steps-to-target",
    "method",
}


def main(folder: Path, names: Sequence[str] = ()) -> int:
    """Write all pictures into `folder`, or those of `names`; 1 where one is too large."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, served(Path(place) / "results") as url:
        sizes = _all(url, folder, names or tuple(VIEWS))
    for name, size in sizes.items():
        sys.stdout.write(f"{folder / name}: {size / 1000:.0f} kB\n")
    return int(any(size > MOST_BYTES for size in sizes.values()))


def _all(url: str, folder: Path, names: Sequence[str]) -> dict[str, int]:
    sizes = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium.executable(), args=list(ARGUMENTS)
        )
        for name in names:
            address = VIEWS[name]
            for kind, (width, scheme) in KINDS.items():
                page = _opened(browser, f"{url}/{address}", width, scheme)
                if name in _CHARTED:
                    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
                picture = _small(page.screenshot())
                (folder / f"{name}{kind}.png").write_bytes(picture)
                sizes[f"{name}{kind}.png"] = len(picture)
                page.close()
        browser.close()
    return sizes


def _opened(browser: Browser, address: str, width: int, scheme: str) -> Page:
    """The page in a window as high as what it holds."""
    page = browser.new_page(viewport={"width": width, "height": 1000})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.goto(address)
    settled(page)
    high = page.get_by_test_id("stMainBlockContainer").evaluate(
        "e => Math.ceil(e.lastElementChild.getBoundingClientRect().bottom) + 32"
    )
    page.set_viewport_size({"width": width, "height": min(int(high), _TALLEST)})
    return settled(page)


def _small(picture: bytes) -> bytes:
    """The same picture with 256 colours: a page has few, and a repository keeps every byte."""
    out = io.BytesIO()
    shown = Image.open(io.BytesIO(picture)).convert("RGB")
    few = shown.quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=4, dither=Image.Dither.NONE)
    few.save(out, "PNG", optimize=True)
    return out.getvalue()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/screenshots"), sys.argv[2:]))
