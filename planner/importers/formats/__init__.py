"""What a format of results is: bytes of files in, rows of the run table out.

`logs` has the formats of training runs, `benchmarks` those of published results; one module each.
The list of them is in `planner.importers`. A module opens no file.
"""

from planner.importers.formats.source import Row, Source, Stated, typed
from planner.importers.formats.source_files import MOST_BYTES, SourceError, SourceFiles
