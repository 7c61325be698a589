"""The process that reads files of strangers: `python -I _child.py`.

It forks for each import, so that one file leaves nothing behind for the next.
"""

import json
import os
import select
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

SECONDS: Final = 3
"""Processor time of one import [s]."""
MEMORY_BYTES: Final = 500_000_000
"""Memory of one import, beside the program's [bytes]."""
_IDLE_S: Final = 600.0


def main() -> None:
    """Answer questions until the parent has gone, or until ten minutes pass without one."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from planner.apart import leave_network, read, write

    _warm()
    leave_network()
    source, target = sys.stdin.buffer, sys.stdout.buffer
    write(target, b"{}")
    while select.select([source], [], [], _IDLE_S)[0]:
        try:
            question = json.loads(read(source))
            files = {name: read(source) for name in question["files"]}
        except EOFError:
            return
        child = os.fork()
        if not child:
            failed = 1
            try:
                write(target, _answered(question, files))
                failed = 0
            finally:
                os._exit(failed)
        if os.waitpid(child, 0)[1]:  # killed by a limit: the parent starts another process
            return


def _warm() -> None:
    """Load what readers load on first use: later no file can be opened."""
    import io

    import pyarrow as pa

    from planner.importers.formats import SourceFiles, Stated
    from planner.importers.formats.benchmarks.published_table import warm
    from planner.store.sealed.commit import write_parquet

    warm()
    sink = io.BytesIO()
    write_parquet(sink, pa.table({"a": ["b"], "n": [1]}), "{}")
    for name, data in (("a.parquet", sink.getvalue()), ("a.csv", b"a\nb\n"), ("a.csv", b"\xff")):
        _rows("template", SourceFiles(name=name, data={name: data}), Stated(), "a")


def _answered(question: Mapping[str, Any], files: Mapping[str, bytes]) -> bytes:
    from planner.apart import no_more_than
    from planner.importers.formats import SourceFiles, Stated

    source_files = SourceFiles(name=question["name"], data=files)
    stated = Stated(facts=question["facts"], options=question["options"])
    no_more_than(seconds=SECONDS, memory_bytes=MEMORY_BYTES)
    return json.dumps(_rows(question["source"], source_files, stated, question["set"])).encode()


def _rows(source: str, files: Any, stated: Any, result_set: str) -> dict[str, Any]:  # noqa: ANN401
    from planner.core import Text
    from planner.importers._sources import rows_of
    from planner.importers.formats import SourceError

    try:
        return {"rows": rows_of(source, files, stated, result_set)}
    except SourceError as error:
        return {"problems": error.problems, "unknown": error.unknown}
    except MemoryError:
        return {"problems": [Text("it needs too much memory. Split it.")]}
    except Exception as error:  # noqa: BLE001 - whatever is wrong is in that file
        name = type(error).__name__
        return {"problems": [Text("it is damaged ({name}). Export it again.", name=name)]}


if __name__ == "__main__":
    main()
