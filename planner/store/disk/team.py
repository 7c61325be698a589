"""Where tokens, share links and the audit log are: files that all servers of a team share."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from planner.store.disk.bucket import address_of
from planner.store.disk.mirrors import cache_folder, mirrored
from planner.store.disk.sweeps import state_folder

TEAM: Final = "EPOCHWISE_TEAM"


def team_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder of EPOCHWISE_TEAM, else that of this machine's state.

    It may be a place in a bucket, `s3://bucket/prefix`: then all servers have the same tokens,
    links and log. OSError where the name is no such place.
    """
    named = environment.get(TEAM)
    if not named:
        return state_folder(environment)
    address = address_of(named, environment)
    if address is None:
        return Path(named).expanduser().absolute()
    return mirrored(address, cache_folder(environment))
