"""The parameters of a comparison, by their names in the page's link.

Currency and exchange rate of the amounts shown, and their problems.

Without a rate, that of the European Central Bank counts, with its date. A rate is stale after 12
months, like any price; it is still used, and marked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final

from planner.answers.comparison._description import (
    DESCRIBED,
    DESCRIPTION,
    OPENING,
    TOTAL_COUNTS,
    described_of,
    with_int8_reason,
)
from planner.answers.comparison._snapshot import made_problem
from planner.answers.comparison.question import (
    EPOCHS,
    MOST_EPOCHS,
    MOST_OPTIONS,
    Request,
)
from planner.catalog import is_stale
from planner.compare import ASSUMPTION_TEXTS, Assumptions
from planner.compare.evaluation import Limits
from planner.core import Given, Parameter, Problem, Text, message_of, query_of, read
from planner.cost import SOURCE, Display, currency_problem, in_usd, reference_rates
from planner.epochs import SAMPLES_PER_EPOCH
from planner.job import Described

_DAY_OF_ZONES: Final = timedelta(days=1)
"""The rate's time zone may be a day ahead."""


def display_of(values: Mapping[str, Any], today: date) -> tuple[Display, tuple[Problem, ...]]:
    """Return the display of money; US dollars where another currency has a problem.

    Args:
        values: currency, rate [units per USD; None: the bank's], rate_as_of and tax [%].
        today: for rates dated in the future, or older than 12 months.
    """
    currency, read_on, rate = values["currency"].upper(), values["rate_as_of"], values["rate"]
    tax_share = values["tax"] / 100.0
    wrong = tuple(_problems(currency, rate, read_on, today))
    if wrong:
        return Display(tax_share=tax_share), wrong
    source = ""
    if rate is None and currency != "USD":
        reference = reference_rates()
        rate, read_on, source = reference.per_usd[currency], reference.as_of, SOURCE
    try:
        return Display(
            currency=currency,
            per_usd=1.0 if rate is None else rate,
            as_of=read_on,
            source=source,
            tax_share=tax_share,
            stale=currency != "USD" and read_on is not None and is_stale(read_on, today),
        ), ()
    except ValueError as error:
        return Display(tax_share=tax_share), (
            Problem(parameter="currency", message=message_of(error)),
        )


def _problems(
    currency: str, rate: float | None, read_on: date | None, today: date
) -> list[Problem]:
    wrong = []
    if read_on is not None and read_on > today + _DAY_OF_ZONES:
        message = Text(
            "{read_on} is after today, {today}. Give the day on which the rate was read.",
            read_on=read_on,
            today=today,
        )
        wrong.append(Problem(parameter="rate_as_of", message=message))
    if letters := currency_problem(currency):
        wrong.append(Problem(parameter="currency", message=letters))
    elif rate is None and currency != "USD":
        reference = reference_rates()
        if currency not in reference.per_usd:
            message = Text(
                "No rate is known for {currency}. Give the units per USD, and the date.",
                currency=currency,
            )
            wrong.append(Problem(parameter="currency", message=message))
        elif read_on is not None and read_on != reference.as_of:
            message = Text(
                "{read_on} has no rate. Give the rate of that day, or leave both "
                "empty for the rate of {as_of} ({source}).",
                read_on=read_on,
                as_of=reference.as_of,
                source=SOURCE,
            )
            wrong.append(Problem(parameter="rate_as_of", message=message))
    return wrong


TARGET_BATCH: Final = (
    "A target is reached at the best batch of each system. Leave batch out, or compare epochs."
)
HOUR_S: Final = 3600.0
MOST_HOURS: Final = 1e6
_MOMENT: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2})(?:([+\- ])([0-9]{2}:[0-9]{2})|Z)"
)
_FIRST: Final = date.min + timedelta(days=2)
_LAST: Final = date.max - timedelta(days=2)

