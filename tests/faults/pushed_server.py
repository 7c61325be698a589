"""A server of the push endpoint alone: `python -m tests.faults.pushed_server PORT FOLDER`."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from api.push import Inbox
from api.routes import Rules, routes
from planner.store import Store
from tests.shipped import ROOT


def main(port: int, place: Path) -> None:
    """Serve until killed."""
    inbox = Inbox(results=place / "results", tokens=place / "tokens", shipped=place / "none")
    store = Store([])
    rules = Rules(store=lambda _: store, catalogs=(), inbox=inbox)
    app = Starlette(routes=routes(rules))
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")


def _port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Restarted:
    """A server process that is killed and started again on one port."""

    def __init__(self, place: Path) -> None:
        self.place, self.port = place, _port()
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        words = ["-m", "tests.faults.pushed_server", str(self.port), str(self.place)]
        process = subprocess.Popen([sys.executable, *words], cwd=ROOT)
        until = time.monotonic() + 60
        while time.monotonic() < until and process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                break
            time.sleep(0.02)
        return process

    def kill_and_start(self) -> None:
        """End the process as a power failure would, and start it again."""
        self.process.kill()
        self.process.wait()
        self.process = self._start()

    def end(self) -> None:
        """Kill it for good."""
        self.process.kill()
        self.process.wait()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
