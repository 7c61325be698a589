"""Documentation pages that are generated from tables of the code.

The table of refusals and warnings, for the Method page and the docs.

The numbers are imported from the code; each row names its evidence.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from planner.catalog import STALE_MONTHS, catalog_page
from planner.compare.evaluation import DECIDED
from planner.convergence import COARSE, TOO_COARSE
from planner.convergence import fit as convergence
from planner.core import FILES, Text, limits, percent
from planner.epochs import CHANGE, EPOCHS_TO_MEASURE, MAX_CV, SHORTEST
from planner.fits import TWICE
from planner.runs import COLUMNS, EPOCH, EVALUATION, REAL, SCHEMA_VERSION, STEP, WHOLE, Column
from planner.scaling import fit as scaling
from planner.suspects import LEFT_OUT
from planner.throughput import FALL, FAR, MAX_SCATTER, NARROW, TOO_FAR


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A case, the reaction, the reason with its figure, and what to measure."""

    when: str
    then: str
    why: str
    measure_next: str


RULES: Final = (
    Rule(when="one batch size", then="no curve; the point is shown",
        why="taking throughput as constant was wrong by 32 to 137 % on five data sets",
        measure_next="a batch at least four times larger or smaller"),
    Rule(when=Text("two batch sizes less than {narrow:g} times apart", narrow=NARROW),
        then="no answer beyond twice their range",
        why="the two smallest batches missed the largest by 22 to 80 % (median by data set)",
        measure_next="the largest batch that fits, and one between"),
    Rule(when=Text("a batch above {far:g} times the largest measured", far=FAR),
        then="dashed line and a wide band",
        why="median error 5.2 % at twice, 15 % at four times the largest; the band held 97 % "
        "and 93 % (docs/accuracy.md)",
        measure_next="a run near that batch"),
    Rule(when=Text("a batch above {too_far:g} times the largest measured", too_far=TOO_FAR),
        then="refused", why="no measurement covers that range",
        measure_next="a run near that batch"),
    Rule(when=Text("throughput falls by more than {fall} as the batch grows", fall=percent(FALL)),
        then="answers beyond it carry a warning",
        why="something changed there (memory, another kernel): no two numbers can follow it",
        measure_next="both batches again, in one session"),
    Rule(
        when=Text("scatter around the curve above {max_scatter}", max_scatter=percent(MAX_SCATTER)),
        then="no v0 and no t; the points are shown",
        why="a faulty published sweep scattered by 33 %, sound ones by 2 to 9 %",
        measure_next="the batch that lies furthest off, again"),
    Rule(when="one epoch only", then="no projection",
        why="epoch 1 is unlike the others: 34 % median error, 251 % at the 95th percentile",
        measure_next=EPOCHS_TO_MEASURE),
    Rule(when=Text("epochs 2 and later vary by more than {max_cv}", max_cv=percent(MAX_CV)),
        then="no projection",
        why="12 public runs that changed image or batch size on the way: 37 % error",
        measure_next="each phase as a run of its own"),
    Rule(when=Text(
            "epochs of several kinds: their time changes by more than {change} on the "
            "way, for {shortest} epochs or more",
            change=percent(CHANGE),
            shortest=SHORTEST,
        ),
        then="no projection, unless you state that the rest continues like the last part",
        why="no mean predicts the rest; such projections were 37 % wrong",
        measure_next="at least 3 epochs of each phase"),
    Rule(when=Text("a suspect run ({left_out})", left_out=", ".join(LEFT_OUT)),
        then="marked, kept, and left out of fits and rankings only by a visible switch",
        why="one faulty run of a published sweep of 50 took 1.58 times the time of its neighbours; "
        "a flag is no proof",
        measure_next="the same case again"),
    Rule(when="only inference was timed", then="no total; throughput is shown",
        why="forward and backward pass take about three times the operations of inference",
        measure_next="a training run of the workload"),
    Rule(when="the first epoch is unknown", then="no total; the time of a later epoch is shown",
        why="epoch 1 took up to 5.8 times as long as the others", measure_next="the first epoch"),
    Rule(when="the start-up time is unknown", then="the total starts with epoch 1 and states it",
        why="tables of papers rarely state it, and no other number shows it",
        measure_next="the time from the start of the process to the first step"),
    Rule(when="the numbers of one run contradict each other",
        then="that run is refused; all others are answered",
        why="one bad row must not hide the good ones",
        measure_next="the case again, after the row is corrected or marked failed"),
    Rule(when="a run dated more than a day after the clock of the machine that stores it",
        then="refused when it is added; files from before stay readable",
        why="its clock, or the one here, is wrong; the newest run would be wrong on every page",
        measure_next="nothing: correct the date or the clock, then add it again"),
    Rule(when="a failed run", then="no total; the run is shown with its reason",
        why="a run that ran out of memory or was killed does not predict a whole one",
        measure_next="the case again, at a smaller batch or with more memory"),
    Rule(when="two totals closer than their joint interval", then="shown as “not decided”",
        why="a gap smaller than its interval is no ranking",
        measure_next="both again, each in two fresh sessions"),
    # -- steps to a target ---------------------------------------------------------------------
    Rule(when="steps to a target measured at one batch size", then="no curve; the point is shown",
        why="taking its samples for other batches was 34 to 76 % wrong (median by data set)",
        measure_next=Text(
            "a batch at least {narrow:g} times larger or smaller", narrow=NARROW
        )),
    Rule(when=Text("two batch sizes less than {narrow:g} times apart", narrow=NARROW),
        then="steps to a target are answered up to twice their range",
        why="two such batches missed the largest by 54 to 663 %",
        measure_next="the smallest and the largest batch that train, and one between"),
    Rule(
        when=Text("a batch above {twice:g} times the largest that reached the target", twice=TWICE),
        then="dashed line and a wide band", why="15 to 34 % off up to four times the largest",
        measure_next="a training near that batch"),
    Rule(when=Text(
            "a batch above {too_far:g} times the largest that reached the target",
            too_far=TOO_FAR,
        ),
        then="refused", why="no measurement covers that range",
        measure_next="a training near that batch"),
    Rule(when="the target is not reached by half of the seeds at a batch",
        then="that batch is left out of the curve, named and refused; answers between it and the "
        "nearest batches that reached the target carry a warning; where every larger batch, or "
        "every smaller one, fell short too, all beyond the last that reached it is refused",
        why="uncounted steps are no number",
        measure_next="more steps, another learning rate, or an easier target"),
    Rule(when=Text(
            "scatter of steps to a target around the law above {max_scatter}",
            max_scatter=percent(convergence.MAX_SCATTER),
        ),
        then="no critical batch size", why="tuned workloads scatter by 3 to 19 %",
        measure_next="the batch that fits worst, its learning rate tuned again, with more seeds"),
    Rule(when=Text(
            "no evaluation came before the target at a batch; or evaluations lie more "
            "than {too_coarse} of the steps to it apart (median over the batches)",
            too_coarse=percent(TOO_COARSE),
        ),
        then="that batch is left out of the curve and named; no curve",
        why="such steps show when the model was evaluated: to 80 % error of digits they were 1 to "
        "8 at every batch, those of the first evaluation",
        measure_next="a stricter target, or more evaluations at the start"),
    Rule(when=Text(
            "evaluations more than {coarse} of the steps to the target apart",
            coarse=percent(COARSE),
        ),
        then="wider intervals, and a warning",
        why="the crossing lies anywhere between two evaluations",
        measure_next="more frequent evaluations"),
    Rule(when=Text("one batch more than {off:g} times off that law", off=convergence.OFF),
        then="answers carry a warning that names it",
        why="of 17 tuned workloads none was 1.45 times off",
        measure_next="that batch, its learning rate tuned again"),
    Rule(when="no batch lies within both curves, or neither turns where it was measured",
        then="no best batch", why="the best batch is where what one curve gains the other loses",
        measure_next="step times and steps to the target at one batch of each other's range"),
    # -- devices -------------------------------------------------------------------------------
    Rule(when="every run had the same number of devices", then="no scaling curve",
        why="one count shows no scaling",
        measure_next="the same batch per device on twice as many"),
    Rule(when=Text(
            "scatter of step times on several devices above {max_scatter} around the form",
            max_scatter=percent(MAX_SCATTER),
        ),
        then="answers carry a warning and are never called measured; unlike over one batch axis "
        "nothing is refused yet",
        why="6 of 15 public workloads scatter this much, up to 29 %. Predicted from 4 devices they "
        "were 6 to 24 % off on 5 to 64, about as wide as their intervals",
        measure_next="the run that lies furthest off, again"),
    Rule(when=Text(
            "scatter of step times on several devices above {no_form} around the form",
            no_form=percent(scaling.NO_FORM),
        ),
        then="no overhead, throughput or link cost; the law of published series answers, with that "
        "scatter", why="the worst of 15 public workloads scatters 29 %",
        measure_next="the run that lies furthest off, again in a fresh process"),
    Rule(when="a link between nodes, or in one, that no run crossed",
        then="assumed to cost what the measured one does, with a wider interval; its parts and "
        "crossovers are refused",
        why="16 to 64 devices over several nodes, predicted from 4 in one, were 13 % off; other "
        "forms were 43 to 211 % off",
        measure_next="two nodes; two devices of one node"),
    Rule(when="a single device that no run had", then="refused",
        why="several devices do not separate overhead from the cost of their link",
        measure_next="a single device"),
    Rule(when="the runs clearly show a link that costs the same for each further device",
        then="answers carry a warning; the cost grows in proportion to the devices of a node, or "
        "to all devices where the runs clearly show that",
        why="on a public V100 cluster 9 to 16 devices were 8 to 18 % off for three such workloads, "
        "instead of about 30 % where all devices count",
        measure_next="one run at a larger count"),
    Rule(when=Text("more than {twice:g} times the devices measured on that link", twice=TWICE),
        then="called a guess",
        why="workloads of five public clusters were 3 to 24 % off there on average",
        measure_next="one run at that count"),
    Rule(when="a launch mode that was not measured", then="refused",
        why="each has its own cost per step", measure_next="one run with it"),
    Rule(when="batch, devices and launch mode changed together",
        then="no answer where these runs cannot separate them",
        why="several explanations fit the same runs",
        measure_next="a second batch per device at a device count that was measured"),
    # -- unmeasured hardware -------------------------------------------------------------------
    Rule(when="a workload measured on no card, or a card with neither a run nor a data sheet",
        then="refused", why="the work of a sample or the speed of the card is unknown",
        measure_next="that workload on any card; any workload, or the data sheet, of that card"),
    Rule(when="two options whose ratio is within its interval",
        then="“not decided”, and the run that would settle it",
        why="of 384 pairs of cards with data sheets alone, a third cannot be decided",
        measure_next="the run that is named"),
    Rule(when=Text(
            "one option is better than another in less than {decided} of the draws",
            decided=percent(DECIDED),
        ),
        then='both have one rank: "not decided"',
        why="of 384 pairs of cards with data sheets alone, all decisions of this kind were right",
        measure_next="the run, or the price, that the answer names"),
    Rule(when="weights, gradients and optimiser state exceed an accelerator's memory",
        then="offered as sharded, or with its condition (8-bit moments); without a "
        "time where it needs the host's memory or more",
        why="what does not fit does not run; activations come on top",
        measure_next="its peak memory at two batch sizes"),
    Rule(when="a workload timed on no accelerator of the catalogue, with unknown operations",
        then="no time elsewhere", why="the work of a sample is unknown",
        measure_next="any run on a card of the catalogue, or the FLOPs of a sample"),
    Rule(when="renting costs no more than the electricity, or a machine would need over all hours",
        then="buying never pays off: no break-even", why="no utilisation pays for it",
        measure_next="another price, or another machine"),
    Rule(when=Text("a price older than {stale_months} months", stale_months=STALE_MONTHS),
        then="marked, and drawn 30 % either way",
        why="prices of accelerators move; by how much is an assumption one can change",
        measure_next="a current price"),
    Rule(when="owned hardware of unknown power", then="a time and no cost",
        why="its only cost is electricity", measure_next="its power at the plug"),
)  # fmt: skip


