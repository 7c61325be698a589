"""Speed of a workload on a card it was not measured on.

`fit_library` makes a table of measured throughputs (own ones included) and data sheets of cards.
`transfer` estimates one cell of it by the best available rung, and names it. Speeds are samples/s
of one device at the batch of the library: where that was the largest that fits, memory is part of
every ratio.

    rung                        requires                                     basis
    measured                    the cell itself                              measured
    workload on other cards     the workload on 1+ cards, and 1+ library     similar workload
                                workloads on these and on the target one
    benchmarks of the card      a library workload on the target card and    similar workload
                                on 1+ cards where the workload ran; first
                                where it ran on more cards than the card
                                has benchmarks
    data sheet of the card      the sheets of the card and of 1+ cards       transferred from
                                where the workload ran                       another GPU

Every interval is conformal: it is based on the rung's errors on the library, with whole cards or
workloads left out and the same data available (`planner.transfer._rungs`). A measurement has the
interval of another session. Without any rung the answer is a refusal that names the next run.

Limits: the errors of one card are correlated, so 100 errors of 10 cards are worth less than those
of 100 cards. No interval covers a card unlike every card of the library (another maker, another
kind of arithmetic).

Evidence: docs/evidence.md#speed-on-another-card.
"""

from planner.transfer._ladder import transfer
from planner.transfer._library import fit_library, with_speeds
from planner.transfer._records import BASIS_OF, Cell, DataSheet, Library, Rung, Transferred
from planner.transfer._rungs import best_answer
