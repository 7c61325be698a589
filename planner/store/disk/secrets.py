"""Secrets that this server gives out: tokens of programs, and links that show one restricted set.

One JSON file a secret, in a folder of the team's, readable by its owner only. A secret is
`<prefix>_<id>_<text>` with 32 random bytes, so a plain sha256 cannot be searched. It is shown once;
only its hash is stored.
"""

import hashlib
import hmac
import json
import re
import secrets
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, TypeVar

from planner.core import Text
from planner.store.disk.access import Access, stamp_text
from planner.store.disk.files import (
    UnfitFileError,
    bounded_json,
    sync_folder,
    write_once,
    write_whole,
)
from planner.store.disk.mirrors import bring, bring_folder

ANY_SET: Final = "*"
PARAMETER: Final = "share"
"""Parameter of a share link that holds its secret."""
LONGEST: Final = 60
"""Longest secret [characters]."""
_SHAPE: Final = re.compile(r"([a-z]{2})_([0-9a-f]{8})_([A-Za-z0-9_-]{43})")
_ID: Final = re.compile(r"[0-9a-f]{8}")
_MOST_BYTES: Final = 100_000
_DAY_S: Final = 86_400.0
_TIES: Final = "sets"
"""Folder beside the tokens: to which set each is tied under a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """A secret as it is stored; stamps in UTC s since 1970."""

    id: str
    sha256: str
    created_at: float
    expires_at: float | None = None
    revoked_at: float | None = None
    lists: ClassVar[tuple[str, ...]] = ()
    """Fields that JSON holds as lists."""

    def usable(self, now_s: float) -> bool:
        """Return whether the secret is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now_s < self.expires_at)

    def state(self, now_s: float) -> str:
        """Return whether the secret is valid, in words."""
        if self.revoked_at is not None:
            return Text("revoked {day}", day=stamp_text(self.revoked_at)[:10])
        if self.expires_at is None:
            return "valid"
        day = stamp_text(self.expires_at)[:10]
        if self.usable(now_s):
            return Text("valid until {day}", day=day)
        return Text("expired {day}", day=day)


@dataclass(frozen=True, slots=True, kw_only=True)
class Token(Secret):
    """A token of a program: may add runs to `sets` (`*` is any) and read sets of `groups`.

    `owner` is the address of the person who answers for it: if roles.toml blocks them, the token is
    useless. The sets that it makes are unofficial, unless it is `official`.
    """

    name: str
    sets: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    owner: str = ""
    official: bool = False
    lists: ClassVar[tuple[str, ...]] = ("sets", "groups")

    def may_push(self, slug: str, access: Access | None, now_s: float) -> bool:
        """Return whether the token may add runs to a result set.

        Args:
            slug: of the set.
            access: who sees the set; None for an open one.
            now_s: the time, in UTC s since 1970.

        A token for any set adds to a restricted one only as a member of its groups. One that names
        the set may: whoever made the token chose it.
        """
        if slug in self.sets:
            return True
        sees = access is None or access.is_open(now_s) or access.groups & {*self.groups}
        return ANY_SET in self.sets and bool(sees)


@dataclass(frozen=True, slots=True, kw_only=True)
class Share(Secret):
    """A link that shows the restricted set `slug` to whoever has it.

    `sets` are the references of the sets of that name when it was made: a later one is not shown.
    """

    slug: str
    sets: tuple[str, ...] = ()
    lists: ClassVar[tuple[str, ...]] = ("sets",)

    @property
    def references(self) -> frozenset[str]:
        """The sets that it shows; a link of an older version shows one without an id."""
        return frozenset(self.sets or (self.slug,))


Kind = TypeVar("Kind", bound=Secret)


