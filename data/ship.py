"""Turn a measured result set into a shipped one: `python data/ship.py results/SET [...]`.

Every seal is checked and the runs are committed as one file. set.toml states when, with what and
under which load the machine measured. The rows are unchanged.
"""

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
"""Size limit of a shipped set [bytes]."""
AUTHOR: Final = "The Epochwise authors"


def main(argv: Sequence[str]) -> int:
    """Ship each named folder, print the results and return 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=HERE / "results")
    args = parser.parse_args(argv)
    for folder in args.sets:
        path = ship(folder, args.out / folder.name)
        size = f"{path.stat().st_size / 1e6:.2f} MB"
        print(f"{path.parent.name}: {pq.read_metadata(path).num_rows} runs, {size}")  # noqa: T201
    return 0


def ship(folder: Path, out: Path) -> Path:
    """Return the file of the shipped set; ValueError for a damaged file or a too large set."""
    table = together(folder)
    path = commit_table(out, compact_name(table["run_id"].to_pylist()), table)
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(
            f"{path} has {path.stat().st_size} bytes; at most {MOST_BYTES} are shipped"
        )
    write_whole(out / NAME, about(folder, table.to_pylist()))
    return path


def together(folder: Path) -> pa.Table:
    """Return all runs of a folder by run id; SealError for a damaged file."""
    paths = [p for p in sorted(folder.glob("*.parquet")) if p.name[0] != "."]
    for path in paths:
        check_seal(path)
    return pa.concat_tables([pq.read_table(p) for p in paths]).sort_by("run_id")


def about(folder: Path, rows: Sequence[dict[str, Any]]) -> str:
    """Return the text of set.toml, with the load of the machine."""
    measured_set, problem = read_set(folder, "")
    if problem:
        raise ValueError(f"{folder / NAME} {problem}")
    values = {
        "title": measured_set.title,
        "about": f"{measured_set.about} {load(rows)}{spread(rows)}",
        "basis": "measured",
        "licence": measured_set.licence,
        "source": f"{measured_set.source} (measuring code {', '.join(codes(rows))})",
        "citation": f"{AUTHOR}: {measured_set.title}",
        "author": AUTHOR,
    }
    return set_text(values)


def load(rows: Sequence[dict[str, Any]]) -> str:
    """Return a sentence on the runs and the load average before them."""
    before = [r["load_average_before"] for r in rows if r["load_average_before"] is not None]
    ends = sorted({r["status"] for r in rows})
    software = sorted({f"{r['framework']} {r['framework_version']}" for r in rows})
    spread = ""
    if before:
        spread = (f" Load average before the runs: median {statistics.median(before):.1f}, "
                  f"highest {max(before):.1f}.")  # fmt: skip
    return f"{len(rows)} runs ({', '.join(ends)}) with {', '.join(software)}.{spread}"


def spread(rows: Sequence[dict[str, Any]]) -> str:
    """Return a sentence on the scatter of later epochs, as a share of their mean."""
    shares = [
        r["later_epoch_sd_s"] / r["later_epoch_mean_s"]
        for r in rows
        if r["later_epoch_sd_s"] is not None
        and r["later_epoch_mean_s"]
        and (r["epochs_measured"] or 0) > 2  # one later epoch has no scatter
    ]
    if not shares:
        return ""
    middle, most = statistics.median(shares), max(shares)
    return (
        f" The later epochs of a run scatter by {middle:.0%} (median; up to {most:.0%}): smaller "
        "differences between runs are not significant."
    ).replace("%", " %")


def codes(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the versions of the measuring code."""
    return sorted({r["git_describe"] for r in rows if r["git_describe"]})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
