"""Local copies of results in a bucket: read like any folder, written through to the bucket.

A place `s3://bucket/prefix` has a folder in the cache of this machine. `.bucket.json` in it names
the place, so that every process that gets the folder's path knows. `sync` makes the folder equal
to the bucket: new objects are downloaded once and their seals checked, others are removed.
`publish` writes to the bucket first, on the condition that the object does not exist, and then
here: the bucket decides whose commit was first, and a kill in between loses nothing. Runs are
downloaded after the `access.json` of their set, so no visitor sees a restricted set for a moment.

A listing of a bucket is not made in one instant, so one that misses a known object is made again,
as that of a folder is (`planner.store.sealed.accept`). Everything here may be deleted at any time.
"""

import contextlib
import hashlib
import json
import os
import re
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Final

from planner.core import MAX_FILE_BYTES
from planner.store.disk.bucket import (
    GLANCE_S,
    PATIENCE_S,
    SCHEME,
    Bucket,
    BucketAddress,
    BucketError,
    Object,
    address_of,
    bucket_at,
)
from planner.store.disk.locks import locked

CACHE: Final = "EPOCHWISE_CACHE"
MARK: Final = ".bucket.json"
LOOK_S = 5.0
"""A page believes the copies for so long before the bucket is listed again, beside it [s]."""
_INDEX: Final = ".objects.jsonl"
_LOCK: Final = ".sync"
_ACCESS: Final = "access.json"
_ABOUT: Final = frozenset({"set.toml", "withdrawn.json", _ACCESS})
_TEAM: Final = re.compile(r"(?:[0-9a-f]{8}|[0-9a-f]{64}|[0-9]{19}-[0-9a-f]{32})\.json")
"""Names of tokens and share links, sets of tokens, and entries of the audit log."""
_DOWNLOADS: Final = 8
_TRIES: Final = 20
IsWhole = Callable[[Path], bool]


