"""What one may ask of a comparison, by the names in the page's link."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final

from planner.answers.comparison._currency import display_asked
from planner.answers.comparison._description import (
    DESCRIBED,
    DESCRIPTION,
    OPENING,
    described_of,
    precision_told,
)
from planner.answers.comparison._made import made_problem
from planner.answers.comparison.question import (
    EPOCHS,
    MOST_EPOCHS,
    MOST_OPTIONS,
    Asked,
)
from planner.compare import ASSUMPTION_TEXTS, Assumptions
from planner.compare.reckon import Wanted
from planner.core import Given, Parameter, Problem, query_of, read
from planner.cost import Display, in_usd
from planner.epochs import SAMPLES_PER_EPOCH
from planner.job import Described

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
    Parameter(name="workload", words="what is trained, as its slug; `described` for one not "
              "measured; without it the one of most systems, or, where nothing is asked at all, "
              "fine-tuning Llama 3 8B on 100M tokens"),
    Parameter(name="pattern", words="input pattern, as its slug; without it the best known"),
    Parameter(name="goal", words="so many epochs, or until a target is reached", kind="choice",
              choices=("epochs", "target"), default="epochs"),
    Parameter(name="epochs", words="how many epochs", kind="whole", unit="epochs", default=EPOCHS,
              least=1, most=MOST_EPOCHS),
    SAMPLES_PER_EPOCH,
    Parameter(name="target", words="value of the metric to reach; without it the usual one",
              kind="number", least=-1e9, most=1e9),
    Parameter(name="optimizer", words="optimiser that gets to the target, as its slug"),
    Parameter(name="options", words="ids of options, as `--list options` or `/api/v1/options` name "
              "them: rent-..., buy-..., own-... for what is there, mine-... for one of `own`; "
              "without them the usual", many=MOST_OPTIONS),
    Parameter(name="own", words="options of your own, way|accelerator|count|price, compared beside "
              "`options`. The way is rent, buy or own, the price without tax in USD: an hour for "
              "all of them together where rented (rent|h100-sxm|8|30), for EACH one with "
              "its part of the machine where bought (buy|h100-sxm|8|31250); behind it "
              "|currency|units for one USD", many=MOST_OPTIONS),
    Parameter(name="order", words="what the options are ranked by", kind="choice",
              choices=("cost", "time"), default="cost"),
    Parameter(name="deadline", words="hours from the start of the work", kind="number", unit="h",
              least=1e-3, most=MOST_HOURS),
    Parameter(name="by", words="day and time to be done by, with its zone, as "
              "2026-11-27T09:00+09:00, if work begins now; in place of deadline"),
    Parameter(name="budget", words="money that may be paid to get the job done, in the currency "
              "that is shown, its tax in it: what a rental bills, the whole price of what is "
              "bought and the electricity of the job", kind="number", least=0.0, most=1e12),
    Parameter(name="cost_limit", words="cost of one run at most, in the same money; what is bought "
              "counts with its part of a month", kind="number", least=0.0, most=1e12),
    Parameter(name="country", words="whose electricity is paid, by code or name"),
    Parameter(name="made", words="day and digits of the runs and prices that a shared link was "
              "made with: an answer from others says so"),
)  # fmt: skip
DISPLAY: Final = (
    Parameter(name="currency", words="in which money is shown, three letters", default="USD"),
    Parameter(name="rate", words="units of the currency per USD; default: the reference rate of "
              "the European Central Bank, with its date", kind="number", least=1e-6, most=1e9),
    Parameter(name="rate_as_of", words="day on which that rate was read", kind="date"),
    Parameter(name="tax", words="tax that is added to what is shown", kind="number", unit="%",
              default=0.0, least=0.0, most=100.0),
)  # fmt: skip
TARIFF: Final = "tariff_usd_per_kwh"
"""The assumption that a country replaces unless it was entered."""


def _assumption(name: str) -> Parameter:
    told, usual = ASSUMPTION_TEXTS[name], getattr(Assumptions(), name)
    typed = name == TARIFF
    return Parameter(
        name=name,
        words=f"{told.words.lower()} ({told.why}{f'; else {usual:g}' if typed else ''})",
        kind="number",
        unit="" if told.unit == "1" else told.unit,
        default=None if typed else usual,
        least=told.least,
        most=told.most,
    )


ASSUMED: Final = tuple(_assumption(one.name) for one in fields(Assumptions))
COMPARE: Final = (*QUESTION, *DISPLAY, *DESCRIPTION, *ASSUMED)
"""Everything a comparison can be asked."""
ALWAYS: Final = ("workload", "pattern", "options", "goal", "epochs", "target", "optimizer")
"""Kept in a saved question even where they are the default of the day."""
STATED: Final = (
    *ALWAYS, "order", "runs_per_month", "currency", "rate", "rate_as_of",
    *(p.name for p in DESCRIPTION),
)  # fmt: skip
"""In every link that is shared, even where they are the default of the day."""
_DESCRIBES: Final = frozenset({"network", "params", "flops", "total_tokens"})
BY_NAME: Final = MappingProxyType({p.name: p for p in COMPARE})
VIEW_ONLY: Final = frozenset({"baseline", "chart", "saved", "scale", "show", "view"})
"""What a page's link may hold besides, for the eye only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareParameters:
    """The question as it was asked; slugs are not looked up yet.

    `described` is the workload by hand where `workload` says so. `by` is the deadline as a date,
    with its zone, None where none is asked for or it has passed. `values` are all parameters by
    name, so that the link can be written again.
    """

    workload: str = ""
    pattern: str = ""
    samples_per_epoch: float | None = None
    target: float | None = None
    optimizer: str = ""
    asked: Asked = field(default_factory=Asked)
    display: Display = field(default_factory=Display)
    described: Described | None = None
    by: datetime | None = None
    values: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def query(self) -> str:
        """The query string that asks the same."""
        return query_of(COMPARE, self.values)

    def whole_query(self, found: Mapping[str, Any]) -> str:
        """Return the query string with the defaults of the day written out, as pages share it.

        Args:
            found: what the answer looked up by itself, by parameter: its workload, options ...
        """
        unsaid = {"epochs"} if self.asked.epochs is None else set()
        unsaid |= {p.name for p in DESCRIPTION} if self.described is None else {"goal"}
        if self.described is not None and self.described.total_tokens is not None:
            unsaid |= {"epochs"}
        stated = [n for n in STATED if n not in unsaid]
        rate = {}
        if self.display.source:  # the bundled rate changes with its package, the link must not
            rate = {"rate": self.display.per_usd, "rate_as_of": self.display.as_of}
        return query_of(COMPARE, {**self.values, **rate, **found}, stated)