_GROUPS: Final = {
    "identity": "Identity and provenance",
    "workload": "Workload",
    "system": "System (names of MLPerf system_desc where it has one)",
    "software": "Software",
    "factors": "Factors",
    "summary": "Summary numbers",
    "nested": "Nested: one list per run",
    "other": "Other",
}


_INTRODUCTION: Final = (
    f"Schema version {SCHEMA_VERSION}. Made from `planner/runs/columns.csv` by `make docs`; one "
    "run is one row. A missing value is NULL, never 0. Columns marked **id** make the run's id: "
    "the first 32 hex digits of the sha256 of those that are not NULL, as JSON with sorted keys."
)


_LIMITS: Final = (
    "A file beyond one of these is refused with the reason, before it is loaded; a longer text of "
    "a set.toml is cut. Numbers have the sizes given above with their columns."
)


def records_page() -> str:
    """Return docs/records.md: every column of a run with type, unit, rule and meaning."""
    parts = ["# The run record", "", _INTRODUCTION]
    for group, title in _GROUPS.items():
        parts += ["", f"## {title}", "", "| column | type | unit | values | meaning |"]
        parts += ["|---|---|---|---|---|"]
        parts += [_column_line(c) for c in COLUMNS if c.group == group]
    parts += ["", "## Inside the lists", ""]
    for name, item in (("epochs", EPOCH), ("evaluations", EVALUATION), ("steps", STEP)):
        fields = ", ".join(f"`{f.name}` {f.type}" for f in item)
        parts.append(f"- **{name}**: {fields}")
    parts += ["", "## Limits of files and texts", "", _LIMITS, ""]
    parts += ["| limit | value | of what |", "|---|---|---|"]
    parts += [f"| `{name}` | {getattr(limits, name):,} | {what} |" for name, what in FILES.items()]
    return "\n".join(parts) + "\n"


