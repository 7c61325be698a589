"""Private sets, tokens, share links and the audit log of several servers in one bucket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from planner.__main__ import main
from planner.store import Store, commit_runs
from planner.store.disk import mirrors
from planner.store.disk.access import ACCESS, EVERYONE, OWNER, Access, Viewer, set_access
from planner.store.disk.audit import AuditEntry, AuditError, audit_folder, entries, record
from planner.store.disk.bucket import Bucket, BucketError, Object
from planner.store.disk.files import write_once
from planner.store.disk.mirrors import mirror_of
from planner.store.disk.secrets import SHARES, TOKENS, AnotherSetError, bind
from planner.store.disk.team import team_folder
from planner.store.visibility import access_of
from tests.store import buckets
from tests.store.build import ABOUT, folder, ids, rows

pytest.importorskip("obstore", reason="obstore is not installed here; requirements/s3.txt has it")
pytestmark = pytest.mark.skipif(
    buckets.program("weed") is None, reason="SeaweedFS is absent; requirements/s3-servers.txt"
)
TEAM = Access(groups=frozenset({"team"}))
MEMBER = Viewer(groups=frozenset({"team"}))


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[buckets.Server]:
    server = buckets.Server(tmp_path_factory.mktemp("s3-server"))
    yield server
    server.kill()


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in buckets.KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv(mirrors.CACHE, str(tmp_path / "cache"))
    monkeypatch.setattr(mirrors, "LOOK_S", 0.0)


@pytest.fixture
def two(s3: buckets.Server, tmp_path: Path) -> tuple[Path, Path]:
    """The copies of one place on two machines."""
    here = s3.fresh(tmp_path / "one")
    mirror = mirror_of(here)
    assert mirror is not None
    return here, s3.fresh(tmp_path / "other", mirror.address.prefix)


def _seen(place: Path, viewer: Viewer) -> int:
    store = Store([folder(place)], viewer=viewer)
    store.refresh()
    return len(ids(store))


def _filled(place: Path) -> None:
    commit_runs(place / "mine", rows(3))
    write_once(place / "mine" / "set.toml", ABOUT)


def test_a_set_made_private_before_its_first_run_is_never_seen_elsewhere(
    two: tuple[Path, Path],
) -> None:
    here, there = two
    set_access(here / "mine", TEAM)
    _filled(here)
    assert [_seen(there, viewer) for viewer in (EVERYONE, MEMBER, OWNER)] == [0, 3, 3]


def test_restricting_and_opening_a_set_is_followed_on_every_machine(
    two: tuple[Path, Path],
) -> None:
    here, there = two
    _filled(here)
    assert _seen(there, EVERYONE) == 3
    for access, seen in ((TEAM, 0), (Access(until=1.0), 3), (Access(until=4e9), 0), (None, 3)):
        set_access(there / "mine", access)
        assert (access_of(there / "mine"), access_of(here / "mine")) == (access, access)
        assert [_seen(place, EVERYONE) for place in (there, here)] == [seen, seen]


def test_runs_wait_for_the_access_of_their_set_that_a_long_listing_missed(
    two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = two
    set_access(here / "mine", TEAM)
    _filled(here)
    real = Bucket.list

    def without_access(
        self: Bucket, below: str = "", patience_s: float = 60.0
    ) -> dict[str, Object]:
        found = real(self, below, patience_s)
        return {key: each for key, each in found.items() if not key.endswith(ACCESS)}

    monkeypatch.setattr(Bucket, "list", without_access)
    assert [_seen(there, viewer) for viewer in (EVERYONE, MEMBER)] == [0, 3]


def test_the_command_and_the_page_change_a_set_in_a_bucket(
    s3: buckets.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    address = s3.address()
    monkeypatch.setenv("AWS_ENDPOINT_URL", address.endpoint)
    monkeypatch.setenv("EPOCHWISE_RESULTS", f"s3://{address.bucket}/{address.prefix}")
    monkeypatch.setenv("EPOCHWISE_TEAM", f"s3://{address.bucket}/{address.prefix}-team")
    assert main(["set", "visibility", "mine", "--group", "team", "--until", "2099-01-31"]) == 0
    assert main(["set", "share", "mine"]) == 0
    elsewhere = s3.fresh(tmp_path / "elsewhere", address.prefix)
    assert access_of(elsewhere / "mine") == Access(groups=TEAM.groups, until=4073500800.0)
    assert main(["set", "list"]) == 0
    assert "team; everyone from 2099-01-31" in capsys.readouterr().out
    monkeypatch.setenv(mirrors.CACHE, str(tmp_path / "another cache"))
    assert main(["audit"]) == 0
    log = capsys.readouterr().out
    assert "restrict a set" in log
    assert "make a share link" in log


def test_a_token_made_on_one_server_works_on_another_until_it_is_revoked(
    two: tuple[Path, Path],
) -> None:
    here, there = (TOKENS.folder(place) for place in two)
    text = TOKENS.create(here, name="lab", sets=["mine"])
    assert (token := TOKENS.checked(there, text)) is not None
    assert [t.name for t in TOKENS.all(there)] == ["lab"]
    assert text.rpartition("_")[2] not in (there / f"{token.id}.json").read_text()
    assert TOKENS.revoke(there, token.id)
    assert TOKENS.checked(here, text) is None


def test_a_token_tied_to_a_set_on_one_server_is_tied_to_it_on_every_server(
    two: tuple[Path, Path],
) -> None:
    here, there = (TOKENS.folder(place) for place in two)
    text = TOKENS.create(here, name="lab", sets=["mine"])
    [first, second] = (TOKENS.checked(place, text) for place in (here, there))
    assert first is not None
    assert second is not None
    bind(here, first, "mine", "mine/a")
    bind(there, second, "mine", "mine/a")
    for place in (here, there):
        with pytest.raises(AnotherSetError):
            bind(place, first, "mine", "mine/b")
    assert [t.name for t in TOKENS.all(there)] == ["lab"]


def test_a_share_link_revoked_elsewhere_is_useless_at_once(two: tuple[Path, Path]) -> None:
    here, there = (SHARES.folder(place) for place in two)
    text = SHARES.create(here, slug="mine")
    assert SHARES.checked(there, text) is not None
    [link] = SHARES.all(here)
    assert SHARES.revoke(here, link.id)
    assert SHARES.checked(there, text) is None


def _record(folder: Path, about: str) -> AuditEntry:
    return record(folder, who="ana", role="admin", via="page", what="add results", about=about)


def test_the_log_of_two_servers_is_one_and_says_what_was_changed(two: tuple[Path, Path]) -> None:
    here, there = (audit_folder(place) for place in two)
    written = [_record(place, f"n {n}") for n, place in enumerate((here, there, here))]
    for place in (here, there):
        assert [e.about for e in entries(place) if isinstance(e, AuditEntry)] == [
            "n 0",
            "n 1",
            "n 2",
        ]
    assert [e.id for e in entries(here, 2) if isinstance(e, AuditEntry)] == [
        e.id for e in written[1:]
    ]
    [path] = [p for p in there.glob("*/*.json") if written[0].id in p.read_text()]
    mirror = mirror_of(there)
    assert mirror is not None
    mirror.bucket.replace(f"audit/{path.parent.name}/{path.name}", b"{}")
    assert f"{path.parent.name}/{path.name}" in list(entries(here))


def test_without_the_bucket_nothing_is_done_and_no_token_is_believed(
    two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, _ = two
    text = TOKENS.create(TOKENS.folder(here), name="lab", sets=["mine"])

    def gone(*_: object) -> None:
        raise BucketError("s3://x", "the server gives no answer", "Try again later")

    for name in ("get", "_put_new"):
        monkeypatch.setattr(Bucket, name, gone)
    with pytest.raises(AuditError, match="nothing is done"):
        _record(audit_folder(here), "a")
    with pytest.raises(OSError, match="no answer"):
        TOKENS.checked(TOKENS.folder(here), text)


def test_the_folder_of_the_team_is_that_of_the_state_without_the_setting(tmp_path: Path) -> None:
    state = {"EPOCHWISE_STATE": str(tmp_path / "state")}
    assert team_folder(state) == tmp_path / "state"
    shared = {**state, "EPOCHWISE_TEAM": str(tmp_path / "team")}
    assert team_folder(shared) == tmp_path / "team"
    with pytest.raises(BucketError, match="no place in a bucket"):
        team_folder({"EPOCHWISE_TEAM": "s3://../x"})
