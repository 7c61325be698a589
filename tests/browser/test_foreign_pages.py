"""What other web pages can do to the app in a real browser: nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, BrowserContext

from tests.titles import PAGES

pytestmark = pytest.mark.browser

FOREIGN = """<!doctype html><title>other</title><iframe id=f src="{url}/measure"></iframe><script>
window.told = new Promise(done => {{
    const socket = new WebSocket("{socket}/_stcore/stream", ["streamlit"])
    socket.onopen = () => done("open")
    socket.onerror = () => done("refused")
}})
window.read = fetch("{url}/api/v1").then(() => "read", () => "kept")
</script>"""


@pytest.fixture
def foreign(app_url: str) -> Iterator[str]:
    """Another web page on another port of this machine, under the name localhost."""
    page = FOREIGN.format(url=app_url, socket=app_url.replace("http", "ws")).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_another_port_opens_no_socket_frames_no_page_and_reads_nothing(
    browser: Browser, foreign: str
) -> None:
    page = browser.new_page()
    page.goto(foreign)
    assert page.evaluate("window.told") == "refused"
    assert page.evaluate("window.read") == "kept"
    framed = page.frames[1]
    assert framed.locator("[data-testid=stApp]").count() == 0
    page.close()


def test_every_page_comes_with_its_policy(app_url: str, desk: BrowserContext) -> None:
    """That pages work under it, every other test sees: a violation is a line in the console."""
    policies = {
        address: desk.request.get(f"{app_url}/{address}").headers["content-security-policy"]
        for address in PAGES
    }
    assert [a for a, policy in policies.items() if "frame-ancestors 'none'" not in policy] == []