QUESTION: Final = (
    Parameter(name="workload", words="workload slug; `described` for one without measurements; "
              "default: the workload measured on most systems; without any parameter that names "
              "a job, fine-tuning Llama 3 8B on 100M tokens"),
    Parameter(name="pattern", words="input pattern, as its slug; default: the best documented"),
    Parameter(name="goal", words="train for epochs or to a target", kind="choice",
              choices=("epochs", "target"), default="epochs"),
    Parameter(name="epochs",
              words=Text("how many epochs; default: {epochs}, of a described workload 1",
                         epochs=EPOCHS),
              kind="whole", unit="epochs", least=1, most=MOST_EPOCHS),
    SAMPLES_PER_EPOCH,
    Parameter(name="target", words="value of the metric to reach; default: the usual one",
              kind="number", least=-1e9, most=1e9),
    Parameter(name="optimizer", words="optimiser of the target, as its slug"),
    Parameter(name="options", words="ids of options, as `--list options` or `/api/v1/options` "
              "name them: rent-..., buy-..., own-... (already owned), mine-... for one of `own`; "
              "default: the usual ones", many=MOST_OPTIONS),
    Parameter(name="own", words="your own options, way|accelerator|count|price, compared with "
              "`options`. The way is rent, buy or own. The price is that of the whole machine in "
              "USD without tax: rented, per hour (rent|h100-sxm|8|30); bought, with the word "
              "total (buy|h100-sxm|8|250000 total). Without that word, as in older links, it is "
              "the price of each bought accelerator. For another currency append |currency|units "
              "per USD", many=MOST_OPTIONS),
    Parameter(name="order", words="what the options are ranked by", kind="choice",
              choices=("cost", "time"), default="cost"),
    Parameter(name="deadline", words="hours from the start of the work", kind="number", unit="h",
              least=1e-3, most=MOST_HOURS),
    Parameter(name="by", words="day and time to be done by, with its zone, as "
              "2026-11-27T09:00+09:00, if work begins now; in place of deadline"),
    Parameter(name="budget", words="largest total to pay for the job, in the currency shown, "
              "with tax: the bill of a rental, the full price of a purchase and the electricity "
              "of the job", kind="number", least=0.0, most=1e12),
    Parameter(name="cost_limit", words="largest cost of one run, in the same currency; a "
              "purchase counts with its share of a month", kind="number", least=0.0, most=1e12),
    Parameter(name="country", words="country of the electricity, by code or name"),
    Parameter(name="made", words="date and fingerprint of the runs and prices of a shared link: "
              "an answer from others notes it"),
)  # fmt: skip
DISPLAY: Final = (
    Parameter(name="currency", words="currency shown, three letters", default="USD"),
    Parameter(name="rate", words="units of the currency per USD; default: the reference rate of "
              "the European Central Bank, with its date", kind="number", least=1e-6, most=1e9),
    Parameter(name="rate_as_of", words="date of that rate", kind="date"),
    Parameter(name="tax", words="tax added to the amounts shown", kind="number", unit="%",
              default=0.0, least=0.0, most=100.0),
)  # fmt: skip
TARIFF: Final = "tariff_usd_per_kwh"
"""The assumption that the country's price replaces unless entered."""


def _assumption(name: str) -> Parameter:
    text, usual = ASSUMPTION_TEXTS[name], getattr(Assumptions(), name)
    typed = name == TARIFF
    return Parameter(
        name=name,
        words=Text("{words} ({why}; else {usual:g})", words=text.words, why=text.why, usual=usual)
        if typed
        else Text("{words} ({why})", words=text.words, why=text.why),
        kind="number",
        unit="" if text.unit == "1" else text.unit,
        default=None if typed else usual,
        least=text.least,
        most=text.most,
    )


