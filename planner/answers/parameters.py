"""Parameters of questions about totals, curves and results; see `planner.core.parameters`.

The names are those of the pages' links: How long?, Throughput and Results.
"""

from types import MappingProxyType
from typing import Final

from planner.answers.comparison import ASSUMED, COMPARE, COUNTRY, DISPLAY
from planner.capacity import (
    COMMON,
    MOST_ACCELERATORS,
    MOST_JOBS,
    MOST_MACHINES,
    MOST_STOCKS,
    PLAN_MONTHS,
)
from planner.core import MOST_VALUES, Parameter, Text
from planner.epochs import EPOCHS, MOST_CHOSEN, MOST_EPOCHS, MOST_LINES, SAMPLES_PER_EPOCH
from planner.epochs.projection import SESSION_SD
from planner.explore import FUNCTIONS, MARKS, MOST, STATISTICS
from planner.store.select import LONGEST
from planner.suspects import ANY, NAMES, NONE

MOST_BESIDE: Final = 4
MOST_BATCHES: Final = 50
MOST_BATCHES_SHOWN: Final = 5
"""Batches of the page Scaling out: each is a line of its charts."""
MOST_LISTED: Final = 1000
LISTED: Final = 100
"""Runs of one answer of the HTTP interface."""

_WORKLOAD: Final = Parameter(name="workload", words="workload slug; default: that of most systems",
                             help="")  # fmt: skip
