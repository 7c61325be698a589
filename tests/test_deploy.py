"""The files of docs/deploy.md: linted, true to this repository; a backup is a copy that works."""

from __future__ import annotations

import configparser
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
from pathlib import Path
from typing import Final

import pytest

from planner.store import Store, commit_runs
from planner.store.disk import views
from planner.store.disk.access import EVERYONE, Access, Viewer, set_access
from planner.store.disk.audit import audit_folder, entries, record
from planner.store.disk.secrets import SHARES, TOKENS
from planner.store.disk.views import View
from tests.load.proxy import ABSENT, executable
from tests.store.build import ABOUT, folder, row

ROOT: Final = Path(__file__).parent.parent
UNIT: Final = ROOT / "deploy" / "epochwise.service"
CONTAINER: Final = ROOT / "deploy" / "Containerfile"
PROXY: Final = ROOT / "deploy" / "nginx.conf"
MOST_COPIES: Final = 6


def _settings() -> set[str]:
    """Variables that docs/settings.md has."""
    return set(re.findall(r"`(EPOCHWISE_[A-Z]+)`", (ROOT / "docs" / "settings.md").read_text()))


def test_the_unit_is_one_that_systemd_accepts(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not here: it checks the unit")
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    unit = tmp_path / UNIT.name
    text = UNIT.read_text().replace("/opt/epochwise/.venv/bin/python", str(python))
    unit.write_text(re.sub(r"(?m)^(User|Group|WorkingDirectory)=.*\n", "", text))
    done = subprocess.run([program, "verify", unit], capture_output=True, text=True)
    assert (done.returncode, [x for x in done.stderr.splitlines() if unit.name in x]) == (0, [])


def test_the_unit_starts_what_the_makefile_starts_and_sets_known_variables() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(UNIT)
    assert "-m streamlit run app.py" in unit["Service"]["ExecStart"]
    assert unit["Service"]["KillMode"] == "process"
    named = set(re.findall(r"Environment=(EPOCHWISE_[A-Z]+)=", UNIT.read_text()))
    assert named
    assert named <= _settings()


def test_the_proxy_has_a_configuration_that_nginx_accepts(tmp_path: Path) -> None:
    nginx, openssl = executable(), shutil.which("openssl")
    if nginx is None or openssl is None:
        pytest.skip(f"{ABSENT}; openssl makes the certificate")
    key, certificate = tmp_path / "privkey.pem", tmp_path / "fullchain.pem"
    request = ["req", "-x509", "-nodes", "-newkey", "rsa:2048", "-subj", "/CN=plan.example.org"]
    subprocess.run([openssl, *request, "-keyout", key, "-out", certificate], check=True,
                   capture_output=True)  # fmt: skip
    text = PROXY.read_text().replace("/etc/ssl/epochwise", str(tmp_path))
    file = tmp_path / "nginx.conf"
    file.write_text(f"pid {tmp_path}/pid;\nevents {{}}\nhttp {{\n{text}\n}}\n")
    done = subprocess.run([nginx, "-t", "-e", tmp_path / "log", "-c", file], capture_output=True,
                          text=True)  # fmt: skip
    assert (done.returncode, "warn" in done.stderr) == (0, False), done.stderr


def test_the_container_file_passes_its_linter() -> None:
    linter = Path(sysconfig.get_path("scripts")) / "hadolint"
    if not linter.exists():
        pytest.skip("hadolint has no wheel for this machine")
    done = subprocess.run([linter, "--no-color", CONTAINER], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_container_file_copies_what_is_there_and_all_of_it() -> None:
    text = CONTAINER.read_text()
    copied = {w for line in re.findall(r"(?m)^COPY (.+)$", text) for w in line.split()[:-1]}
    assert [name for name in copied if not (ROOT / name).exists()] == []
    assert {"app.py", ".streamlit", "api", "backtest", "data", "pages", "planner", "runners"} <= (
        copied
    )
    set_there = re.findall(r"(EPOCHWISE_[A-Z]+)=", text)
    assert set(set_there) <= _settings()
    assert len(set_there) == len(set(set_there)), "the last of two counts"
    assert text.index("\nUSER 10001") < text.index("\nCMD ")


def test_the_proxy_passes_web_sockets_uploads_and_compresses() -> None:
    text = PROXY.read_text()
    asked = "proxy_set_header Upgrade", "gzip on", "application/javascript", "Host $http_host"
    assert [words for words in asked if words not in text] == []
    [size] = re.findall(r"client_max_body_size (\d+)m", text)
    config = (ROOT / ".streamlit" / "config.toml").read_text()
    [upload] = re.findall(r"maxUploadSize = (\d+)", config)
    assert int(size) > int(upload)


def test_a_copy_taken_while_runs_are_written_is_restored_whole(tmp_path: Path) -> None:
    place = tmp_path / "runs" / "mine"
    over = threading.Event()

    def write() -> None:
        for n in range(30):
            commit_runs(place, [row(repeat=n)])
        over.set()

    commit_runs(place, [row(repeat=1_000)])
    (place / "set.toml").write_text(ABOUT)
    writer = threading.Thread(target=write)
    writer.start()
    copies = 0
    while copies < MOST_COPIES and (not over.is_set() or not copies):
        target = tmp_path / f"backup {copies}"
        shutil.copytree(tmp_path / "runs", target, ignore=shutil.ignore_patterns("*.tmp"))
        copies += 1
    writer.join()
    for number in range(copies):
        store = Store([folder(tmp_path / f"backup {number}")])
        store.refresh()
        [[count]] = store.rows("SELECT count(*) FROM runs")
        assert (list(store.refused), 1 <= count <= 31) == ([], True)
    shutil.copytree(tmp_path / "runs", tmp_path / "restored")
    store = Store([folder(tmp_path / "restored")])
    store.refresh()
    assert store.rows("SELECT count(*) FROM runs") == [(31,)]


def test_a_restored_folder_has_access_secrets_log_and_saved_views(tmp_path: Path) -> None:
    there = tmp_path / "lib"
    commit_runs(there / "results" / "mine", [row()])
    set_access(there / "results" / "mine", Access(groups=frozenset({"team"})))
    token = TOKENS.create(TOKENS.folder(there / "state"), name="lab", sets=["mine"])
    link = SHARES.create(SHARES.folder(there / "state"), slug="mine")
    log = audit_folder(there / "state")
    entry = record(log, who="ana", role="admin", via="page", what="add results")
    view = View(name="Offer", page="how-long", parameters={}, saved_at="2026-11-26T00:00:00Z")
    views.save(there / "saved" / "views", view)
    restored = tmp_path / "restored"
    subprocess.run(["cp", "-a", there, restored], check=True)
    store = Store([folder(restored / "results")], viewer=EVERYONE)
    store.refresh()
    assert (list(store.refused), store.rows("SELECT count(*) FROM runs")) == ([], [(0,)])
    member = Store([folder(restored / "results")], viewer=Viewer(groups=frozenset({"team"})))
    member.refresh()
    assert member.rows("SELECT count(*) FROM runs") == [(1,)]
    state = restored / "state"
    assert TOKENS.checked(TOKENS.folder(state), token) is not None
    assert SHARES.checked(SHARES.folder(state), link) is not None
    assert TOKENS.folder(state).stat().st_mode & 0o077 == 0
    assert list(entries(audit_folder(state))) == [entry]
    assert [v.name for v in views.read_all(restored / "saved" / "views").views] == ["Offer"]


BUSY: Final = """
import ctypes, threading
import app

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
gate = threading.Barrier(24)

def work():
    libc.malloc(1000)
    gate.wait()

threads = [threading.Thread(target=work) for _ in range(24)]
[t.start() for t in threads]
[t.join() for t in threads]
libc.fdopen.restype, libc.fdopen.argtypes = ctypes.c_void_p, [ctypes.c_int, ctypes.c_char_p]
libc.malloc_info.argtypes = [ctypes.c_int, ctypes.c_void_p]
libc.fflush.argtypes = [ctypes.c_void_p]
out = libc.fdopen(1, b"w")
libc.malloc_info(0, out)
libc.fflush(out)
"""
"""24 threads that allocate beside each other, then glibc's list of its arenas."""


def _arenas(tmp_path: Path, **further: str) -> int:
    kept = {k: v for k, v in os.environ.items() if k != "MALLOC_ARENA_MAX"}
    mine = {f"EPOCHWISE_{name}": str(tmp_path / name) for name in ("RESULTS", "STATE")}
    end = subprocess.run([sys.executable, "-c", BUSY], cwd=ROOT, env=kept | mine | further,
                         capture_output=True, text=True, check=True, timeout=120)  # fmt: skip
    return end.stdout.count("<heap nr=")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has arenas to limit")
def test_a_server_has_few_arenas_unless_its_owner_says_otherwise(tmp_path: Path) -> None:
    assert _arenas(tmp_path) <= 3
    assert _arenas(tmp_path, MALLOC_ARENA_MAX="8") > 3
