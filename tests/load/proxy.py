"""nginx with deploy/nginx.conf on a port of its own: `python -m tests.load.proxy` installs it.

What differs from that file: the port, no TLS, the list of servers, and a log of who served whom.
"""

from __future__ import annotations

import http.client
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.browser.chromium import install
from tests.browser.server import ROOT, free_port

CONFIGURATION: Final = ROOT / "deploy" / "nginx.conf"
PACKAGE: Final = "nginx-light"
ABSENT: Final = f"nginx is not here; as root, `apt-get install {PACKAGE}` brings it"
LOG: Final = "served.log"
_PATIENCE_S: Final = 60.0
_AROUND: Final = """
daemon off;
worker_processes 1;
{user}pid {place}/nginx.pid;
error_log {place}/error.log;
events {{ worker_connections 1024; }}
http {{
    log_format served '$epochwise_server $upstream_addr';
    access_log {place}/{log} served;
    client_body_temp_path {place}/body;
    proxy_temp_path {place}/proxy;
    fastcgi_temp_path {place}/fastcgi;
    uwsgi_temp_path {place}/uwsgi;
    scgi_temp_path {place}/scgi;
{configuration}
}}
"""


def executable() -> str | None:
    """The nginx of this machine; None without one."""
    return shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


@contextmanager
def proxied(place: Path, servers: Sequence[str]) -> Iterator[str]:
    """The address of an nginx in front of these servers; its log is `place`/served.log.

    Raises:
        FileNotFoundError: nginx is not installed.
    """
    program = executable()
    if program is None:
        raise FileNotFoundError(ABSENT)
    place.mkdir(parents=True)
    port = free_port()
    file = place / "nginx.conf"
    file.write_text(_configuration(place, port, servers), encoding="utf-8")
    errors = place / "error.log"
    process = subprocess.Popen([program, "-e", str(errors), "-c", str(file)],
                               stderr=subprocess.DEVNULL)  # fmt: skip
    try:
        _wait(port, process, errors)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def _configuration(place: Path, port: int, servers: Sequence[str]) -> str:
    text = CONFIGURATION.read_text(encoding="utf-8")
    text = re.sub(r"(?m)^ *ssl_certificate.*\n", "", text)
    text = text.replace("listen 443 ssl;", f"listen 127.0.0.1:{port};")
    lines = "\n".join(f"    server {url.removeprefix('http://')};" for url in servers)
    text = text.replace("    server 127.0.0.1:8501;", lines)
    user = "user root;\n" if os.geteuid() == 0 else ""
    return _AROUND.format(user=user, place=place, log=LOG, configuration=text)


def served_by(place: Path) -> dict[str, set[str]]:
    """The servers that each browser got, by the value of its cookie."""
    found: dict[str, set[str]] = {}
    for line in (place / LOG).read_text(encoding="utf-8").splitlines():
        cookie, _, server = line.partition(" ")
        found.setdefault(cookie, set()).add(server)
    return found


def _wait(port: int, process: subprocess.Popen[bytes], errors: Path) -> None:
    end = time.monotonic() + _PATIENCE_S
    while process.poll() is None and time.monotonic() < end:
        asked = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
        try:
            asked.request("GET", "/_stcore/health")
            asked.getresponse().read()
        except OSError:
            time.sleep(0.05)
        else:
            return
        finally:
            asked.close()
    raise RuntimeError(f"nginx did not start on port {port}. {errors.read_text()[-2000:]}")


if __name__ == "__main__":
    here = executable() or install(PACKAGE)
    sys.stdout.write(f"nginx: {executable()}\n" if here else f"{ABSENT}. Its tests are skipped.\n")
