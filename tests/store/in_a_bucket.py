"""Runs the tests of the store in a bucket: `pytest -p tests.store.in_a_bucket FILES`.

The folder of a test, `tmp_path`, holds the local copies of a place of its own in a real S3 server.
What a test writes into or removes from it without the store is carried to the bucket first, as
somebody with another client would do it; then the store's own code downloads it again.
"""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from planner.store.disk import mirrors
from planner.store.disk.mirrors import MARK, IsWhole, Mirror
from planner.store.sealed import commit
from tests.store import buckets

TESTS: Final = (
    "tests/planner/store/sealed/test_commit.py", "tests/planner/store/sealed/test_compact.py",
    "tests/planner/store/sealed/test_golden.py", "tests/planner/store/test_moments.py",
    "tests/planner/store/test_reader.py", "tests/planner/store/test_refused.py",
)  # fmt: skip
"""Files of `make s3`; the tests of CANNOT are left out."""
CANNOT: Final = {
    "a_writer_that_is_faster": "replaces os.link; disk/test_bucket.py has the same",
    "full_disk": "a bucket is not full",
    "the_message_says_where": "a bucket is not full",
    "killed_between_link_and_unlink": "counts unlinks; tests/faults/test_bucket.py kills those",
    "while_a_reader_polls": "its threads share what this file carries; as above",
    "threads_that_ask_while_others_refresh": "as above",
    "_link": "a bucket has no links",
    "folder_named_like_a_file": "nor folders",
    "may_not_be": "nor permissions of single files",
    "pipe": "nor pipes",
    "results_folder_may_itself": "the folder of copies is made by the program",
}
"""Parts of names of tests, and why a bucket cannot show what they show."""
_SEEN: Final[dict[Path, dict[str, tuple[int, int, int]]]] = {}


def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    """Leave out what a bucket cannot show."""
    left_out = [i for i in items if any(part in i.name for part in CANNOT)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [i for i in items if i not in left_out]


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[buckets.Server]:
    """A server for all tests of this process."""
    server = buckets.Server(tmp_path_factory.mktemp("s3-server"))
    yield server
    server.kill()


@pytest.fixture
def tmp_path(
    s3: buckets.Server, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A folder whose results are in a bucket."""
    for name, value in buckets.KEYS.items():
        monkeypatch.setenv(name, value)
    path = tmp_path_factory.mktemp("in-a-bucket")
    address = s3.address()
    body = {"bucket": address.bucket, "prefix": address.prefix, "endpoint": address.endpoint}
    (path / MARK).write_text(json.dumps(body), encoding="utf-8")
    (path / "results").mkdir()
    monkeypatch.setattr(mirrors, "LOOK_S", 0.0)
    monkeypatch.setattr(commit, "named", str)  # tests name the folder
    real = Mirror.sync

    def sync(self: Mirror, folder: Path, is_whole: IsWhole, patience_s: float = 10.0) -> None:
        _carry(s3, self)
        real(self, folder, is_whole, patience_s)
        _SEEN[self.path] = _stamps(self)

    monkeypatch.setattr(Mirror, "sync", sync)
    return path / "results"


def _stamps(mirror: Mirror) -> dict[str, tuple[int, int, int]]:
    stats = ((key, (mirror.path / key).lstat()) for key in mirror._here(mirror.path))
    plain = ((key, s) for key, s in stats if stat.S_ISREG(s.st_mode))
    return {key: (s.st_size, s.st_mtime_ns, s.st_ino) for key, s in plain}


def _carry(server: buckets.Server, mirror: Mirror) -> None:
    """Do in the bucket what a test did in the folder."""
    seen, now = _SEEN.get(mirror.path, {}), _stamps(mirror)
    if seen == now:
        return
    there, prefix = mirror.bucket.list(), mirror.address.prefix
    for key, stamp in now.items():
        if seen.get(key) == stamp:
            continue
        data = (mirror.path / key).read_bytes()
        known = there.get(key)
        if known is None or known.etag.strip('"') != hashlib.md5(data).hexdigest():  # noqa: S324
            server.overwrite(prefix, key, data)
    for key in {k for k in there if mirrors._is_ours_at(k)} - now.keys():
        mirror.bucket.delete(key)


if __name__ == "__main__":
    print(*TESTS)