class Mirror:
    """The copies of one place in a bucket; thread-safe, and shared by processes."""

    def __init__(self, path: Path, address: BucketAddress) -> None:
        self.path = path
        self.address = address
        self.behind: BucketError | None = None
        """Why the last look failed; None where it did not."""
        self._bucket: tuple[int, Bucket] | None = None
        self._checked: set[str] = set()
        self._looked_s: dict[str, float] = {}
        self._looking = threading.Lock()

    @property
    def bucket(self) -> Bucket:
        """The bucket; a forked process makes its own connection."""
        if self._bucket is None or self._bucket[0] != os.getpid():
            self._bucket = (os.getpid(), bucket_at(self.address))
        return self._bucket[1]

    def look(self, folder: Path, is_whole: IsWhole) -> None:
        """Bring the copies up to date: at once where there was no look yet, else beside the caller.

        A bucket that cannot be read leaves the copies as they are, and `behind` says why.
        """
        last_s = self._looked_s.get(self._key(folder))
        if last_s is not None and time.monotonic() - last_s < LOOK_S:
            return
        if last_s is None or not LOOK_S:
            self._glance(folder, is_whole)
        elif self._looking.acquire(blocking=False):
            threading.Thread(target=self._beside, args=(folder, is_whole), daemon=True).start()

    def _beside(self, folder: Path, is_whole: IsWhole) -> None:
        try:
            self._glance(folder, is_whole)
        finally:
            self._looking.release()

    def _glance(self, folder: Path, is_whole: IsWhole) -> None:
        try:
            self.sync(folder, is_whole, GLANCE_S)
            self.behind = None
        except BucketError as error:
            self.behind = error
        self._looked_s[self._key(folder)] = time.monotonic()

    def sync(self, folder: Path, is_whole: IsWhole, patience_s: float = PATIENCE_S) -> None:
        """Make the files below `folder` those of the bucket.

        Raises:
            BucketError: the bucket cannot be read; files downloaded so far stay.
        """
        (self.path / _LOCK).mkdir(parents=True, exist_ok=True)
        with locked(self.path / _LOCK):
            here = self._here(folder)
            there = self._listed(self._key(folder), here, patience_s)
            index = self._index()
            new = [k for k, o in there.items() if not self._is_copy(k, o, here, index, is_whole)]
            about = [k for k in new if k.rsplit("/", 1)[-1] in _ABOUT]
            runs = [k for k in new if k.rsplit("/", 1)[-1] not in _ABOUT]
            for part in (about, _unlisted_access(runs, there), runs):
                with ThreadPoolExecutor(_DOWNLOADS) as pool:
                    for _ in pool.map(lambda k: self._fetch(k, there.get(k), is_whole), part):
                        pass
            if gone := here - there.keys():
                with locked(folder), locked(folder.parent):  # no reader is amid a listing
                    for key in gone:
                        (self.path / key).unlink(missing_ok=True)
            if len(index) > 2 * len(there) + 1_000:
                self._rewrite(index)

    def publish(self, temporary: Path, final: Path) -> bool:
        """Give the content of `temporary` the name `final`, in the bucket and here.

        Returns:
            False where the bucket has that object; its content is here then.

        Raises:
            BucketError: the bucket refuses, or ignores conditional puts; nothing is written.
        """
        if final.name.startswith("."):
            self.bucket.check()
            return self._place(temporary, final)
        key, data = self._key(final), temporary.read_bytes()
        etag = self.bucket.put_new(key, data)
        if etag is None:
            if not final.exists():
                self._fetch(key, None, lambda _: True)
            return False
        self._place(temporary, final)
        self._note({key: Object(etag, len(data))})
        return True

    def replace(self, path: Path, data: bytes) -> None:
        """Make a small file that is no run hold exactly `data`, in the bucket and here."""
        key = self._key(path)
        etag = self.bucket.replace(key, data)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.{uuid.uuid4().hex[:8]}.tmp")
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(data)
        temporary.replace(path)
        self._note({key: Object(etag, len(data))})

    def bring(self, path: Path) -> None:
        """Make one small file here the object that is in the bucket now, or remove it.

        Raises:
            BucketError: the bucket cannot be read.
        """
        got = self.bucket.get(self._key(path))
        if got is None:
            path.unlink(missing_ok=True)
            return
        if not path.exists() or path.read_bytes() != got[0]:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{path.name}.{os.getpid()}.{uuid.uuid4().hex[:8]}.tmp")
            temporary.write_bytes(got[0])
            temporary.replace(path)
            self._note({self._key(path): Object(got[1], len(got[0]))})

    def remove(self, path: Path) -> None:
        """Delete a file, in the bucket and here."""
        self.bucket.delete(self._key(path))
        path.unlink(missing_ok=True)

    def set_aside(self, path: Path, aside: Path) -> None:
        """Rename a file, in the bucket and here. FileNotFoundError where it does not exist."""
        data = path.read_bytes()
        self.bucket.put_new(self._key(aside), data)
        self.bucket.delete(self._key(path))
        path.rename(aside)

    def _key(self, path: Path) -> str:
        key = path.relative_to(self.path).as_posix()
        return "" if key == "." else key

    def _here(self, folder: Path) -> set[str]:
        """Return the keys of the files below `folder` that a bucket may hold."""
        here: set[str] = set()
        for place, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if name[0] != "."]
            start = self._key(Path(place))
            here |= {f"{start}/{name}" if start else name for name in names if _is_ours(name)}
        return here

    def _listed(self, below: str, here: set[str], patience_s: float) -> dict[str, Object]:
        """Return a listing that misses no more of what is here than the one before it."""
        listed = self._list_once(below, patience_s)
        if (here and here <= listed.keys()) or not (here or listed):
            return listed
        every, missing = here | listed.keys(), here - listed.keys()
        for _ in range(_TRIES):
            listed = self._list_once(below, patience_s)
            gone = every - listed.keys()
            if gone <= missing:
                break
            every, missing = every | listed.keys(), gone
        return listed

    def _list_once(self, below: str, patience_s: float) -> dict[str, Object]:
        every = self.bucket.list(below, patience_s)
        return {key: each for key, each in every.items() if _is_ours_at(key)}

    def _is_copy(
        self,
        key: str,
        listed: Object,
        here: set[str],
        index: Mapping[str, Object],
        is_whole: IsWhole,
    ) -> bool:
        """Whether the file here is the object; its seal is checked once a process."""
        if key not in here or index.get(key) != listed:
            return False
        path = self.path / key
        if key not in self._checked:
            self._checked.add(key)
            with contextlib.suppress(OSError):
                return path.stat().st_size == listed.size and (
                    not key.endswith(".parquet") or is_whole(path)
                )
            return False
        return True

    def _fetch(self, key: str, listed: Object | None, is_whole: IsWhole) -> None:
        """Download an object whose bytes are checked by their seal; a second time if it fails."""
        path = self.path / key
        temporary = path.with_name(f".{path.name}.{os.getpid()}.{uuid.uuid4().hex[:8]}.tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if listed is not None and listed.size > MAX_FILE_BYTES:
                with temporary.open("wb") as file:  # a hole of that size: refused like the object
                    file.truncate(listed.size)
                etag = listed.etag
            else:
                for _ in range(2):
                    if (got := self.bucket.get(key)) is None:
                        return  # it has gone
                    data, etag = got
                    temporary.write_bytes(data)
                    if not key.endswith(".parquet") or is_whole(temporary):
                        break
            size = temporary.stat().st_size
            temporary.replace(path)
            self._checked.add(key)
            self._note({key: Object(etag, size)})
        except (NotADirectoryError, FileExistsError, IsADirectoryError):
            return  # a key below the name of a file: no result set
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)

    def _place(self, temporary: Path, final: Path) -> bool:
        try:
            os.link(temporary, final)
        except FileExistsError:
            return False
        except OSError:  # a disk without hard links
            temporary.replace(final)
        self._checked.add(self._key(final))
        return True

    def _index(self) -> dict[str, Object]:
        """Return what the files here are copies of; a line torn by a kill costs a download."""
        index: dict[str, Object] = {}
        with contextlib.suppress(FileNotFoundError):
            for line in (self.path / _INDEX).read_text(encoding="utf-8").splitlines():
                with contextlib.suppress(ValueError, TypeError, KeyError):
                    body = json.loads(line)
                    index[str(body["key"])] = Object(str(body["etag"]), int(body["size"]))
        return index

    def _note(self, objects: Mapping[str, Object]) -> None:
        lines = "".join(_line(key, each) for key, each in objects.items())
        handle = os.open(self.path / _INDEX, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(handle, lines.encode())
        finally:
            os.close(handle)

    def _rewrite(self, index: Mapping[str, Object]) -> None:
        """Drop the lines of objects that have gone; a lost line costs a download."""
        temporary = self.path / f"{_INDEX}.{os.getpid()}.tmp"
        kept = (_line(k, o) for k, o in index.items() if (self.path / k).exists())
        temporary.write_text("".join(kept), encoding="utf-8")
        temporary.replace(self.path / _INDEX)


_MIRRORS: Final[dict[Path, Mirror]] = {}
_MAKING: Final = threading.Lock()


def mirror_of(path: Path) -> Mirror | None:
    """Return the mirror that a file or folder belongs to; None for an ordinary folder."""
    for place, mark in _places(path):
        if mirror := _MIRRORS.get(place):
            return mirror
        if not os.path.exists(mark):  # noqa: PTH110 - asked a dozen times in each rerun
            continue
        try:
            body = json.loads(Path(mark).read_text(encoding="utf-8"))
            address = BucketAddress(
                **{name: str(body[name]) for name in ("bucket", "prefix", "endpoint")}
            )
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError, TypeError, KeyError):
            return None
        with _MAKING:
            return _MIRRORS.setdefault(place, Mirror(place, address))
    return None


