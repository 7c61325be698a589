"""A witness proves that a process has a folder, and not one of that path on another disk."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from planner.store.disk.witness import Witness, witness
from planner.store.sealed.commit import STALE_S, sweep_temporaries
from tests.shipped import ROOT


def test_the_folder_is_seen_while_the_witness_is_there(tmp_path: Path) -> None:
    with witness(tmp_path) as proof:
        assert proof.is_seen()
        assert proof.folder == tmp_path
        with witness(tmp_path) as other:
            assert other != proof
    assert not proof.is_seen()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [None, b"", b"other bytes", b"\xff\xfe", b"0" * 65])
def test_a_folder_of_the_same_path_on_another_disk_is_not_taken_for_it(
    tmp_path: Path, content: bytes | None
) -> None:
    """The disk of another machine has no such file, or one of an earlier sweep."""
    with witness(tmp_path / ".") as proof:
        pass
    if content is not None:
        Path(proof.path).write_bytes(content)
    assert not proof.is_seen()


SEES = """
import sys
from planner.store.disk.witness import Witness
print(Witness(*sys.argv[1:]).is_seen())
"""


@pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare is not installed here")
def test_another_process_sees_the_folder_and_not_the_disk_that_is_mounted_there(
    tmp_path: Path,
) -> None:
    """On Linux: in a mount namespace of its own another disk has the same path."""
    with witness(tmp_path) as proof:
        look = [sys.executable, "-c", SEES, proof.path, proof.content]
        here = subprocess.run(look, cwd=ROOT, capture_output=True, text=True, check=True)
        assert here.stdout == "True\n"
        mount = f'mount -t tmpfs none "{tmp_path}" || exit 3; exec "$@"'
        apart = subprocess.run(
            ["unshare", "--map-root-user", "--mount", "sh", "-c", mount, "sh", *look],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if apart.returncode in {1, 3, 127} and not apart.stdout:
            pytest.skip("this system gives no mount namespace")
        assert apart.stdout == "False\n", apart.stderr
        assert proof.is_seen()


def test_a_longer_file_is_not_taken_for_it(tmp_path: Path) -> None:
    with witness(tmp_path) as proof:
        assert not Witness(proof.path, proof.content[:-1]).is_seen()


def test_a_new_witness_ends_the_one_of_a_process_that_was_killed(tmp_path: Path) -> None:
    with witness(tmp_path) as killed:
        shutil.copyfile(killed.path, tmp_path / ".kept")
    shutil.copyfile(tmp_path / ".kept", killed.path)
    assert killed.is_seen()
    with witness(tmp_path) as proof:
        assert not killed.is_seen()
        assert proof.is_seen()


def test_a_long_sweep_of_another_machine_keeps_its_witness(tmp_path: Path) -> None:
    with witness(tmp_path) as proof:
        gone = Path(proof.path).with_name(f".{'0' * 16}.999999999.seen.tmp")
        Path(proof.path).rename(gone)
        far = Witness(str(gone), proof.content)
        os.utime(gone, (1.0, 1.0))
        far.renew()
        assert sweep_temporaries(tmp_path) == 0
        assert far.is_seen()
        os.utime(gone, (1.0, 1.0))
        assert sweep_temporaries(tmp_path) == 1
        assert STALE_S >= 86_400.0
        assert not far.is_seen()
