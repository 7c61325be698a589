"""Ten thousand small files: committing, loading, looking again, and what compaction changes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from planner.store import Store, commit_runs, queries
from planner.store.sealed.compact import compact_set
from tests.bench.figures import best_s, figure, heading, peak_gb, timed
from tests.faults.writer import case
from tests.store.build import a_set, folder

FILES: Final = 10_000
GROUP: Final = "SELECT repeat % 100 AS part, avg(later_epoch_mean_s) FROM runs GROUP BY part"


def _loaded(root: Path) -> tuple[float, Store]:
    store = Store([folder(root)])
    return timed(store.refresh)[0], store


def _asked(store: Store) -> None:
    figure("group query", 1e3 * best_s(lambda: store.rows(GROUP)), "ms", 50)

    def facets() -> None:
        store.forget()
        queries.facets(store, {})

    figure("all facets", 1e3 * best_s(facets), "ms")


def _new_file(store: Store, place: Path, number: int) -> None:
    commit_runs(place, [case("late", number)])
    figure("seeing one new file", timed(store.refresh)[0], "s", 0.2)


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        the_set = a_set(root)
        rows = [case("small", n) for n in range(FILES)]
        heading(f"{FILES:,} files of one run (20 epochs each)")
        commit_s, _ = timed(lambda: commit_runs(the_set, rows))
        figure("commit, per run", 1e3 * commit_s / FILES, "ms")
        figure("commit again (all there), per run", 1e3 * timed(
            lambda: commit_runs(the_set, rows))[0] / FILES, "ms")  # fmt: skip
        first_s, store = _loaded(root)
        figure("first load", first_s, "s")
        figure("look again, nothing new", best_s(store.refresh), "s", 0.1)
        _asked(store)
        _new_file(store, the_set, 0)
        _new_file(store, the_set, 1)
        heading("after compaction")
        figure("compaction", timed(lambda: compact_set(the_set))[0], "s")
        figure("seeing the compaction", timed(store.refresh)[0], "s")
        first_s, store = _loaded(root)
        figure("first load", first_s, "s")
        figure("look again, nothing new", best_s(store.refresh), "s", 0.1)
        _asked(store)
        _new_file(store, the_set, 2)
        assert queries.totals(store).runs == FILES + 3
        figure("peak memory", peak_gb(), "GB")


if __name__ == "__main__":
    main()