def refusals_page() -> str:
    """Return docs/refusals.md: refusals and warnings, with reason and next measurement."""
    parts = [
        "# What is refused, and why",
        "",
        "Made from `planner/answers/_documented.py` by `make docs`; the Method page shows the same "
        "table.",
        "",
        "| when | then | why | measure next |",
        "|---|---|---|---|",
    ]
    parts += [f"| {r.when} | {r.then} | {r.why} | {r.measure_next} |" for r in RULES]
    return "\n".join(parts) + "\n"


PAGES: Final = MappingProxyType[str, Callable[[], str]](
    {"catalog": catalog_page, "records": records_page, "refusals": refusals_page}
)
"""Functions that return a page's text, by name (docs/NAME.md)."""


def _range(column: Column) -> str:
    """Return the range of a column's numbers; "" for texts, flags and lists."""
    if column.type not in (REAL, WHOLE):
        return ""
    least = max(1.0, column.span.least) if column.type == WHOLE else column.span.least
    sizes = f"{least:g} to {column.span.most:g}"
    return {"positive": sizes, "not negative": f"0, {sizes}", "any": f"0, ± {sizes}"}[column.rule]


def _column_line(column: Column) -> str:
    values = " / ".join(column.choices) or _range(column)
    mark = " **id**" if column.identity else ""
    needed = " required" if column.required else ""
    if column.since > 1:
        needed = Text("{needed} since version {since}", needed=needed, since=column.since)
    kind = "list of records" if column.group == "nested" else str(column.type)
    name = f"`{column.name}`{mark}{needed}"
    return f"| {name} | {kind} | {column.unit} | {values} | {column.meaning} |"
