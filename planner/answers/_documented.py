"""Documentation pages that are generated from tables of the code.

The table of refusals and warnings, for the Method page and the docs.

The numbers are imported from the code; each row names its evidence.
"""

from collections.abc import Callable, Mapping
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


RULES_BY_SUBJECT: Final[Mapping[str, tuple[Rule, ...]]] = {
    "Throughput and epochs": (
    Rule(when="One batch size", then="No curve. The point is shown.",
        why="Constant throughput was 32 to 137 % wrong on five data sets.",
        measure_next="A batch at least 4 times larger or smaller."),
    Rule(when=Text("Two batch sizes less than {narrow:g} times apart", narrow=NARROW),
        then="No answer beyond twice their range.",
        why="The two smallest batches missed the largest by 22 to 80 % (median by data set).",
        measure_next="The largest batch that fits, and one between."),
    Rule(when=Text("A batch above {far:g} times the largest measured", far=FAR),
        then="A dashed line and a wide band.",
        why="Median error 5.2 % at twice, 15 % at four times the largest. The band held 97 % and "
        "93 % (docs/accuracy.md).",
        measure_next="A run near that batch."),
    Rule(when=Text("A batch above {too_far:g} times the largest measured", too_far=TOO_FAR),
        then="Refused.", why="No measurement covers that range.",
        measure_next="A run near that batch."),
    Rule(when=Text("Throughput falls by more than {fall} as the batch grows", fall=percent(FALL)),
        then="Answers beyond it carry a warning.",
        why="Something changed there: memory, or another kernel. No two numbers can follow it.",
        measure_next="Both batches again, in one session."),
    Rule(
        when=Text("Scatter around the curve above {max_scatter}", max_scatter=percent(MAX_SCATTER)),
        then="No v0 and no t. The points are shown.",
        why="A faulty published sweep scattered by 33 %, sound ones by 2 to 9 %.",
        measure_next="The batch that is furthest off, again."),
    Rule(when="One epoch only", then="No projection.",
        why="Epoch 1 differs from the others: 34 % median error, 251 % at the 95th percentile.",
        measure_next=EPOCHS_TO_MEASURE),
    Rule(when=Text("Epochs 2 and later vary by more than {max_cv}", max_cv=percent(MAX_CV)),
        then="No projection.",
        why="12 public runs changed image or batch size on the way: 37 % error.",
        measure_next="Each phase as a run of its own."),
    Rule(when=Text(
            "The epoch time changes by more than {change} on the way, for {shortest} epochs or "
            "more",
            change=percent(CHANGE),
            shortest=SHORTEST,
        ),
        then="No projection, unless you state that the rest continues like the last part.",
        why="No mean predicts the rest. Such projections were 37 % wrong.",
        measure_next="At least 3 epochs of each phase."),
    Rule(when=Text("A suspect run: {left_out}", left_out=", ".join(LEFT_OUT)),
        then="Marked and kept. A visible switch leaves it out of fits and rankings.",
        why="One faulty run of a published sweep of 50 took 1.58 times the time of its neighbours. "
        "A mark is no proof.",
        measure_next="The same case again."),
    Rule(when="Only inference was timed", then="No total. Throughput is shown.",
        why="Forward and backward pass take about three times the operations of inference.",
        measure_next="A training run of the workload."),
    Rule(when="The first epoch is unknown", then="No total. The time of a later epoch is shown.",
        why="Epoch 1 took up to 5.8 times as long as the others.", measure_next="The first epoch."),
    Rule(when="The start-up time is unknown", then="The total starts with epoch 1 and says so.",
        why="Tables of papers rarely state it, and no other number shows it.",
        measure_next="The time from the start of the process to the first step."),
    Rule(when="The numbers of one run contradict each other",
        then="That run is refused. All others are answered.",
        why="One bad row must not hide the good ones.",
        measure_next="The case again, after the row is corrected or marked failed."),
    Rule(when="A run dated more than a day after the clock of the machine that stores it",
        then="Refused when it is added. Files from before stay readable.",
        why="One of the two clocks is wrong. Every page would show it as the newest run.",
        measure_next="Nothing: correct the date or the clock, then add it again."),
    Rule(when="A failed run", then="No total. The run is shown with its reason.",
        why="A run that ran out of memory or was killed does not predict a whole one.",
        measure_next="The case again, at a smaller batch or with more memory."),
    Rule(when="Two totals closer than their joint interval", then="Shown as “not decided”.",
        why="A gap smaller than its interval is no ranking.",
        measure_next="Both again, each in two fresh sessions."),
    ),
    "Steps to a target": (
    Rule(when="Steps measured at one batch size", then="No curve. The point is shown.",
        why="Equal samples at other batches were 34 to 76 % wrong (median by data set).",
        measure_next=Text(
            "A batch at least {narrow:g} times larger or smaller.", narrow=NARROW
        )),
    Rule(when=Text("Steps at two batch sizes less than {narrow:g} times apart", narrow=NARROW),
        then="Answers up to twice their range.",
        why="Two such batches missed the largest by 54 to 663 %.",
        measure_next="The smallest and the largest batch that train, and one between."),
    Rule(
        when=Text("A batch above {twice:g} times the largest that reached the target", twice=TWICE),
        then="A dashed line and a wide band.", why="15 to 34 % off up to four times the largest.",
        measure_next="A training near that batch."),
    Rule(when=Text(
            "A batch above {too_far:g} times the largest that reached the target",
            too_far=TOO_FAR,
        ),
        then="Refused.", why="No measurement covers that range.",
        measure_next="A training near that batch."),
    Rule(when="Half of the seeds or more miss the target at a batch",
        then="That batch is named and left out of the curve. Batches between it and the nearest "
        "that reached the target carry a warning. If all batches on one side fell short, that "
        "side is refused.",
        why="Uncounted steps are no number.",
        measure_next="More steps, another learning rate, or an easier target."),
    Rule(when=Text(
            "Scatter of steps to a target around the law above {max_scatter}",
            max_scatter=percent(convergence.MAX_SCATTER),
        ),
        then="No critical batch size.", why="Tuned workloads scatter by 3 to 19 %.",
        measure_next="The batch that fits worst, its learning rate tuned again, with more seeds."),
    Rule(when="No evaluation before the target at a batch",
        then="That batch is named and left out of the curve.",
        why="Such steps show when the model was evaluated, not when it reached the target.",
        measure_next="A stricter target, or more evaluations at the start."),
    Rule(when=Text(
            "Evaluations more than {too_coarse} of the steps to the target apart (median over "
            "the batches)",
            too_coarse=percent(TOO_COARSE),
        ),
        then="No curve.",
        why="To 80 % error of digits the steps were 1 to 8 at every batch: those of the first "
        "evaluation.",
        measure_next="A stricter target, or more evaluations at the start."),
    Rule(when=Text(
            "Evaluations more than {coarse} of the steps to the target apart",
            coarse=percent(COARSE),
        ),
        then="Wider intervals, and a warning.",
        why="The crossing is anywhere between two evaluations.",
        measure_next="More frequent evaluations."),
    Rule(when=Text("One batch more than {off:g} times off the law", off=convergence.OFF),
        then="Answers carry a warning that names it.",
        why="Of 17 tuned workloads none was 1.45 times off.",
        measure_next="That batch, its learning rate tuned again."),
    Rule(when="No batch within both curves, or neither bends where it was measured",
        then="No best batch.",
        why="At the best batch, the gain on one curve equals the loss on the other.",
        measure_next="Step times and steps to the target at one batch of each other's range."),
    ),
    "Several devices": (
    Rule(when="Every run had the same number of devices", then="No scaling curve.",
        why="One count shows no scaling.",
        measure_next="The same batch per device on twice as many."),
    Rule(when=Text(
            "Scatter of step times on several devices above {max_scatter} around the form",
            max_scatter=percent(MAX_SCATTER),
        ),
        then="Answers carry a warning and are never called measured.",
        why="6 of 15 public workloads scatter this much, up to 29 %. From 4 devices they were 6 to "
        "24 % off on 5 to 64. Their intervals are about as wide.",
        measure_next="The run that is furthest off, again."),
    Rule(when=Text(
            "Scatter of step times on several devices above {no_form} around the form",
            no_form=percent(scaling.NO_FORM),
        ),
        then="No overhead, throughput or link cost. The law of published series answers, with that "
        "scatter.", why="The worst of 15 public workloads scatters 29 %.",
        measure_next="The run that is furthest off, again in a fresh process."),
    Rule(when="A link between nodes, or in one, that no run crossed",
        then="Assumed to cost what the measured one does, with a wider interval. Its parts and "
        "crossovers are refused.",
        why="16 to 64 devices over several nodes, predicted from 4 in one, were 13 % off. Other "
        "forms were 43 to 211 % off.",
        measure_next="Two nodes; two devices of one node."),
    Rule(when="A single device that no run had", then="Refused.",
        why="Several devices do not separate overhead from the cost of their link.",
        measure_next="A single device."),
    Rule(when="A link that clearly costs the same for each further device",
        then="Answers carry a warning. The cost grows with the devices of a node, or with all "
        "devices where the runs clearly show that.",
        why="On a public V100 cluster three such workloads were 8 to 18 % off on 9 to 16 devices. "
        "Where all devices count they were about 30 % off.",
        measure_next="One run at a larger count."),
    Rule(when=Text("More than {twice:g} times the devices measured on that link", twice=TWICE),
        then="Called a guess.",
        why="Workloads of five public clusters were 3 to 24 % off there on average.",
        measure_next="One run at that count."),
    Rule(when="A launch mode that was not measured", then="Refused.",
        why="Each has its own cost per step.", measure_next="One run with it."),
    Rule(when="Batch, devices and launch mode changed together",
        then="No answer where these runs cannot separate them.",
        why="Several explanations fit the same runs.",
        measure_next="A second batch per device at a device count that was measured."),
    ),
    "Unmeasured hardware and money": (
    Rule(when="A workload measured on no card, or a card with neither a run nor a data sheet",
        then="Refused.", why="The work of a sample or the speed of the card is unknown.",
        measure_next="That workload on any card; any workload, or the data sheet, of that card."),
    Rule(when="Two options whose ratio is within its interval",
        then="“Not decided”, and the run that would settle it.",
        why="Of 384 pairs of cards with data sheets alone, a third cannot be decided.",
        measure_next="The run that is named."),
    Rule(when=Text(
            "One option is better than another in less than {decided} of the draws",
            decided=percent(DECIDED),
        ),
        then="Both have one rank: “not decided”.",
        why="Of 384 pairs of cards with data sheets alone, all decisions of this kind were right.",
        measure_next="The run, or the price, that the answer names."),
    Rule(when="Weights, gradients and optimiser state exceed an accelerator's memory",
        then="Offered as sharded, or with its condition (8-bit moments). No time where it needs "
        "the host's memory or more.",
        why="What does not fit does not run. Activations come on top.",
        measure_next="Its peak memory at two batch sizes."),
    Rule(when="A workload timed on no accelerator of the catalogue, with unknown operations",
        then="No time elsewhere.", why="The work of a sample is unknown.",
        measure_next="Any run on a card of the catalogue, or the FLOPs of a sample."),
    Rule(when="Renting costs no more than the electricity, or a machine would need over all hours",
        then="Buying never pays off: no break-even.", why="No utilisation pays for it.",
        measure_next="Another price, or another machine."),
    Rule(when=Text("A price older than {stale_months} months", stale_months=STALE_MONTHS),
        then="Marked, and assumed accurate to ± 30 %.",
        why="Prices of accelerators change. By how much is an assumption you can change.",
        measure_next="A current price."),
    Rule(when="Owned hardware of unknown power", then="A time and no cost.",
        why="Its only cost is electricity.", measure_next="Its power at the plug."),
    ),
}  # fmt: skip
"""What is refused or answered with a warning, by the subject of the question."""


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
        "rules.",
    ]
    for subject, rules in RULES_BY_SUBJECT.items():
        parts += [
            "",
            f"## {subject}",
            "",
            "| when | then | why | measure next |",
            "|---|---|---|---|",
        ]
        parts += [f"| {r.when} | {r.then} | {r.why} | {r.measure_next} |" for r in rules]
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
