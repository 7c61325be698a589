"""Make sure a Chromium is there: `python -m tests.browser.chromium`, used by `make browser`.

One on PATH is taken as it is. Else the system's own package (as root, with apt-get), else
Playwright's download. A missing browser is a failure with instructions, never a skipped test.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import Final

NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
PACKAGES: Final = ("chromium", "fonts-dejavu-core", "fonts-noto-cjk")
"""The fonts are for the screenshots: names from data may be Japanese."""
SHELL: Final = "chromium-headless-shell"
"""The same browser without windows, and its package: tests take a tenth less time in it."""
ADVICE: Final = (
    "No Chromium was found and none could be installed.\n"
    "Install one of chromium, chromium-browser, google-chrome so that it is on PATH, for example\n"
    f"  sudo apt-get install -y --no-install-recommends {' '.join(PACKAGES)}\n"
    "or, with access to the internet,\n"
    "  .venv/bin/python -m playwright install --with-deps chromium\n"
    "and run `make test` again. The tests without a browser: "
    '.venv/bin/python -m pytest -m "not browser"'
)


def executable() -> str | None:
    """The Chromium on PATH; None where only Playwright's own download can be meant."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def lean() -> str | None:
    """Return the browser without windows on PATH, else any Chromium."""
    return shutil.which(SHELL) or executable()


def main(python: str = sys.executable) -> int:
    """Find or install a Chromium; 0 where there is one now, else 1 and what to do."""
    found = executable()
    if found is None:
        found = _system_package()
    elif not shutil.which(SHELL) and _offered(SHELL):
        install(SHELL)
    if found:
        return _say(f"Chromium: {found}")
    if _done([python, "-m", "playwright", "install", "chromium"]):
        return _say("Chromium: Playwright's own")
    sys.stderr.write(f"{ADVICE}\n")
    return 1


def _system_package() -> str | None:
    if not install(*PACKAGES):
        return None
    if (found := executable()) and not install(SHELL):
        sys.stderr.write(f"There is no package {SHELL} here; tests use {found}.\n")
    return found


def _offered(package: str) -> bool:
    """Return whether the lists of the system's packages that are here have this one."""
    if os.geteuid() != 0 or not shutil.which("apt-cache"):
        return False
    return subprocess.run(["apt-cache", "show", package], capture_output=True).returncode == 0


def install(*packages: str) -> bool:
    """Install packages of the system, as root and with apt-get; return whether it worked."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return False
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "install", "-qq", "-y", "--no-install-recommends", *packages]
    return _done(["apt-get", "update", "-qq"], quiet) and _done(command, quiet)


def _done(command: list[str], environment: dict[str, str] | None = None) -> bool:
    sys.stderr.write(f"Installing: {' '.join(command)}\n")
    try:
        return subprocess.run(command, env=environment).returncode == 0
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        return False


def _say(text: str) -> int:
    sys.stdout.write(f"{text}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
