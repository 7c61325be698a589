"""Tokens of programs that push runs: secrets are shown once and stored as hashes.

One JSON file a token, in the folder `tokens` of this server's state, readable by its owner only. A
token is `ew_<id>_<secret>` with 32 random bytes, so a plain sha256 cannot be searched.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from planner.store.disk.files import write_whole

ANY_SET: Final = "*"
_SHAPE: Final = re.compile(r"ew_([0-9a-f]{8})_([A-Za-z0-9_-]{43})")
_ID: Final = re.compile(r"[0-9a-f]{8}")
_MOST_BYTES: Final = 100_000
_DAY_S: Final = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token as it is stored; stamps in UTC s since 1970."""

    id: str
    name: str
    sha256: str
    sets: tuple[str, ...]
    """Result sets that it may add runs to; `*` is any."""
    groups: tuple[str, ...] = ()
    """Groups whose restricted sets it may read."""
    created_at: float
    expires_at: float | None = None
    revoked_at: float | None = None

    def usable(self, now_s: float) -> bool:
        """Return whether the token is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now_s < self.expires_at)

    def may_push(self, slug: str) -> bool:
        """Return whether the token may add runs to a result set."""
        return ANY_SET in self.sets or slug in self.sets


def tokens_folder(state: Path) -> Path:
    """Return the folder of the tokens in this server's state."""
    return state / "tokens"


def create(
    folder: Path,
    name: str,
    sets: Sequence[str],
    days: float | None = None,
    groups: Sequence[str] = (),
) -> str:
    """Store a new token and return it: it cannot be read again."""
    now = time.time()
    secret, token_id = secrets.token_urlsafe(32), secrets.token_hex(4)
    token = Token(
        id=token_id, name=name, sha256=_hash(secret), sets=tuple(sets), created_at=now,
        groups=tuple(groups),
        expires_at=None if days is None else now + days * _DAY_S,
    )  # fmt: skip
    _write(folder, token)
    return f"ew_{token_id}_{secret}"


def tokens(folder: Path) -> list[Token]:
    """Return all stored tokens, oldest first; damaged files are left out."""
    found = (_read(path) for path in folder.glob("*.json"))
    return sorted((t for t in found if t), key=lambda t: (t.created_at, t.id))


def revoke(folder: Path, token_id: str) -> bool:
    """Mark a token as revoked; return whether there is a token of that id."""
    token = _read(folder / f"{token_id}.json") if _ID.fullmatch(token_id) else None
    if token is None:
        return False
    if token.revoked_at is None:
        _write(folder, replace(token, revoked_at=time.time()))
    return True


def checked(folder: Path, text: str, now_s: float | None = None) -> Token | None:
    """Return the usable token that `text` is, else None."""
    match = _SHAPE.fullmatch(text)
    token = _read(folder / f"{match[1]}.json") if match else None
    if match is None or token is None:
        return None
    right = hmac.compare_digest(token.sha256, _hash(match[2]))
    return token if right and token.usable(time.time() if now_s is None else now_s) else None


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _write(folder: Path, token: Token) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    write_whole(folder / f"{token.id}.json", json.dumps(asdict(token), indent=1))


def _read(path: Path) -> Token | None:
    try:
        with path.open("rb") as file:
            body: Any = json.loads(file.read(_MOST_BYTES))
        lists = {name: tuple(map(str, body.get(name, ()))) for name in ("sets", "groups")}
        return Token(**{**body, **lists})
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