@lru_cache(maxsize=4096)
def _places(path: Path) -> tuple[tuple[Path, str], ...]:
    """Return a path and its parents, each with what would mark it as copies of a bucket."""
    return tuple((place, str(place / MARK)) for place in (path, *path.parents))


def results_folder(text: str | Path) -> Path:
    """Return the folder that `text` names: for `s3://bucket/prefix` that of its local copies.

    Raises:
        BucketError: it begins with s3:// and is no place in a bucket.
    """
    address = address_of(str(text), os.environ)
    return Path(text) if address is None else mirrored(address, cache_folder(os.environ))


def set_folder(text: str | Path) -> Path:
    """Return the folder of a result set; for `s3://bucket/prefix/set` that of its copies."""
    named = str(text)
    if not named.startswith(SCHEME):
        return Path(text)
    place, _, name = named.rstrip("/").rpartition("/")
    return results_folder(place) / name


def mirrored(address: BucketAddress, cache: Path) -> Path:
    """Return the folder of the copies of a place, made if absent."""
    named = f"{address.endpoint} {address}"
    name = f"{address.bucket}-{hashlib.sha256(named.encode()).hexdigest()[:12]}"
    path = cache.absolute() / "buckets" / name
    path.mkdir(parents=True, exist_ok=True)
    mark = path / MARK
    if not mark.exists():
        body = {"bucket": address.bucket, "prefix": address.prefix, "endpoint": address.endpoint}
        temporary = path / f"{MARK}.{os.getpid()}.{uuid.uuid4().hex[:8]}.tmp"
        temporary.write_text(json.dumps(body), encoding="utf-8")
        temporary.replace(mark)
    return path


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Return `EPOCHWISE_CACHE`, else the user's cache folder of Epochwise."""
    if own := environment.get(CACHE):
        return Path(own).expanduser()
    base = environment.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "epochwise"


