"""The set.toml of a measured result set: sweep, machine and date."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from planner.store.sealed.result_set import set_text

OWNERS: Final = "measured here; the owner of the folder decides"
"""Default licence of measured results."""


def describe(sweep: str, title: str, about: str, facts: Mapping[str, Any]) -> str:
    """Return the text of set.toml; `facts` are columns of the machine and an optional licence."""
    now = datetime.now(UTC)
    date, system = f"{now.day} {now:%B %Y}", facts["system_name"]
    measured = f"Measured with Epochwise {facts.get('git_describe') or ''}".strip()
    return set_text(
        {
            "title": f"{title}: {system}, {date}",
            "about": f"{about} Measured on {system}.".strip(),
            "basis": "measured",
            "licence": facts.get("licence") or OWNERS,
            "source": f"{measured}, sweep {sweep}, {date}",
        }
    )