def asks(given: Given) -> bool:
    """Return whether a question asks anything: without, `OPENING` is asked.

    A link that only changes a price or a deadline keeps asking about the workload of most systems.
    """
    return bool(BY_NAME.keys() & given.keys())


def described_given(given: Given) -> Given:
    """Return a question with its workload: what describes one without naming it is described."""
    if "workload" in given or not _DESCRIBES & given.keys():
        return given
    return {**given, "workload": [DESCRIBED]}


def compare_parameters(
    given: Given, ignored: Collection[str] = VIEW_ONLY, begins: datetime | None = None
) -> tuple[CompareParameters, tuple[Problem, ...]]:
    """What is asked, and everything that is wrong with it; the default stands where it is.

    Args:
        given: texts by name, as a query string has them.
        ignored: further names that mean nothing here.
        begins: when the work would start, with its zone; without it now, to the minute. Only hours
            until `by` depend on it, so a link with a date promises the same date tomorrow.
    """
    given = described_given(given if asks(given) else {**given, **OPENING})
    found = read(COMPARE, given, ignored)
    told, problems = found.values, [precision_told(p, given) for p in found.problems]
    begins = begins or datetime.now(UTC).replace(second=0, microsecond=0)
    if told["made"] and (why := made_problem(told["made"])):
        problems.append(Problem(parameter="made", message=why))
    display, wrong = display_asked(told, begins.date())
    problems += wrong
    described = described_of(told, problems) if told["workload"] == DESCRIBED else None
    by = _by(told, begins, problems)
    if told["goal"] == "target" and told["workload"] != DESCRIBED and told["batch"] is not None:
        problems.append(Problem(parameter="batch", message=TARGET_BATCH))
    asked = Asked(
        epochs=told["epochs"] if told["goal"] == "epochs" else None,
        batch=None if told["workload"] == DESCRIBED else told["batch"],
        options=told["options"],
        entries=told["own"],
        wanted=Wanted(
            order=told["order"],
            deadline_s=_deadline_s(told, by, begins),
            budget_usd=_in_usd(told["budget"], display),
            cost_limit_usd=_in_usd(told["cost_limit"], display),
        ),
        assumed=_assumed(told),
        tariff_typed=told[TARIFF] is not None,
        country=told["country"] or "",
        made=told["made"] or "",
        usd_per=() if display.currency == "USD" else ((display.currency, 1.0 / display.per_usd),),
    )
    asking = CompareParameters(
        workload=told["workload"] or "",
        pattern=told["pattern"] or "",
        samples_per_epoch=told["samples_per_epoch"],
        target=told["target"],
        optimizer=told["optimizer"] or "",
        asked=asked,
        display=display,
        described=described,
        by=by,
        values=told,
    )
    return asking, tuple(problems)


