"""Speed of a workload on a card it was not measured on.

`fit_library` makes a table of measured throughputs (own ones included) and data sheets of cards.
`transfer` estimates one cell of it by the best available rung, and names it. `decide` ranks two
answers, or names the next measurement. Speeds are samples/s of one device at the batch of the
library: where that was the largest that fits, memory is part of every ratio.

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
workloads left out and the same data available (`planner.transfer._rungs`).

Measured on a public table (six networks in two precisions on twelve cards, one device, the largest
batch that fits; 90 % intervals). Whole cards and whole networks were left out, the error is
|predicted/measured - 1|, the width the median of (high - low)/value:

    known                  method                        n  median  mean   p90  held  width  [%]
    data sheet             regression (ours)           102    12.2  16.2  32.5    87     61
                           peak FLOP/s ratio           102    29.5  43.3  97.7
                           bandwidth ratio             102    15.0  23.2  45.5
                           sqrt(FLOP/s x bandwidth)    102    14.8  20.6  44.4
    1 benchmark            ridge (ours)                120     8.0  12.8  25.0    90     53
                           rank one                    120    10.0  14.1  27.9
    2 benchmarks           ridge (ours)                 96     8.4  11.7  23.7    89     44
                           rank one                     96     9.8  13.2  26.9
    own on 1 other card    similar workloads (ours)   1584    13.2  18.9  41.4    92     73
                           mean ratio                 1584    12.8  18.7  41.1
                           sqrt(FLOP/s x bandwidth)    768    21.5  27.5  57.9
    own on 2 other cards   similar workloads (ours)   1200    10.2  15.2  33.6    92     56
    own on 3 other cards   similar workloads (ours)   1404     9.5  13.3  29.1    93     55
    all but one cell       the ladder                  144     6.4  10.1  23.4    92     46

On a table with four more networks, most of them similar to others, one own card gave 15.9 %. The
same method, the mean ratio in the same precision, gives 18.7 % here. Other methods give no less:
weighted median 19.1, median in one precision 19.6, all precisions alike 20.1,
trimmed 19.1, ratios drawn by 5 % towards 1 or away 19.0 and 19.4, blends of a tenth to a half with
the data sheets' bandwidth or sqrt(FLOP/s x bandwidth) 18.7 to 19.8 %. The best of these without
each network differs each time and gives 20.6 %: a network like the target is missing (NCF 26,
WaveGlow 22, ResNet-50 12 %), not a formula. Data sheets lack three cards in fp16
(Quadro RTX 8000, RTX 6000 Ada, RTX A6000) and four in fp32 (A10, RTX 3090, RTX 6000 Ada, RTX
A6000).

Without a library workload on one's own card, the first two rungs have no answer: the data sheet
has, or the answer is a refusal that names the next run. Own card alone is every seventh question
above, and every ninth of the later table below. It is 19.5 (mean 23.0) and 12.2 (14.7) % off, with
95 and 96 % coverage. Values filled in by a table for such a card were 97 and 327 % off with 30 and
7 % coverage. One library workload on the own card gives 15.0 and 18.0 % and 95 and 100 % coverage.

On six later cards and four networks of the same source (H100 to B200) the means are 16.2 (data
sheet), 24.0 and 14.9 (one and two benchmarks), 20.9, 13.9 and 11.9 % (own on 1, 2, 3 cards), and
coverage was 84 to 92 %. Five cards to learn from are few: there rank one and the plain ratios are
as good as ours for one benchmark and one own card.

Constants are round numbers from where the error is flat, not its minimum:

    constant                     value      mean error over its range           chosen by each fold
    SHEET_RIDGE, WORKLOAD_RIDGE  1, 1       15.5 to 17.5 % (0.3 to 10 each)     16.7 %
    SLOPE_RIDGE, 1 benchmark     0.11       12.3 to 13.4 % (0.01 to 3)          13.1 %
                 2 benchmarks               11.7 to 13.2 %                      12.2 %
    CELL_SCATTER, ANOTHER        0.1, 0.2   15.4 to 16.8 % (0.05 to 0.4, 0..1)  16.3 %
                                            (a fifth of the own on 2 cards rows)

Of 384 pairs of two new cards with data sheets only, 66 % are ranked, all of them correctly (by the
values alone 97 % of all are). From one own card it is 68 % of 660, 99.6 % of them correctly (96 %).
The coverage of the ratio's interval was 89 and 93 %.

A measurement has the interval of another session (-6 to +6 %): of 39 machines with the same card,
90 % of pairs agreed within it (61 to 100 % by workload).

Limits: the errors of one card are correlated, so 100 errors of 10 cards are worth less than those
of 100 cards; the coverage above includes this. No interval here covers a card unlike every card of
the library (another maker, another kind of arithmetic).
"""

from planner.transfer._ladder import transfer
from planner.transfer._library import fit_library, with_speeds
from planner.transfer._records import (
    BASIS_OF,
    Cell,
    DataSheet,
    Decision,
    Library,
    Neighbour,
    NextRun,
    Rung,
    Transferred,
)
from planner.transfer._rungs import best_answer
from planner.transfer.decide import decide

__all__ = [
    "BASIS_OF",
    "Cell",
    "DataSheet",
    "Decision",
    "Library",
    "Neighbour",
    "NextRun",
    "Rung",
    "Transferred",
    "best_answer",
    "decide",
    "fit_library",
    "transfer",
    "with_speeds",
]
