"""Links that show one restricted set to whoever has them: made by an administrator, revocable.

One JSON file a link, in the folder `shares` of this server's state, readable by its owner only. A
link holds `es_<id>_<secret>` with 32 random bytes; only the hash of the secret is stored.
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
from typing import Final

from planner.store.disk.files import UnfitFileError, bounded_json, write_whole

PARAMETER: Final = "share"
"""Parameter of the link that holds the secret."""
LONGEST: Final = 60
_SHAPE: Final = re.compile(r"es_([0-9a-f]{8})_([A-Za-z0-9_-]{43})")
_ID: Final = re.compile(r"[0-9a-f]{8}")
_MOST_BYTES: Final = 100_000
_DAY_S: Final = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A link as it is stored; stamps in UTC s since 1970."""

    id: str
    slug: str
    sha256: str
    created_at: float
    expires_at: float | None = None
    revoked_at: float | None = None

    def usable(self, now_s: float) -> bool:
        """Return whether the link is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now_s < self.expires_at)


def shares_folder(state: Path) -> Path:
    """Return the folder of the links in this server's state."""
    return state / "shares"


def create_share(folder: Path, slug: str, days: float | None = None) -> str:
    """Store a new link to a set and return its secret: it cannot be read again."""
    now = time.time()
    secret, share_id = secrets.token_urlsafe(32), secrets.token_hex(4)
    share = Share(
        id=share_id, slug=slug, sha256=_hash(secret), created_at=now,
        expires_at=None if days is None else now + days * _DAY_S,
    )  # fmt: skip
    _write(folder, share)
    return f"es_{share_id}_{secret}"


def shares(folder: Path) -> list[Share]:
    """Return all stored links, oldest first; damaged files are left out."""
    found = (_read(path) for path in folder.glob("*.json"))
    return sorted((s for s in found if s), key=lambda s: (s.created_at, s.id))


def revoke_share(folder: Path, share_id: str) -> bool:
    """Make a link useless at once; return whether there is a link of that id."""
    share = _read(folder / f"{share_id}.json") if _ID.fullmatch(share_id) else None
    if share is None:
        return False
    if share.revoked_at is None:
        _write(folder, replace(share, revoked_at=time.time()))
    return True


def shared_set(folder: Path, text: str, now_s: float | None = None) -> str | None:
    """Return the slug of the set that the usable secret `text` shows, else None."""
    match = _SHAPE.fullmatch(text)
    share = _read(folder / f"{match[1]}.json") if match else None
    if match is None or share is None:
        return None
    right = hmac.compare_digest(share.sha256, _hash(match[2]))
    return share.slug if right and share.usable(time.time() if now_s is None else now_s) else None


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _write(folder: Path, share: Share) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    write_whole(folder / f"{share.id}.json", json.dumps(asdict(share), indent=1))


def _read(path: Path) -> Share | None:
    try:
        return Share(**bounded_json(path, _MOST_BYTES))
    except (UnfitFileError, TypeError):
        return None
