"""A real S3 server on this machine, and a proxy before it that throttles and cuts connections.

SeaweedFS keeps its objects on disk, so it is killed by SIGKILL and started again on them.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from planner.store.disk.bucket import Bucket, BucketAddress
from planner.store.disk.mirrors import mirrored

BUCKET: Final = "runs"
KEYS: Final = {
    "AWS_ACCESS_KEY_ID": "a-key",
    "AWS_SECRET_ACCESS_KEY": "a-secret",
    "AWS_EC2_METADATA_DISABLED": "true",
}
START_S: Final = 60.0
_IDENTITY: Final = {
    "identities": [
        {
            "name": "tests",
            "credentials": [{"accessKey": "a-key", "secretKey": "a-secret"}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }
    ]
}


def program(name: str) -> str | None:
    """Return the path of a server's program beside this Python or on PATH."""
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else shutil.which(name)


def free_ports(count: int) -> list[int]:
    """Return unused ports, as are their gRPC neighbours 10,000 above.

    Both are below those that the system gives to outgoing connections: one of these in the place
    of a neighbour keeps a killed server from starting again.
    """
    found: list[int] = []
    draw = random.Random(os.getpid() + time.monotonic_ns())
    while len(found) < count:
        port = draw.randrange(11_000, 22_000)
        if port not in found and all(_is_free(p) for p in (port, port + 10_000)):
            found.append(port)
    return found


def _is_free(port: int) -> bool:
    with contextlib.closing(socket.socket()) as one:
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