ASSUMED: Final = tuple(_assumption(f.name) for f in fields(Assumptions))
COMPARE: Final = (*QUESTION, *DISPLAY, *DESCRIPTION, *ASSUMED)
"""All parameters of a comparison."""
ALWAYS: Final = ("workload", "pattern", "options", "goal", "epochs", "target", "optimizer")
"""Parameters of every saved question, even at their current defaults."""
STATED: Final = (
    *ALWAYS, "order", "runs_per_month", "currency", "rate", "rate_as_of",
    *(p.name for p in DESCRIPTION),
)  # fmt: skip
"""Parameters of every shared link, even at their current defaults."""
_OF_ANY_JOB: Final = frozenset(
    {"options", "own", "order", "deadline", "by", "budget", "cost_limit", "country", "made"}
    | {p.name for p in (*DISPLAY, *ASSUMED)}
)
"""Parameters that do not name a job."""
_MODIFIES: Final = frozenset(
    {"batch", "training", "recompute", "benchmark", "assumed_mfu", "precision"}
    | {"network_optimizer"}
    | {"step_s", "step_batch", "step_accelerator", "step_count"}
)
"""Parameters of a description that keep the network: alone, that of the opening question."""
_DESCRIBES: Final = frozenset(p.name for p in DESCRIPTION) - _MODIFIES
_ONLY_DESCRIBED: Final = "Only a described workload has it. Give workload=described and a network."
_OF_MEASURED: Final = ("pattern", "target", "optimizer")
_ONLY_MEASURED: Final = "Only a measured workload has it. Leave it out."
BY_NAME: Final = MappingProxyType({p.name: p for p in COMPARE})
VIEW_ONLY: Final = frozenset({"baseline", "chart", "saved", "scale", "show", "tab", "view"})
"""Parameters of a page's link that only change the view."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareParameters:
    """The parsed question; slugs are not looked up yet.

    `described` is the described workload, if `workload` is `described`. `by` is the deadline as a
    date with its zone; None without one, or where it has passed. `values` are all parameters by
    name, to write the link again.
    """

    workload: str = ""
    pattern: str = ""
    samples_per_epoch: float | None = None
    target: float | None = None
    optimizer: str = ""
    request: Request = field(default_factory=Request)
    display: Display = field(default_factory=Display)
    described: Described | None = None
    by: datetime | None = None
    values: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def query(self) -> str:
        """The query string of the same question."""
        return query_of(COMPARE, self.values)

    def whole_query(self, defaults: Mapping[str, Any]) -> str:
        """Return the query string with its current defaults written out, as pages share it.

        Args:
            defaults: values that the answer looked up, by parameter: workload, options ...
        """
        omitted = {p.name for p in DESCRIPTION} if self.described is None else {"goal"}
        by_tokens = self.described is not None and self.described.total_tokens is not None
        epochs = {"epochs": None if by_tokens else self.request.epochs}
        stated = [n for n in STATED if n not in omitted]
        rate = {}
        if self.display.source:  # the bundled rate changes with its package, the link must not
            rate = {"rate": self.display.per_usd, "rate_as_of": self.display.as_of}
        return query_of(COMPARE, {**self.values, **epochs, **rate, **defaults}, stated)


def asks(question: Given) -> bool:
    """Return whether a question says what is trained, or on what; if not, the job is `OPENING`.

    Options, money, limits, own machines and assumptions keep the job of the opening question, as do
    parameters of its training: batch, efficiency, a timed step, precision, adapters.
    """
    return bool((BY_NAME.keys() - _OF_ANY_JOB - _MODIFIES) & question.keys())


def with_job(question: Given) -> Given:
    """Return a question with its job: `OPENING`, or `described` for a description without a name.

    A question about a measured job stays as it is.
    """
    if not asks(question):
        return {**OPENING, **question}
    if "workload" in question or not _DESCRIBES & question.keys():
        return question
    return {**question, "workload": [DESCRIBED]}


def misfits(values: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Return a problem for each value that the job of a question has no use for.

    A description of a measured workload, a pattern or target of a described one, or epochs beside
    total tokens; 1 epoch is one pass over them.
    """
    if values["workload"] == DESCRIBED:
        both = values["total_tokens"] is not None and values["epochs"] not in (None, 1)
        return (
            *(Problem(parameter=n, message=_ONLY_MEASURED) for n in _OF_MEASURED if values[n]),
            *((Problem(parameter="epochs", message=TOTAL_COUNTS),) if both else ()),
        )
    return tuple(
        Problem(parameter=p.name, message=_ONLY_DESCRIBED)
        for p in DESCRIPTION
        if p.name != "batch" and values[p.name] != p.default
    )


def compare_parameters(
    question: Given, ignored: Collection[str] = VIEW_ONLY, begins: datetime | None = None
) -> tuple[CompareParameters, tuple[Problem, ...]]:
    """Return the parsed question and its problems; an invalid value becomes the default.

    Args:
        question: texts by name, as in a query string.
        ignored: further names without a meaning here.
        begins: start of the work, with its zone; None is now, to the minute. Only the hours until
            `by` depend on it, so a link with a date means the same date tomorrow.
    """
    question = with_job(question)
    parsed = read(COMPARE, question, ignored)
    values, problems = parsed.values, [with_int8_reason(p, question) for p in parsed.problems]
    begins = begins or datetime.now(UTC).replace(second=0, microsecond=0)
    if values["made"] and (why := made_problem(values["made"])):
        problems.append(Problem(parameter="made", message=why))
    display, wrong = display_of(values, begins.date())
    problems += wrong
    described = described_of(values, problems) if values["workload"] == DESCRIBED else None
    problems += misfits(values)
    by = _by(values, begins, problems)
    if (
        values["goal"] == "target"
        and values["workload"] != DESCRIBED
        and values["batch"] is not None
    ):
        problems.append(Problem(parameter="batch", message=TARGET_BATCH))
    request = Request(
        epochs=_epochs(values),
        batch=None if values["workload"] == DESCRIBED else values["batch"],
        options=values["options"],
        entries=values["own"],
        limits=Limits(
            order=values["order"],
            deadline_s=_deadline_s(values, by, begins),
            budget_usd=_in_usd(values["budget"], display),
            cost_limit_usd=_in_usd(values["cost_limit"], display),
        ),
        assumed=_assumed(values),
        tariff_typed=values[TARIFF] is not None,
        country=values["country"] or "",
        made=values["made"] or "",
        usd_per=() if display.currency == "USD" else ((display.currency, 1.0 / display.per_usd),),
    )
    asking = CompareParameters(
        workload=values["workload"] or "",
        pattern=values["pattern"] or "",
        samples_per_epoch=values["samples_per_epoch"],
        target=values["target"],
        optimizer=values["optimizer"] or "",
        request=request,
        display=display,
        described=described,
        by=by,
        values=values,
    )
    return asking, tuple(problems)


