"""Which folders hold results: the shipped one, the user's own, and any further ones."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from planner.store.disk.bucket import address_of
from planner.store.disk.mirrors import cache_folder, mirrored

OWN: Final = "EPOCHWISE_RESULTS"
FURTHER: Final = "EPOCHWISE_FURTHER_RESULTS"
SHIPPED: Final = "EPOCHWISE_SHIPPED_RESULTS"
_PROGRAM: Final = Path(__file__).resolve().parents[3]
Kind = Literal["shipped", "own", "further"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder of result sets; `label` is what pages and programs call it, never its path."""

    path: Path
    label: str
    kind: Kind


def folders_from_environment(root: Path, environment: Mapping[str, str]) -> tuple[Folder, ...]:
    """Shipped results, then the user's own, then each folder of EPOCHWISE_FURTHER_RESULTS.

    Each may be a place in a bucket, `s3://bucket/prefix`: its folder is that of the local copies.
    The variable separates folders as PATH does. Relative paths start at `root`. A folder that
    does not exist yet is kept in the list: it may be made, or mounted, later. The process may name
    another folder in place of the shipped one, for instance one without published measurements.
    """
    own = environment.get(OWN) or "results"
    shipped = root / "data" / "results"
    if root.resolve() == _PROGRAM and (instead := os.environ.get(SHIPPED)):
        shipped = _resolved(root, instead)
    further = [p for p in split_folders(environment.get(FURTHER, "")) if p]
    folders = [
        Folder(path=shipped, label="shipped", kind="shipped"),
        Folder(path=_placed(root, own, environment), label="yours", kind="own"),
        *(
            Folder(path=_placed(root, p, environment), label=f"further {k}", kind="further")
            for k, p in enumerate(further, 1)
        ),
    ]
    unique = {f.path: f for f in reversed(folders)}
    return tuple(f for f in folders if unique[f.path] is f)


def split_folders(text: str) -> list[str]:
    """Return the folders of a list as PATH; the colon of s3:// separates none."""
    return re.split(rf"{re.escape(os.pathsep)}(?!//)", text)


def as_utf8(path: str | Path) -> str:
    """Return a path that can be printed and stored, with an escape for each byte not UTF-8."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def _placed(root: Path, named: str, environment: Mapping[str, str]) -> Path:
    settings = {**os.environ, **environment}
    address = address_of(named, settings)
    return _resolved(root, named) if address is None else mirrored(address, cache_folder(settings))


def _resolved(root: Path, path: str) -> Path:
    return Path(os.path.abspath(root / Path(path).expanduser()))  # noqa: PTH100 - keep links
