"""Cached answers of the planner for the page Compare hardware.

The same functions answer the command and the HTTP interface (`planner.answers._asking`), so equal
questions have equal numbers. Draws need memory, so only the last answers are kept.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Final, TypeVar

from pages.common import hardware, kept
from pages.common.link import Parameters
from planner.answers import compare_facts, question
from planner.answers.comparison import (
    Answered,
    CompareParameters,
    JobFacts,
    Offered,
    OfferedOption,
    Request,
    answered_whole,
    choices_of,
    compare_parameters,
)
from planner.core import ParameterProblem
from planner.core.slugs import slugs
from planner.cost import Display
from planner.store import Store
from planner.store.kept import Kept

Answer = TypeVar("Answer")
_MOST: Final = 64
"""Cached answers; each holds some hundred kilobytes of draws."""
_KEPT: Final = Kept(_MOST)
_OFFERED: Final = Kept(_MOST)
"""Facts and options of jobs: an answer has one of each, and several records of its own."""
_DRAWN: Final = Kept(4 * _MOST)
"""Figures and rows of answers; each holds some kilobytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareReply:
    """An answered question: `key` identifies it, `problems` are its errors.

    `by` is the deadline where it is a date. `wrong_step`: the timed step cannot be used, so the
    answer is not shown.
    """

    key: Hashable
    answered: Answered
    facts: JobFacts
    request: Request
    display: Display
    problems: tuple[str, ...]
    by: datetime | None = None
    wrong_step: bool = False


def once(key: Hashable, compute: Callable[[], Answer]) -> Answer:
    """Return the cached answer of a question, or compute it."""
    return _KEPT.once(key, compute)


def clear() -> None:
    """Forget all answers."""
    for kept_answers in (_KEPT, _OFFERED, _DRAWN):
        kept_answers.clear()


def drawn(reply: CompareReply, what: str, of: Hashable, make: Callable[[], Answer]) -> Answer:
    """Return the cached figure or rows of an answer, or make them.

    Args:
        reply: the answer.
        what: name of the figure or table.
        of: all that they depend on besides the answer and its currency.
        make: computes them.
    """
    return _DRAWN.once((what, reply.key, reply.display, of), make)


def today() -> date:
    """Return today's date (UTC), for the age of prices."""
    return datetime.now(UTC).date()


def of_state(shared: Store, asking: CompareParameters) -> Hashable:
    """Return a key of an answer's data: the runs of the job, the catalogue, the date."""
    places = (*(f.path for f in shared.folders), hardware.SHIPPED, hardware.folder())
    stamps = (*hardware.stamps(), today())
    return shared.serial, places, _of_runs(shared, asking), stamps


def _of_runs(shared: Store, asking: CompareParameters) -> Hashable:
    """Return a key of the runs behind a job's answers; of all runs where there is no such job.

    These are its own runs, runs of other workloads for the scatter of epochs and the speed of
    accelerators, and the trials of its network.
    """
    library = kept.library(shared)
    if asking.described is not None:
        return library
    trained = list(kept.trained_workloads(shared))
    named = kept.workload_names(shared)
    workload = named.get(asking.workload) if asking.workload else next(iter(trained), None)
    if workload not in trained:
        return shared.generation
    patterns = kept.patterns(shared, workload)
    priors = tuple(kept.priors(shared, workload, pattern) for pattern in patterns)
    trials: Hashable = None
    if asking.request.epochs is None:  # without trials the answer names other workloads
        of = kept.trial_set_of(shared, workload)
        version = kept.trials_version(shared, of) if of else 0
        trials = (*kept.trial_sets(shared), version)
    return workload, tuple(slugs(patterns)), shared.version(workload), priors, library, trials


def facts(shared: Store, parameters: Parameters) -> tuple[JobFacts | None, tuple[str, ...]]:
    """Return the facts of the job, and the problems of names that cannot be looked up."""
    asking, _ = compare_parameters(parameters)
    key = ("facts", of_state(shared, asking), _job_key(asking))
    return _OFFERED.once(key, lambda: _facts(shared, asking))


def _facts(shared: Store, asking: CompareParameters) -> tuple[JobFacts | None, tuple[str, ...]]:
    problems: list[ParameterProblem] = []
    job_facts = compare_facts(shared, hardware.catalog().catalog, asking, problems)
    return job_facts, tuple(map(str, problems))


def _job_key(asking: CompareParameters) -> Hashable:
    target = (asking.target, asking.optimizer) if asking.request.epochs is None else None
    size = asking.samples_per_epoch
    return asking.workload, asking.pattern, asking.described, target, size


def offered(
    shared: Store, parameters: Parameters, begins: datetime | None = None
) -> Offered | None:
    """Return all options of the job and the defaults; None without a job.

    With a deadline or a budget the defaults are options likely to meet them. Work starts at
    `begins`, or now.
    """
    asking, _ = compare_parameters(parameters, begins=begins)
    job_facts, _ = facts(shared, parameters)
    return None if job_facts is None else _offered(shared, asking, job_facts)


def _offered(shared: Store, asking: CompareParameters, job_facts: JobFacts) -> Offered:
    offers = question.offers_key(asking.request, job_facts)
    key = ("offered", of_state(shared, asking), _job_key(asking), offers)
    return _OFFERED.once(key, lambda: question.offered(asking.request, job_facts, today()))


def choices(
    shared: Store, parameters: Parameters, begins: datetime | None = None
) -> tuple[OfferedOption, ...]:
    """Return all options of the job as rows to choose from; empty without a job."""
    asking, _ = compare_parameters(parameters, begins=begins)
    job_facts, _ = facts(shared, parameters)
    if job_facts is None:
        return ()
    offers = question.offers_key(asking.request, job_facts)
    key = ("choices", of_state(shared, asking), _job_key(asking), offers, asking.display)
    shown = _offered(shared, asking, job_facts)
    return _OFFERED.once(key, lambda: choices_of(shown.candidates, job_facts.job, asking.display))


def usd_per(parameters: Parameters) -> dict[str, float]:
    """Return US dollars per unit of the currency shown; empty for USD."""
    return dict(compare_parameters(parameters)[0].request.usd_per)


def reply(
    shared: Store, parameters: Parameters, begins: datetime | None = None
) -> CompareReply | None:
    """Return the answer to a link; None without such a job. Work starts at `begins`, or now."""
    asking, invalid = compare_parameters(parameters, begins=begins)
    job_facts, gone = facts(shared, parameters)
    if job_facts is None:
        return None
    key = ("answer", of_state(shared, asking), _job_key(asking), asking.request)
    shown = _offered(shared, asking, job_facts)
    answered = once(key, lambda: answered_whole(asking.request, job_facts, today(), shown))
    return CompareReply(
        key=key,
        answered=answered,
        facts=job_facts,
        request=asking.request,
        display=asking.display,
        problems=(*map(str, invalid), *gone, *answered.problems),
        by=asking.by,
        wrong_step=any(problem.startswith("step_") for problem in gone),
    )


def alike(reply: CompareReply, problems: Sequence[str]) -> CompareReply:
    """Return the answer with other problems."""
    return replace(reply, problems=tuple(problems))
