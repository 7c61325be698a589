"""Speed of a workload on a card it was not measured on.

`fit_library` makes a table of measured throughputs (own ones included) and data sheets of cards.
`transfer` estimates one cell of it by the best available rung of `_rungs`, and names it; `_ladder`
has the runs that would narrow it. Without any rung the answer is a refusal that names the next run.
Speeds are samples/s of one device at the batch of the library: where that was the largest that
fits, memory is part of every ratio.

Evidence: docs/evidence.md#speed-on-another-card.
"""

from planner.transfer._ladder import transfer
from planner.transfer._library import fit_library, with_speeds
from planner.transfer._records import BASIS_OF, Cell, DataSheet, Library, Rung, Transferred
from planner.transfer._rungs import best_answer