def named(path: Path) -> str:
    """Return how a folder or file is called in a sentence: by its address in a bucket."""
    mirror = mirror_of(path)
    if mirror is None:
        return str(path)
    key = path.relative_to(mirror.path).as_posix()
    return str(mirror.address) if key == "." else f"{mirror.address}/{key}"


def bring(path: Path) -> None:
    """Bring a small copy from a bucket up to date; OSError where the bucket cannot be read."""
    if (mirror := mirror_of(path)) is not None:
        mirror.bring(path)


def bring_folder(folder: Path) -> None:
    """Bring the small files of a folder up to date where it has copies from a bucket.

    OSError where the bucket cannot be read.
    """
    if (mirror := mirror_of(folder)) is not None:
        mirror.sync(folder, lambda _: True)


def _unlisted_access(runs: Sequence[str], there: Mapping[str, Object]) -> list[str]:
    """Return the access.json of sets whose runs were listed without one.

    A long listing is not of one instant: it may hold a new run and miss the older access.json.
    """
    places = {key.rpartition("/")[0] for key in runs if key.endswith(".parquet")}
    keys = (f"{place}/{_ACCESS}" for place in sorted(places) if place)
    return [key for key in keys if key not in there]


def _is_ours(name: str) -> bool:
    ours = name in _ABOUT or _TEAM.fullmatch(name) is not None
    return ours or (name[0] != "." and name.lower().endswith(".parquet"))


def _is_ours_at(key: str) -> bool:
    """Whether an object may have a copy here: no part of its key is hidden or leads out."""
    parts = key.split("/")
    plain = all(p and p[0] != "." and "\0" not in p and len(p.encode()) < 200 for p in parts)
    return plain and _is_ours(parts[-1]) and not any(_is_ours(p) for p in parts[:-1])


def _line(key: str, each: Object) -> str:
    return json.dumps({"key": key, "etag": each.etag, "size": each.size}) + "\n"
