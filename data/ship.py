"""Turn a measured result set into a shipped one: `python data/ship.py results/SET [...]`.

Every seal is checked, the runs are kept in one file by the same commit protocol, and set.toml says
what a reader must know of the machine while it measured: when, with what, under which load. The
numbers themselves are not touched: the rows are those that were measured.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # a script in data/ does not see planner/ by itself

import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

from planner.store.disk.files import write_whole  # noqa: E402
from planner.store.sealed.commit import commit_table, compact_name  # noqa: E402
from planner.store.sealed.result_set import NAME, read_set, set_text  # noqa: E402
from planner.store.sealed.seal import check_seal  # noqa: E402

MOST_BYTES: Final = 5_000_000
"""A shipped set stays below this."""
AUTHOR: Final = "The Epochwise authors"


def main(arguments: Sequence[str]) -> int:
    """Ship each folder named; says what was made."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=HERE / "results")
    asked = parser.parse_args(arguments)
    for folder in asked.sets:
        path = ship(folder, asked.out / folder.name)
        size = f"{path.stat().st_size / 1e6:.2f} MB"
        print(f"{path.parent.name}: {pq.read_metadata(path).num_rows} runs, {size}")  # noqa: T201
    return 0


def ship(folder: Path, out: Path) -> Path:
    """The one file of the shipped set; ValueError for a damaged file or a set that is too large."""
    table = together(folder)
    path = commit_table(out, compact_name(table["run_id"].to_pylist()), table)
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(
            f"{path} has {path.stat().st_size} bytes; at most {MOST_BYTES} are shipped"
        )
    write_whole(out / NAME, about(folder, table.to_pylist()))
    return path


def together(folder: Path) -> pa.Table:
    """All runs of a folder in the order of their ids; SealError names a damaged file's trouble."""
    paths = [p for p in sorted(folder.glob("*.parquet")) if p.name[0] != "."]
    for path in paths:
        check_seal(path)
    return pa.concat_tables([pq.read_table(p) for p in paths]).sort_by("run_id")


def about(folder: Path, rows: Sequence[dict[str, Any]]) -> str:
    """The text of set.toml: what the measuring wrote, and how busy the machine was."""
    known, problem = read_set(folder, "")
    if problem:
        raise ValueError(f"{folder / NAME} {problem}")
    told = {
        "title": known.title,
        "about": f"{known.about} {load(rows)}{spread(rows)}",
        "basis": "measured",
        "licence": known.licence,
        "source": f"{known.source} (measuring code {', '.join(codes(rows))})",
        "citation": f"{AUTHOR}: {known.title}",
        "author": AUTHOR,
    }
    return set_text(told)


def load(rows: Sequence[dict[str, Any]]) -> str:
    """How busy the machine was with other things, as the runs recorded it."""
    before = [r["load_average_before"] for r in rows if r["load_average_before"] is not None]
    ends = sorted({r["status"] for r in rows})
    software = sorted({f"{r['framework']} {r['framework_version']}" for r in rows})
    spread = ""
    if before:
        spread = (f" Load average before the runs: median {statistics.median(before):.1f}, "
                  f"highest {max(before):.1f}.")  # fmt: skip
    return f"{len(rows)} runs ({', '.join(ends)}) with {', '.join(software)}.{spread}"


def spread(rows: Sequence[dict[str, Any]]) -> str:
    """How much the later epochs of one run differ, as a share of their mean."""
    shares = [
        r["later_epoch_sd_s"] / r["later_epoch_mean_s"]
        for r in rows
        if r["later_epoch_sd_s"] is not None and r["later_epoch_mean_s"]
    ]
    if not shares:
        return ""
    middle, most = statistics.median(shares), max(shares)
    return (
        f" The later epochs of a run scatter by {middle:.0%} (median; up to {most:.0%}): smaller "
        "differences between runs say nothing."
    ).replace("%", " %")


def codes(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Versions of the measuring code."""
    return sorted({r["git_describe"] for r in rows if r["git_describe"]})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