class Server:
    """SeaweedFS with one bucket, on loopback; its state survives `kill`."""

    def __init__(self, place: Path) -> None:
        self.place = place
        place.mkdir(parents=True, exist_ok=True)
        (place / "s3.json").write_text(json.dumps(_IDENTITY), encoding="utf-8")
        self.master, self.volume, self.filer, self.port = free_ports(4)
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.kill)
        self.start()

    def start(self) -> None:
        """Start it and wait until it keeps an object."""
        weed = program("weed")
        assert weed is not None
        words = [
            weed, "-logtostderr=true", "server", f"-dir={self.place}", "-ip=127.0.0.1",
            "-ip.bind=127.0.0.1", f"-master.port={self.master}", f"-volume.port={self.volume}",
            "-filer", f"-filer.port={self.filer}", "-s3", f"-s3.port={self.port}",
            f"-s3.config={self.place / 's3.json'}", "-master.volumePreallocate=false",
            "-master.volumeSizeLimitMB=64", "-volume.max=20", "-master.telemetry=false",
            "-master.electionTimeout=1s",
            "-volume.minFreeSpace=1", "-s3.port.iceberg=0", "-s3.port.lance=0",
        ]  # fmt: skip
        with (self.place / "log").open("ab") as log:
            self._process = subprocess.Popen(words, stdout=log, stderr=log)
        end_s = time.monotonic() + START_S
        while time.monotonic() < end_s and self._process.poll() is None:
            with contextlib.suppress(Exception):
                self._api().put(self._store(), f".ready/{uuid.uuid4().hex}", b"1")
                return
            time.sleep(0.1)
        self.kill()
        raise TimeoutError(f"the S3 server did not start: see {self.place / 'log'}")

    def kill(self) -> None:
        """End it by SIGKILL."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def fresh(self, cache: Path, prefix: str | None = None, endpoint: str | None = None) -> Path:
        """Return the folder of the copies of a place of its own in the bucket."""
        return mirrored(self.address(prefix, endpoint), cache)

    def address(self, prefix: str | None = None, endpoint: str | None = None) -> BucketAddress:
        """Return a place of its own in the bucket."""
        return BucketAddress(
            bucket=BUCKET,
            prefix=uuid.uuid4().hex if prefix is None else prefix,
            endpoint=endpoint or self.endpoint,
        )

    def bucket(self, prefix: str) -> Bucket:
        """Return a client of its own."""
        return Bucket(self.address(prefix), KEYS)

    def overwrite(self, prefix: str, key: str, data: bytes) -> None:
        """Put an object as a stranger does, whatever was there."""
        self._api().put(self._store(), f"{prefix}/{key}", data)

    @staticmethod
    def _api() -> Any:  # noqa: ANN401 - an extra
        import obstore

        return obstore

    def _store(self) -> Any:  # noqa: ANN401 - of that module
        from obstore.store import S3Store

        return S3Store(
            BUCKET, endpoint=self.endpoint, access_key_id="a-key",
            secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
            region="us-east-1", client_options={"allow_http": True},
            retry_config={"max_retries": 0},
        )  # fmt: skip


class Proxy:
    """Passes requests on; a share is answered 503 SlowDown, another cut once carried out."""

    def __init__(self, to_port: int, *, slow: float = 0.0, cut: float = 0.0, seed: int = 1) -> None:
        self.slow, self.cut = slow, cut
        self.draw = random.Random(seed)
        self.requests = self.throttled = self.lost = 0
        self.lock = threading.Lock()
        self.is_closed = False
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                proxy.pass_on(self, to_port)

            do_PUT = do_POST = do_DELETE = do_HEAD = do_GET  # noqa: N815

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        class Threads(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: object) -> None:
                """Say nothing: a client was killed."""

        self._server = Threads(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop it; open connections are cut."""
        self.is_closed = True
        self._server.shutdown()
        self._server.server_close()

    def pass_on(self, handler: BaseHTTPRequestHandler, to_port: int) -> None:
        """Answer one request."""
        size = int(handler.headers.get("Content-Length") or 0)
        body = handler.rfile.read(size)
        if self.is_closed:
            handler.close_connection = True
            handler.connection.close()
            return
        with self.lock:
            self.requests += 1
            drawn = self.draw.random()
            slow, cut = drawn < self.slow, self.slow <= drawn < self.slow + self.cut
            self.throttled += slow
        if slow:
            text = (
                b"<Error><Code>SlowDown</Code><Message>Reduce your request rate</Message></Error>"
            )
            _answer(handler, 503, {"Content-Type": "application/xml"}, text)
            return
        try:
            there = HTTPConnection("127.0.0.1", to_port, timeout=60)
            there.putrequest(handler.command, handler.path, skip_host=True,
                             skip_accept_encoding=True)  # fmt: skip
            for name, value in handler.headers.items():
                there.putheader(name, value)
            there.endheaders(body or None)
            answer = there.getresponse()
            content = answer.read()
        except (OSError, HTTPException):
            handler.close_connection = True
            handler.connection.close()
            return
        finally:
            there.close()
        if cut:
            with self.lock:
                self.lost += 1
            handler.close_connection = True
            handler.connection.close()
            return
        _answer(handler, answer.status, dict(answer.getheaders()), content)


def _answer(
    handler: BaseHTTPRequestHandler, status: int, headers: dict[str, str], content: bytes
) -> None:
    with contextlib.suppress(OSError):
        handler.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in {"transfer-encoding", "connection", "content-length"}:
                handler.send_header(name, value)
        length = headers.get("Content-Length", "0") if handler.command == "HEAD" else len(content)
        handler.send_header("Content-Length", str(length))
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(content)


@contextlib.contextmanager
def without_conditions(place: Path) -> Iterator[str]:
    """Yield the endpoint of a real server that ignores conditional puts: `rclone serve s3`."""
    (place / BUCKET).mkdir(parents=True)
    rclone = program("rclone")
    assert rclone is not None
    [port] = free_ports(1)
    endpoint = f"http://127.0.0.1:{port}"
    words = [rclone, "serve", "s3", str(place), "--addr", f"127.0.0.1:{port}", "--config",
             str(place / "none.conf"), "--auth-key", "a-key,a-secret"]  # fmt: skip
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            try:
                urllib.request.urlopen(endpoint, timeout=1).close()
                break
            except urllib.error.HTTPError:
                break
            except OSError:
                time.sleep(0.05)
        yield endpoint
    finally:
        process.kill()
        process.wait()