WITHOUT_SUSPECTS: Final = Parameter(
    name="without_suspects", words="leave suspect runs out", kind="flag", default=False,
    label="Leave suspect runs out", help="",
)  # fmt: skip
HOW_LONG: Final = (
    _WORKLOAD,
    Parameter(name="pattern", words="input pattern, as its slug; default: the best documented",
              label="Input pattern", help=""),
    Parameter(name="epochs", words="how many epochs", kind="whole", unit="epochs",
              default=EPOCHS, least=1, most=MOST_EPOCHS, help=""),
    SAMPLES_PER_EPOCH,
    Parameter(name="systems", words="systems to rank, as their slugs; default: the usual ones",
              many=MOST_CHOSEN, help=""),
    Parameter(name="baseline", words="system that all are compared with, as its slug",
              label="Compare with", help=""),
    Parameter(name="session", words="include machine-to-machine variation", kind="flag",
              default=False, label="Include machine-to-machine variation", help=""),
    Parameter(name="rest_like_last", words="where epoch times change during the run, the rest "
              "continues like the last part", kind="flag", default=False,
              label="The rest continues like the last part", help=""),
    WITHOUT_SUSPECTS,
)  # fmt: skip
BATCH: Final = Parameter(
    name="batch", words="global batch sizes to answer at", kind="number", unit="samples",
    least=1.0, most=1e9, many=MOST_BATCHES, label="Global batch sizes",
    help="Each curve answers with its 90 % interval, or says why not",
)  # fmt: skip
CURVE: Final = (
    _WORKLOAD,
    Parameter(name="pattern", words="one input pattern, as its slug; the same as patterns"),
    Parameter(name="patterns", words="input patterns, as their slugs; default: the best documented",
              many=MOST_VALUES, label="Input patterns", help=""),
    Parameter(name="systems", words="systems, as their slugs; default: all, or those with "
              "the most batch sizes", many=MOST_LINES, help=""),
    SAMPLES_PER_EPOCH,
    Parameter(name="beside", words="further workloads to compare with, as their slugs",
              many=MOST_BESIDE, label="Compare with other workloads", help=""),
    BATCH,
    WITHOUT_SUSPECTS,
)  # fmt: skip
MOST_COUNTS: Final = 12
HOLDS: Final = ("global", "device")
SLOW: Final = Parameter(
    name="slow", words="share of the time that one worker is stopped", kind="number", unit="%",
    default=50.0, least=0.0, most=95.0, label="One worker is stopped", help="Share of the time",
)  # fmt: skip
SCALING_OUT: Final = (
    Parameter(name="workload", words="workload slug, with runs on several device counts", help=""),
    Parameter(name="series", words="system and input pattern, as their slug; default: that of most "
              "device counts", label="System", help=""),
    Parameter(name="driver", words="series without workers to compare with, as its slug, or none",
              label="Compare with", help="A driver without workers, or the fewest devices"),
    Parameter(name="batch", words="batches to answer at, global or per device as hold says; "
              "the last is that of the headline", kind="number", unit="samples", least=1.0,
              most=1e9, many=MOST_BATCHES_SHOWN, label="Batches", help=""),
    Parameter(name="hold", words="which batch is the same at every count; default: the one that "
              "runs have in common", kind="choice", choices=HOLDS, label="Same at every count",
              help=""),
    Parameter(name="devices", words="further device counts", kind="whole", unit="devices",
              least=1, most=1_000_000, many=MOST_COUNTS, label="More device counts", help=""),
    Parameter(name="epochs", words="how many epochs", kind="whole", unit="epochs",
              default=10, least=1, most=MOST_EPOCHS, help=""),
    SAMPLES_PER_EPOCH,
    Parameter(name="startup_s", words="start-up of the cluster, with the extra time of its "
              "first epoch; default: as measured", kind="number", unit="s", least=0.0, most=1e7,
              label="Start-up", help=""),
    Parameter(name="deadline", words="time from start to end, as 36, 3 days or 2 weeks",
              kind="number", unit="h", least=1e-3, most=1e6,
              help="From start to end: 36 h, 3 days or 2 weeks"),
    Parameter(name="budget", words="most that the training may cost", kind="number", unit="USD",
              least=0.0, most=1e9, help=""),
    Parameter(name="price", words="price of one device for an hour", kind="number", unit="USD/h",
              least=0.0, most=1e6, label="Price of a device", help=""),
    SLOW,
    Parameter(name="spread", words="scatter of a worker's step from step to step (sd)",
              kind="number", unit="%", default=0.0, least=0.0, most=100.0,
              label="Scatter of steps", help="Relative sd of a worker's step"),
    Parameter(name="servers", words="parameter servers", kind="whole", default=1, least=1,
              most=10_000, label="Parameter servers", help=""),
    Parameter(name="server_gbit_per_s", words="link of one parameter server, both directions "
              "together; without it no limit", kind="number", unit="Gbit/s", least=0.001, most=1e6,
              label="Server link", help=""),
    Parameter(name="params", words="parameters of the network; default: as the runs state",
              kind="number", least=1.0, most=1e15, short=True, label="Parameters", help=""),
    Parameter(name="critical_batch", words="critical batch size Bcrit, from Steps to target; "
              "without it the cost of staleness is unknown", kind="number", unit="samples",
              least=1e-3, most=1e12, short=True, label="Critical batch size Bcrit", help=""),
    Parameter(name="own_image_px", words="image side of these runs; default: as they state, else "
              "that of the network", kind="number", unit="px", least=1.0, most=1e5,
              label="Image size", help=""),
    Parameter(name="image_px", words="another image side to compare bytes with", kind="number",
              unit="px", default=256.0, least=1.0, most=1e5, label="Bytes at image size",
              help="A batch of this size with as many bytes"),
    Parameter(name="network", words="language model to cut over devices, by its name",
              default="llama-3-70b", help=""),
    Parameter(name="accelerator", words="accelerator to cut it over, by its name",
              default="h100-sxm", help=""),
    Parameter(name="count", words="accelerators to cut it over", kind="whole", default=64,
              least=1, most=100_000, help=""),
    Parameter(name="network_batch", words="sequences of a step of that model", kind="number",
              unit="samples", default=1024.0, least=1.0, most=1e7, label="Sequences per step",
              help=""),
    Parameter(name="micro_batch", words="sequences of a micro-batch", kind="number",
              unit="samples", default=1.0, least=1.0, most=1e4,
              label="Sequences per micro-batch", help=""),
    Parameter(name="precision", words="precision of that model", kind="choice",
              default="bfloat16", choices=("float32", "float16", "bfloat16", "float8"), help=""),
    WITHOUT_SUSPECTS,
)  # fmt: skip
_NAMES_A_JOB: Final = (
    "workload", "pattern", "goal", "epochs", "samples_per_epoch", "target", "optimizer", "network",
    "samples", "total_tokens", "params", "active_params", "layers", "width", "tokens", "image_px",
    "flops", "family", "training", "recompute", "benchmark", "assumed_mfu", "precision",
    "network_optimizer", "batch",
)  # fmt: skip
"""Parameters of Compare hardware that say what a job trains."""
JOB: Final = (
    Parameter(name="name", words="unique name of the job", longest=80),
    Parameter(name="runs", words="mean runs a month, in the first month; they arrive at random",
              kind="number", unit="1/month", default=4.0, least=0.0, most=1e6),
    Parameter(name="within", words="longest time from a run's arrival to its end; without it no "
              "deadline", kind="number", unit="h", least=1e-3, most=1e5),
    Parameter(name="interruptible", words="it may run on spot machines", kind="flag",
              default=False),
    Parameter(name="growth", words="growth of the runs a month, 5 for 5 %", kind="number",
              unit="%", default=0.0, least=-50.0, most=100.0),
    Parameter(name="accelerators", words="accelerators that a run uses; without it the whole "
              "machine", kind="whole", least=1, most=MOST_ACCELERATORS),
    *(next(p for p in COMPARE if p.name == name) for name in _NAMES_A_JOB),
)  # fmt: skip
"""Parameters of one job: the columns of a jobs file, and the parts of a text of `jobs`."""
_FIRST_MONTH, _LAST_MONTH = PLAN_MONTHS
UTILISATION: Final = Parameter(
    name="utilisation", words="busy share of that machine; default: that of the fleet",
    kind="number", unit="%", least=0.0, most=100.0,
)  # fmt: skip
CAPACITY: Final = (
    Parameter(name="jobs", words="jobs, each a text of its parameters: name=Fine-tune; "
              "network=llama-3-8b; total_tokens=100M; runs=120; within=4; the command also "
              "takes the name of a CSV file", many=MOST_JOBS),
    Parameter(name="preset", words="a table of example jobs, where no jobs are given",
              default="fine-tuning"),
    Parameter(name="owned", words="machines already owned: 2 x a100-sxm-80gb|8 is two of eight "
              "accelerators each", many=MOST_STOCKS),
    Parameter(name="fleet", words="machines to buy or rent: 1 x buy|h100-sxm|8|260000 total, "
              "3 x rent|h100-sxm|8|20, 3 x spot|h100-sxm|8|11, reserved-1|h100-sxm|8|15, or an "
              "id of --list options; `from 7` behind it is the first month. With find these are "
              "the machines to choose from, each up to its count", many=MOST_STOCKS),
    Parameter(name="find", words="find the cheapest fleet that keeps every deadline", kind="flag",
              default=True),
    Parameter(name="months", words="months of the plan", kind="whole", unit="months",
              default=_LAST_MONTH, least=_FIRST_MONTH, most=_LAST_MONTH),
    Parameter(name="probability", words="probability that a run ends in time, for each job",
              kind="number", unit="%", default=95.0, least=50.0, most=99.9, label="On time"),
    Parameter(name="purchases", words="most that purchases may cost, in the currency shown",
              kind="number", least=0.0, most=1e12, label="Purchases at most"),
    Parameter(name="rent_most", words="most rented machines of one kind at the same time, where "
              "the fleet states none", kind="whole", default=8, least=0, most=MOST_MACHINES,
              label="Rented at once, per type"),
    Parameter(name="years", words="years of the cost lines of one machine", kind="number",
              unit="years", default=3.0, least=1.0, most=10.0),
    UTILISATION,
    Parameter(name="variation", words="standard deviation of the time of equal runs",
              kind="number", unit="%", default=100.0 * SESSION_SD, least=0.0, most=100.0,
              label="Scatter of equal runs"),
    Parameter(name="seed", words="seed of the simulation", kind="whole", default=1, least=0,
              most=1_000_000, label="Seed of the simulation"),
    COUNTRY,
    *DISPLAY,
    *(p for p in ASSUMED if p.name in COMMON),
)  # fmt: skip
STATED: Final = ("workload", "pattern", "epochs", "patterns", "systems", "baseline")
"""Parameters of every shared link of totals and curves, even at their current defaults."""
_FACETS: Final = (
    ("task", "Task", "kind of work, as its slug: language-model, vision, speech ..."),
    ("workload", "Workload", "workload, as its slug"),
    ("family", "Family", "family of the network where it is stated: dense, cnn ..."),
    ("accelerator_model_name", "Accelerator", "accelerator, as its slug"),
    ("system", "System", "system, as its slug"),
    ("global_batch_size", "Batch size", "batch size"),
    ("pattern", "Input pattern", "input pattern, as its slug"),
    ("mode", "Mode", "training or inference"),
    ("software", "Software", "framework and version, as its slug"),
    ("status", "Status", "how the run ended"),
    ("basis", "Basis", "measured, published ..."),
    ("repository", "Published in", "repository that published a figure, as its slug"),
    ("result_set", "Result set", "result set"),
    ("folder", "Folder", "result folder, as its slug"),
)
FILTERS: Final = (
    *(Parameter(name=name, label=label, words=words, many=MOST_VALUES, help="")
      for name, label, words in _FACETS),
    Parameter(
        name="suspect",
        words=Text(
            "{any}, {none}, or what is suspect: {names}", any=ANY, none=NONE, names=", ".join(NAMES)
        ),
        many=len(NAMES) + 2,
        help="",
    ),
)  # fmt: skip
"""Filters of runs, in the order of the Results page."""
MOST_RUNS_SHOWN: Final = 60
"""Runs that a link to Results names one by one."""
RESULTS: Final = (
    *FILTERS,
    Parameter(name="run", words="the id of one run"),
    Parameter(name="runs", words="the ids of the runs to list", many=MOST_RUNS_SHOWN),
    Parameter(name="limit", words="most runs of one answer", kind="whole", unit="runs",
              default=LISTED, least=1, most=MOST_LISTED),
    Parameter(name="cursor", words="where the last answer ended, its `next_cursor`"),
)  # fmt: skip
VIEW_OF_RESULTS: Final = frozenset({"columns"})
"""Parameters of the Results page's link that only change the view."""
NONE_CHOSEN: Final = "none"
"""Written for no colour, symbol, size, facet or columns."""
STEPS_TO_TARGET: Final = MappingProxyType({p.name: p for p in (
    Parameter(name="optimizers", words="optimisers, as their slugs", many=8,
              label="Optimisers", help=""),
    Parameter(name="times", words="where step times are from", label="Step times of", help=""),
    Parameter(name="system", words="system of the step times, as its slug", help=""),
    Parameter(name="devices", words="devices of the step times", label="Measured on", help=""),
    Parameter(name="pattern", words="input pattern of the step times, as its slug",
              label="Input pattern", help=""),
    Parameter(name="count", words="another device count", kind="whole", unit="devices", least=1,
              most=99_999, label="Predict for another device count", help=""),
    Parameter(name="nodes", words="its nodes", kind="whole", least=1, most=99_999,
              label="Over how many nodes", help=""),
    Parameter(name="round", words="round of the reference points", label="Round of MLPerf",
              help=""),
    Parameter(name="families", words="optimiser of the compared networks, as its slug",
              label="Optimiser of the families", help=""),
)})  # fmt: skip
"""Fields of the page Steps to target, beside workload and target."""
EXPLORED: Final = ("chart", "pivot", "side")
MOST_CORNERS: Final = 60
_FORMULA: Final = Text(
    "Choose a column, or type a formula such as peak_memory_bytes / params. "
    "Functions: {functions}.",
    functions=", ".join(FUNCTIONS),
)
EXPLORE: Final = (
    Parameter(name="view", words="a chart, a pivot table, or runs side by side", kind="choice",
              choices=EXPLORED, default=EXPLORED[0], help=""),
    Parameter(name="x", words="column, or a formula over columns as params / 1000; a group such "
              "as accelerator for box and strip", default="global_batch_size", label="x", help=""),
    Parameter(name="y", words="column, or a formula over columns", default="peak_memory_bytes",
              label="y", help=_FORMULA),
    Parameter(name="colour", words="group or column of the colours, or none",
              default="accelerator", help=""),
    Parameter(name="symbol", words="group of the symbols, or none", default=NONE_CHOSEN, help=""),
    Parameter(name="size", words="column or formula of the sizes, or none", default=NONE_CHOSEN,
              help=""),
    Parameter(name="facet", words="group with a panel for each value, or none",
              default=NONE_CHOSEN, label="Panels", help=""),
    Parameter(name="marks", words="points, lines through the same case, box or strip by group",
              kind="choice", choices=MARKS, default=MARKS[0], help=""),
    Parameter(name="fit", words="fitted curves with 90 % bands, where a law applies: throughput "
              "or step time against batch size or device count", kind="flag", default=True,
              label="Fitted curve", help=""),
    Parameter(name="log_x", words="logarithmic x axis", kind="flag", default=False, help=""),
    Parameter(name="log_y", words="logarithmic y axis", kind="flag", default=False, help=""),
    Parameter(name="brush", words="corners of the marked area in shown units: x0,y0,x1,y1 of a "
              "box, or those of a polygon"),
    Parameter(name="brush_in", words="panel of the marked area, by its title"),
    Parameter(name="hidden", words="colours that do not count in the marked area", many=10),
    Parameter(name="within", words="corners of an area, as in brush; only runs in it are drawn"),
    Parameter(name="hidden_symbols", words="symbols whose runs are not drawn", many=9),
    Parameter(name="rows", words="group of the rows of the pivot table", default="accelerator",
              help=""),
    Parameter(name="columns", words="group of its columns, or none", default="precision", help=""),
    Parameter(name="measure", words="column or formula of its cells", default="mfu", help=""),
    Parameter(name="statistic", words="statistic of its cells", kind="choice",
              choices=tuple(STATISTICS), default=next(iter(STATISTICS)), help=""),
    Parameter(name="run", words="ids of the runs side by side", many=MOST),
    Parameter(name="pair", words="workload and system side by side, as their slugs with | between",
              many=MOST, label="Workload and system pairs", help=""),
    *FILTERS,
)  # fmt: skip
SQL: Final = (
    Parameter(name="sql", words="one SELECT statement over the table runs", lines=True,
              longest=LONGEST, label="One SELECT statement over the table `runs`", help=""),
)  # fmt: skip
MEASURE: Final = (
    Parameter(name="max_hours", words="measuring stops then; finished runs are kept",
              kind="number", unit="h", least=1e-3, most=1e6, label="Stop after"),
    Parameter(name="max_cost", words="measuring stops at this cost; needs a price; finished runs "
              "are kept", kind="number", least=1e-3, most=1e6, label="Stop at cost"),
    Parameter(name="price_per_hour", words="price of this machine, if rented", kind="number",
              least=1e-3, most=1e6, label="Machine price"),
    Parameter(name="watts", words="power under load, for the energy where no meter is read",
              kind="number", unit="W", least=1e-3, most=1e6, label="Machine power"),
)  # fmt: skip
"""Limits of a sweep on the page Measure; money is in the currency of the sweep."""
SHARE_DAYS: Final = 14
ADD_RESULTS: Final = {p.name: p for p in (
    Parameter(name="name", words="name of a new set", longest=60, label="Name of the set",
              help=""),
    Parameter(name="licence", words="licence of the numbers", longest=300, help=""),
    Parameter(name="citation", words="citation", longest=300, help=""),
    Parameter(name="url", words="address of the source", longest=300,
              label="Address of the source", help=""),
    Parameter(name="reason", words="why a set is withdrawn", longest=200, help=""),
    Parameter(name="days", words="days until a share link expires, 0 for no end", kind="whole",
              default=SHARE_DAYS, least=0, most=3650, label="Days (0: no end)", help=""),
)}  # fmt: skip
"""Fields of the page Add results."""
FOR_THE_EYE: Final = frozenset({"factor", "kind", "only_differences", "scale", "tab", "tables"})
"""Parameters of the links that only change the view."""