def moment_of(text: str) -> datetime | None:
    """The moment of YYYY-MM-DDThh:mm with +hh:mm or Z behind it; None of anything else.

    A plus that was not written as %2B reaches us as a space, and is read as the plus it was.
    """
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None
    clock, sign, zone = found.groups()
    try:
        made = datetime.fromisoformat(f"{clock}{(sign or '+').replace(' ', '+')}{zone or '00:00'}")
    except ValueError:
        return None
    # Two days from an end of the calendar, another zone's time may lie outside it.
    return made if _FIRST < made.date() < _LAST else None


def moment_text(moment: datetime) -> str:
    """A moment as it stands in a link: 2026-11-27T09:00+09:00."""
    return moment.isoformat(timespec="minutes")


def moment_words(moment: datetime) -> str:
    """A moment as people say it, with its zone: 'Fri 27 Nov 2026, 09:00 UTC+09:00'."""
    return f"{moment:%a %-d %b %Y, %H:%M} {moment.tzname() or ''}".strip()


def _assumed(told: Mapping[str, Any]) -> Assumptions:
    """Return the assumptions; without an entered price of electricity, the default."""
    values = {f.name: told[f.name] for f in fields(Assumptions)}
    if values[TARIFF] is None:
        del values[TARIFF]
    return Assumptions(**values)


def _in_usd(limit: float | None, display: Display) -> float | None:
    """A limit in money as costs are computed: in USD, without the tax that is shown."""
    return None if limit is None else in_usd(limit, display) / (1.0 + display.tax_share)


def _by(told: Mapping[str, Any], begins: datetime, problems: list[Problem]) -> datetime | None:
    """Return the deadline as a date; one that has passed is reported and ignored."""
    if told["by"] is None:
        return None
    wrong, by = "", moment_of(told["by"])
    if by is None:
        wrong = f"{told['by'][:40]!r} is no time with its zone. Write 2026-11-27T09:00+09:00."
    elif by <= begins:
        wrong = f"{moment_words(by)} has passed, so no deadline applies. Choose a later date."
    elif (by - begins).total_seconds() > MOST_HOURS * HOUR_S:
        wrong = f"{by:%Y} is more than {MOST_HOURS:,.0f} hours ahead. Choose an earlier date."
    elif told["deadline"] is not None:
        problems.append(Problem(parameter="deadline", message="given beside by; the date counts."))
    if wrong:
        problems.append(Problem(parameter="by", message=wrong))
    return None if wrong else by


def _deadline_s(told: Mapping[str, Any], by: datetime | None, begins: datetime) -> float | None:
    if by is not None:
        return (by - begins).total_seconds()
    if told["deadline"] is None or told["by"] is not None:
        return None
    return float(told["deadline"]) * HOUR_S
