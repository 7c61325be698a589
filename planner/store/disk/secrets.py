"""Secrets that this server gives out: tokens of programs, and links that show one restricted set.

One JSON file a secret, in a folder of this server's state, readable by its owner only. A secret is
`<prefix>_<id>_<text>` with 32 random bytes, so a plain sha256 cannot be searched. It is shown once;
only its hash is stored.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, TypeVar

from planner.store.disk.files import UnfitFileError, bounded_json, write_whole

ANY_SET: Final = "*"
PARAMETER: Final = "share"
"""Parameter of a share link that holds its secret."""
LONGEST: Final = 60
"""Longest secret [characters]."""
_SHAPE: Final = re.compile(r"([a-z]{2})_([0-9a-f]{8})_([A-Za-z0-9_-]{43})")
_ID: Final = re.compile(r"[0-9a-f]{8}")
_MOST_BYTES: Final = 100_000
_DAY_S: Final = 86_400.0


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Token(Secret):
    """A token of a program: may add runs to `sets` (`*` is any) and read sets of `groups`."""

    name: str
    sets: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    lists: ClassVar[tuple[str, ...]] = ("sets", "groups")

    def may_push(self, slug: str) -> bool:
        """Return whether the token may add runs to a result set."""
        return ANY_SET in self.sets or slug in self.sets


@dataclass(frozen=True, slots=True, kw_only=True)
class Share(Secret):
    """A link that shows the restricted set `slug` to whoever has it."""

    slug: str


Kind = TypeVar("Kind", bound=Secret)


@dataclass(frozen=True, slots=True)
class Secrets(Generic[Kind]):
    """All secrets of a kind, kept in a folder that each call names."""

    kind: type[Kind]
    prefix: str
    name: str

    def folder(self, state: Path) -> Path:
        """Return the folder of these secrets in a server's state."""
        return state / self.name

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
        found = (self._read(path) for path in folder.glob("*.json"))
        return sorted((s for s in found if s), key=lambda s: (s.created_at, s.id))

    def revoke(self, folder: Path, secret_id: str) -> bool:
        """Make a secret useless at once; return whether there is one of that id."""
        secret = self._read(folder / f"{secret_id}.json") if _ID.fullmatch(secret_id) else None
        if secret is not None and secret.revoked_at is None:
            _write(folder, replace(secret, revoked_at=time.time()))
        return secret is not None

    def checked(self, folder: Path, text: str, now_s: float | None = None) -> Kind | None:
        """Return the usable secret that `text` is, else None."""
        match = _SHAPE.fullmatch(text)
        if match is None or match[1] != self.prefix:
            return None
        secret = self._read(folder / f"{match[2]}.json")
        if secret is None or not hmac.compare_digest(secret.sha256, _hash(match[3])):
            return None
        return secret if secret.usable(time.time() if now_s is None else now_s) else None

    def _read(self, path: Path) -> Kind | None:
        try:
            return self._of(bounded_json(path, _MOST_BYTES))
        except (UnfitFileError, TypeError):
            return None

    def _of(self, body: dict[str, Any]) -> Kind:
        lists = {name: tuple(map(str, body[name])) for name in self.kind.lists if name in body}
        return self.kind(**{**body, **lists})


TOKENS: Final = Secrets(Token, "ew", "tokens")
SHARES: Final = Secrets(Share, "es", "shares")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _write(folder: Path, secret: Secret) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    write_whole(folder / f"{secret.id}.json", json.dumps(asdict(secret), indent=1))
