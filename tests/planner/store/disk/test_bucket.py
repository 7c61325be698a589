"""Results in a bucket of a real S3 server: first commit wins, copies are checked, errors plain."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from planner.__main__ import run as planner
from planner.record import EpochTimes
from planner.runs import run_id
from planner.store import CommitError, Folder, Store, commit_runs, folders_from_environment
from planner.store.disk import bucket as buckets_of
from planner.store.disk import mirrors
from planner.store.disk.bucket import Bucket, BucketError, Object, address_of
from planner.store.disk.files import remove, write_once, write_whole
from planner.store.disk.mirrors import mirror_of, mirrored, named, results_folder
from planner.store.sealed.accept import fetch
from planner.store.sealed.compact import compact_set
from planner.store.sealed.result_set import restore, withdraw
from tests.store import buckets
from tests.store.build import ABOUT, ids, opened, reasons, row, rows

pytest.importorskip("obstore", reason="obstore is not installed here; requirements/s3.txt has it")
needs_weed = pytest.mark.skipif(
    buckets.program("weed") is None, reason="SeaweedFS is absent; requirements/s3-servers.txt"
)
needs_rclone = pytest.mark.skipif(
    buckets.program("rclone") is None, reason="rclone is absent; requirements/s3-servers.txt"
)


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[buckets.Server]:
    server = buckets.Server(tmp_path_factory.mktemp("s3-server"))
    yield server
    server.kill()


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in buckets.KEYS.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "no-credentials"))
    monkeypatch.setenv(mirrors.CACHE, str(tmp_path / "cache"))
    monkeypatch.setattr(mirrors, "LOOK_S", 0.0)


@pytest.fixture
def two(s3: buckets.Server, tmp_path: Path) -> tuple[Path, Path]:
    """The copies of one place on two machines."""
    here = s3.fresh(tmp_path / "one")
    mirror = mirror_of(here)
    assert mirror is not None
    return here, s3.fresh(tmp_path / "other", mirror.address.prefix)


@needs_weed
def test_a_run_committed_on_one_machine_is_shown_on_another(two: tuple[Path, Path]) -> None:
    here, there = two
    assert [c.new for c in commit_runs(here / "mine", rows(3))] == [True] * 3
    write_once(here / "mine" / "set.toml", ABOUT)
    store = opened(there)
    assert (ids(store), reasons(store)) == (sorted(run_id(r) for r in rows(3)), {})
    assert [s.title for s in store.sets] == ["A set"]


@needs_weed
def test_of_eight_machines_with_the_same_runs_each_run_is_new_once(
    s3: buckets.Server, tmp_path: Path
) -> None:
    first = s3.fresh(tmp_path / "0")
    mirror = mirror_of(first)
    assert mirror is not None
    places = [s3.fresh(tmp_path / str(n), mirror.address.prefix) for n in range(8)]
    new: list[bool] = []
    threads = [
        threading.Thread(
            target=lambda p=place: new.extend(c.new for c in commit_runs(p / "mine", rows(4)))
        )
        for place in places
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(new), sum(new)) == (32, 4)


@needs_weed
def test_other_numbers_of_a_run_in_the_bucket_are_refused_before_anything_is_written(
    two: tuple[Path, Path],
) -> None:
    here, there = two
    commit_runs(here / "mine", [row(step_s=1.0)])
    with pytest.raises(CommitError, match=r"step_s 1\.0 instead of 2\.0") as caught:
        commit_runs(there / "mine", [row(seed=3), row(step_s=2.0)])
    assert named(there / "mine") in str(caught.value.strerror)
    fetch(here)
    assert len(ids(opened(here))) == 1


@needs_weed
def test_a_faster_writer_with_other_numbers_is_named(
    two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = two
    real, left = Bucket.put_new, [1]

    def put_new(self: Bucket, key: str, data: bytes) -> str | None:
        left[0] -= 1
        if left[0] == -1:  # the other one commits the second row just before us
            commit_runs(there / "mine", [row(repeat=1, step_s=1.0)])
        return real(self, key, data)

    monkeypatch.setattr(Bucket, "put_new", put_new)
    with pytest.raises(CommitError, match="1 of 3 rows of this call is saved"):
        commit_runs(here / "mine", rows(3, step_s=2.0))
    assert len(ids(opened(there))) == 2


@needs_weed
def test_a_compaction_here_is_one_file_there(two: tuple[Path, Path]) -> None:
    here, there = two
    commit_runs(here / "mine", rows(5))
    store = opened(there)
    compact_set(here / "mine")
    store.refresh()
    assert (len(ids(store)), [p.name[:8] for p in (there / "mine").glob("*.parquet")]) == (
        5,
        ["compact-"],
    )
    assert [c.new for c in commit_runs(there / "mine", rows(6))] == [False] * 5 + [True]


@needs_weed
def test_a_withdrawn_set_is_hidden_there_and_shown_again(two: tuple[Path, Path]) -> None:
    here, there = two
    commit_runs(here / "mine", rows(2))
    write_once(here / "mine" / "set.toml", ABOUT)
    store = opened(there)
    assert withdraw(here / "mine", "wrong", "2026-11-26")
    store.refresh()
    assert ids(store) == []
    assert restore(here / "mine", "2026-11-26")
    store.refresh()
    assert len(ids(store)) == 2


@needs_weed
def test_a_small_file_is_replaced_and_removed_on_every_machine(two: tuple[Path, Path]) -> None:
    here, there = two
    commit_runs(here / "mine", rows(1))
    for text in ("one", "two"):
        write_whole(here / "mine" / "access.json", text)
        for place in (here, there):
            fetch(place)
            assert (place / "mine" / "access.json").read_text(encoding="utf-8") == text
    remove(here / "mine" / "access.json")
    fetch(there)
    assert not (there / "mine" / "access.json").exists()


@needs_weed
def test_a_page_shows_its_copies_while_the_bucket_is_listed_beside_it(
    two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = two
    commit_runs(here / "mine", rows(1))
    store = opened(there)
    monkeypatch.setattr(mirrors, "LOOK_S", 0.01)
    commit_runs(here / "mine", rows(2))
    time.sleep(0.02)
    listing, go_on = threading.Event(), threading.Event()
    real = Bucket.list

    def slow(self: Bucket, below: str = "", patience_s: float = 10.0) -> dict[str, Object]:
        listing.set()
        go_on.wait(60.0)
        return real(self, below, patience_s)

    monkeypatch.setattr(Bucket, "list", slow)
    store.refresh()
    assert listing.wait(60.0)
    assert len(ids(store)) == 1
    go_on.set()
    while len(ids(store)) < 2:
        time.sleep(0.02)
        store.refresh()


@needs_weed
def test_a_copy_is_downloaded_once_and_a_damaged_one_again(
    two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = two
    commit_runs(here / "mine", rows(4))
    fetch(there)
    asked: list[str] = []
    real = Bucket.get

    def get(self: Bucket, key: str) -> tuple[bytes, str] | None:
        asked.append(key)
        return real(self, key)

    monkeypatch.setattr(Bucket, "get", get)
    mirrors._MIRRORS.clear()  # as another process
    fetch(there)
    assert asked == []
    damaged = sorted((there / "mine").glob("*.parquet"))[2]
    data = bytearray(damaged.read_bytes())
    data[20] ^= 1
    damaged.write_bytes(data)
    mirrors._MIRRORS.clear()
    store = opened(there)
    got = [key for key in asked if not key.endswith("/access.json")]  # read at every refresh
    assert (got, len(ids(store)), reasons(store).get(damaged.name)) == (
        [f"mine/{damaged.name}"], 4, None,
    )  # fmt: skip


@needs_weed
def test_a_damaged_object_is_refused_with_its_reason(
    s3: buckets.Server, two: tuple[Path, Path]
) -> None:
    here, there = two
    commit_runs(here / "mine", rows(2))
    mirror = mirror_of(here)
    assert mirror is not None
    s3.overwrite(mirror.address.prefix, "mine/bad.parquet", b"PAR1 is not enough")
    s3.overwrite(mirror.address.prefix, "mine/bad.parquet/below.parquet", b"x")
    s3.overwrite(mirror.address.prefix, "mine/.hidden.parquet", b"x")
    store = opened(there)
    assert len(ids(store)) == 2
    assert "not a whole parquet file" in reasons(store)["bad.parquet"]
    assert {p.name for p in there.rglob("*") if "hidden" in p.name} == set()


@needs_weed
def test_an_object_deleted_by_its_owner_is_gone_here(two: tuple[Path, Path]) -> None:
    here, there = two
    commit_runs(here / "mine", rows(2))
    store = opened(there)
    mirror = mirror_of(here)
    assert mirror is not None
    mirror.bucket.delete(f"mine/{run_id(rows(2)[0])}.parquet")
    store.refresh()
    assert ids(store) == [run_id(rows(2)[1])]


@needs_weed
def test_a_put_whose_answer_is_lost_is_ours(s3: buckets.Server, tmp_path: Path) -> None:
    proxy = buckets.Proxy(s3.port, cut=0.2, slow=0.2)
    place = s3.fresh(tmp_path / "one", endpoint=proxy.endpoint)
    committed = commit_runs(place / "mine", rows(12))
    proxy.close()
    assert [c.new for c in committed] == [True] * 12
    assert min(proxy.lost, proxy.throttled) > 0


@needs_weed
def test_a_server_that_is_gone_leaves_the_copies_shown_and_says_so(
    s3: buckets.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = buckets.Proxy(s3.port)
    place = s3.fresh(tmp_path / "one", endpoint=proxy.endpoint)
    commit_runs(place / "mine", rows(2))
    store = opened(place)
    proxy.close()
    monkeypatch.setattr(mirrors, "GLANCE_S", 0.5)
    store.refresh()
    assert len(ids(store)) == 2
    assert "gives no answer or asks to wait" in reasons(store)[mirrors.MARK]


@needs_weed
@pytest.mark.parametrize(
    ("place", "setting", "words"),
    [
        ("s3://no-such-bucket/team", "", "the bucket does not exist. Create it"),
        ("s3://runs/team", "AWS_SECRET_ACCESS_KEY=x", "the secret key is wrong"),
        ("s3://runs/team", "AWS_ACCESS_KEY_ID=x", "the access key is unknown"),
        ("s3://runs/team", "AWS_ACCESS_KEY_ID=", "there are no credentials. Set AWS_ACC"),
        ("s3://R/team", "", "this is no place in a bucket. Write s3://bucket/prefix"),
    ],
    ids=["bucket", "secret", "key", "no key", "address"],
)
def test_a_command_says_in_plain_words_what_is_wrong(
    s3: buckets.Server,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    place: str,
    setting: str,
    words: str,
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.endpoint)
    if setting:
        monkeypatch.setenv(*setting.split("=", 1))
    assert planner(["how-long", "--results", place]) == 2
    assert words in capsys.readouterr().err


@needs_weed
def test_import_and_app_use_the_bucket_of_the_setting(
    s3: buckets.Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    prefix = s3.address().prefix
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.endpoint)
    monkeypatch.setenv("EPOCHWISE_RESULTS", f"s3://runs/{prefix}")
    code = planner([
        "import", "template", str(_template(tmp_path)), "--set", "brought", "--licence", "CC0-1.0",
    ])  # fmt: skip
    assert code == 0, capsys.readouterr().err
    assert f"s3://runs/{prefix}/brought" in capsys.readouterr().out
    monkeypatch.setenv(mirrors.CACHE, str(tmp_path / "cache of a server"))
    folders = folders_from_environment(tmp_path, {"EPOCHWISE_RESULTS": f"s3://runs/{prefix}"})
    store = Store(tuple(f for f in folders if f.kind == "own"))
    store.refresh()
    assert (len(ids(store)), [s.slug for s in store.sets]) == (1, ["brought"])


def _template(place: Path) -> Path:
    path = place / "runs.csv"
    path.write_text(
        "model,system_name,device_kind,mode,global_batch_size,throughput\n"
        "ResNet-50,T4,gpu,training,64,300\n",
        encoding="utf-8",
    )
    return path


@needs_weed
def test_a_script_records_its_epochs_in_the_bucket(
    s3: buckets.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = s3.address().prefix
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.endpoint)
    times = EpochTimes(
        f"s3://runs/{prefix}/mine", model="net", global_batch_size=8, samples_per_epoch=64, say=None
    )
    with times:
        for _ in times.epochs(3):
            pass
    assert len(ids(opened(results_folder(f"s3://runs/{prefix}")))) == 1
    assert s3.bucket(prefix).get("mine/set.toml") is not None


@needs_rclone
def test_a_server_that_ignores_conditional_puts_is_read_and_never_written(tmp_path: Path) -> None:
    with buckets.without_conditions(tmp_path / "rclone") as endpoint:
        address = address_of("s3://runs/team", {"AWS_ENDPOINT_URL": endpoint})
        assert address is not None
        place = mirrored(address, tmp_path / "cache")
        with pytest.raises(CommitError, match="ignores conditional puts") as caught:
            commit_runs(place / "mine", rows(2))
        assert "0 of 2 runs are saved" in str(caught.value.strerror)
        assert list((tmp_path / "rclone").rglob("*.parquet")) == []
        assert ids(opened(place)) == []


@pytest.mark.parametrize(
    ("named_by", "kinds"),
    [("s3://runs/a:s3://runs/b:/mnt/x", 3), ("/mnt/x:/mnt/y", 2), ("s3://runs/a", 1)],
)
def test_further_results_may_be_buckets(tmp_path: Path, named_by: str, kinds: int) -> None:
    folders = folders_from_environment(tmp_path, {"EPOCHWISE_FURTHER_RESULTS": named_by})
    assert sum(f.kind == "further" for f in folders) == kinds


def test_without_the_extra_the_command_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "obstore", None)
    address = address_of("s3://runs/team", {})
    assert address is not None
    with pytest.raises(BucketError, match=r"pip install -r requirements/s3\.txt"):
        Bucket(address, buckets.KEYS).list()
    store = Store([Folder(path=mirrored(address, tmp_path / "c"), label="yours", kind="own")])
    store.refresh()
    assert "obstore is not installed" in reasons(store)[mirrors.MARK]


def test_keys_come_from_the_file_of_aws_configure(tmp_path: Path) -> None:
    path = tmp_path / "credentials"
    text = (
        "[default]\naws_access_key_id = a\naws_secret_access_key = b%c\n[w]\naws_access_key_id=z\n"
    )
    path.write_text(text, encoding="utf-8")
    found = buckets_of._from_file({"AWS_SHARED_CREDENTIALS_FILE": str(path)})
    assert found == {"access_key_id": "a", "secret_access_key": "b%c"}
    half = {"AWS_SHARED_CREDENTIALS_FILE": str(path), "AWS_PROFILE": "w"}
    assert buckets_of._from_file(half) == {}