def moment_of(text: str) -> datetime | None:
    """Return the moment of YYYY-MM-DDThh:mm followed by +hh:mm or Z; None for other texts.

    A plus that is not written as %2B arrives as a space, and is read as a plus.
    """
    match = _MOMENT.fullmatch(text)
    if match is None:
        return None
    clock, sign, zone = match.groups()
    try:
        made = datetime.fromisoformat(f"{clock}{(sign or '+').replace(' ', '+')}{zone or '00:00'}")
    except ValueError:
        return None
    # within two days of the calendar's ends, another zone's time may lie outside it
    return made if _FIRST < made.date() < _LAST else None


def moment_text(moment: datetime) -> str:
    """Return a moment as written in a link: 2026-11-27T09:00+09:00."""
    return moment.isoformat(timespec="minutes")


def moment_words(moment: datetime) -> str:
    """Return a moment in words, with its zone: 'Fri 27 Nov 2026, 09:00 UTC+09:00'."""
    return f"{moment:%a %-d %b %Y, %H:%M} {moment.tzname() or ''}".strip()


def usual_epochs(workload: str) -> int:
    """Return the default epochs of a workload, by its slug."""
    return 1 if workload == DESCRIBED else EPOCHS


def _epochs(values: Mapping[str, Any]) -> int | None:
    """Return the epochs; None for a target, which a described workload cannot have."""
    if values["goal"] == "target" and values["workload"] != DESCRIBED:
        return None
    return values["epochs"] or usual_epochs(values["workload"])


def _assumed(parameters: Mapping[str, Any]) -> Assumptions:
    """Return the assumptions; without an entered price of electricity, the default."""
    values = {f.name: parameters[f.name] for f in fields(Assumptions)}
    if values[TARIFF] is None:
        del values[TARIFF]
    return Assumptions(**values)


def _in_usd(limit: float | None, display: Display) -> float | None:
    """Return a money limit in USD without tax, as costs are computed."""
    return None if limit is None else in_usd(limit, display) / (1.0 + display.tax_share)


def _by(values: Mapping[str, Any], begins: datetime, problems: list[Problem]) -> datetime | None:
    """Return the deadline as a date; one that has passed is reported and ignored."""
    if values["by"] is None:
        return None
    wrong, by = "", moment_of(values["by"])
    if by is None:
        wrong = Text(
            "{by!r} is not a time with its zone. Write 2026-11-27T09:00+09:00.",
            by=values["by"][:40],
        )
    elif by <= begins:
        wrong = Text(
            "{moment_words} has passed, so no deadline applies. Choose a later date.",
            moment_words=moment_words(by),
        )
    elif (by - begins).total_seconds() > MOST_HOURS * HOUR_S:
        wrong = Text(
            "{by:%Y} is more than {most_hours:,.0f} hours ahead. Choose an earlier date.",
            by=by,
            most_hours=MOST_HOURS,
        )
    elif values["deadline"] is not None:
        problems.append(Problem(parameter="deadline", message="by is given too; the date counts."))
    if wrong:
        problems.append(Problem(parameter="by", message=wrong))
    return None if wrong else by


def _deadline_s(values: Mapping[str, Any], by: datetime | None, begins: datetime) -> float | None:
    if by is not None:
        return (by - begins).total_seconds()
    if values["deadline"] is None or values["by"] is not None:
        return None
    return float(values["deadline"]) * HOUR_S