@dataclass(frozen=True, slots=True)
class Secrets(Generic[Kind]):
    """All secrets of a kind, kept in a folder that each call names."""

    kind: type[Kind]
    prefix: str
    name: str

    def folder(self, team: Path) -> Path:
        """Return the folder of these secrets in the team's folder."""
        return team / self.name

    def create(self, folder: Path, *, days: float | None = None, **facts: object) -> str:
        """Store a new secret, valid for `days` or without end, and return its text."""
        now, text = time.time(), secrets.token_urlsafe(32)
        made = {
            "id": secrets.token_hex(4), "sha256": _hash(text), "created_at": now,
            "expires_at": None if days is None else now + days * _DAY_S, **facts,
        }  # fmt: skip
        secret = self._of(made)
        _write(folder, secret)
        return f"{self.prefix}_{secret.id}_{text}"

    def all(self, folder: Path) -> list[Kind]:
        """Return all stored secrets, oldest first; damaged files are left out."""
        bring_folder(folder)
        secrets = (self._read(path) for path in folder.glob("*.json"))
        return sorted((s for s in secrets if s), key=lambda s: (s.created_at, s.id))

    def revoke(self, folder: Path, secret_id: str) -> bool:
        """Make a secret useless at once; return whether there is one of that id."""
        secret = self._brought(folder, secret_id) if _ID.fullmatch(secret_id) else None
        if secret is not None and secret.revoked_at is None:
            _write(folder, replace(secret, revoked_at=time.time()))
        return secret is not None

    def checked(self, folder: Path, text: str, now_s: float | None = None) -> Kind | None:
        """Return the usable secret that `text` is, else None.

        OSError where the secrets are in a bucket that cannot be read.
        """
        match = _SHAPE.fullmatch(text)
        if match is None or match[1] != self.prefix:
            return None
        secret = self._brought(folder, match[2])
        if secret is None or not hmac.compare_digest(secret.sha256, _hash(match[3])):
            return None
        return secret if secret.usable(time.time() if now_s is None else now_s) else None

    def _brought(self, folder: Path, secret_id: str) -> Kind | None:
        path = folder / f"{secret_id}.json"
        bring(path)
        return self._read(path)

    def _read(self, path: Path) -> Kind | None:
        try:
            return self._of(bounded_json(path, _MOST_BYTES))
        except (UnfitFileError, TypeError):
            return None

    def _of(self, body: dict[str, Any]) -> Kind:
        lists = {name: tuple(map(str, body[name])) for name in self.kind.lists if name in body}
        return self.kind(**{**body, **lists})


class AnotherSetError(ValueError):
    """A token names a set that is gone; the set of that name is another one."""


def bind(folder: Path, token: Token, slug: str, reference: str | None) -> None:
    """Tie a token to the first set it meets under a name: it never adds to a later set of the name.

    The tie is a file of its own that is written once, so two servers agree on it and none of them
    rewrites the token.

    Args:
        folder: of the tokens.
        token: it is tied only if it names the set; one for any set is not.
        slug: of the set.
        reference: of the set of that name; None if there is none yet, which ties nothing.

    Raises:
        AnotherSetError: the token is tied to another set, or its tie is damaged.
        OSError: the disk refuses, or a bucket cannot be read.
    """
    if slug not in token.sets:
        return
    name = hashlib.sha256(f"{token.id}/{slug}".encode()).hexdigest()
    path = folder / _TIES / f"{name}.json"
    bring(path)
    if reference is not None and write_once(path, json.dumps({"set": reference})):
        sync_folder(path.parent)
    if path.exists() and _tied_to(path) != reference:
        raise AnotherSetError(
            Text("The set {slug} of this token is gone. Ask for a new token.", slug=slug)
        )


def _tied_to(path: Path) -> str:
    try:
        body = bounded_json(path, _MOST_BYTES)
    except UnfitFileError:
        return ""
    return str(body.get("set", "")) if isinstance(body, dict) else ""


TOKENS: Final = Secrets(Token, "ew", "tokens")
SHARES: Final = Secrets(Share, "es", "shares")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _write(folder: Path, secret: Secret) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    write_whole(folder / f"{secret.id}.json", json.dumps(asdict(secret), indent=1))
