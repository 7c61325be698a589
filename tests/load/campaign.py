"""Users, a writer and real servers; then the same questions asked by one user alone.

An answer is right if it is, byte for byte, the page that a single user gets on a fresh server over
the state of the data that the answer states. That is one of those between the click and the answer:
the runs committed before the click belong to it, those committed after the answer do not.
"""

from __future__ import annotations

import asyncio
import math
import os
import random
import shutil
import sys
import time
from bisect import bisect
from collections import defaultdict
from collections.abc import AsyncIterator, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

import psutil

from tests.browser.server import ROOT, served
from tests.load import writer
from tests.load.proxy import proxied
from tests.load.questions import PAGES, Click, clicks
from tests.load.visitor import Page, Visitor

Result = TypeVar("Result")

READING_S: Final = (0.5, 3.0)
"""Users read an answer for between these times before the next click; drawn anew each time."""
HASTY_S: Final = (0.0, 0.6)
"""The same of users who hardly read: more answers in the same time."""
LATE_S: Final = 30.0
"""A busy machine may leave a page at the runs of so long before the click, and no longer."""
WATCH_S: Final = 5.0
"""Time between two looks at the memory of the servers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """How many users get how many answers each, and how many runs a second are written meanwhile.

    A user reads an answer for a time within `reading_s` before the next click, and stops after
    `seconds`. Two or more servers stand behind the proxy. Answers may lack the runs of the last
    `late_s` before the click: a look at the folder that takes longer than a moment leaves the page
    at the earlier runs (`Reader.refresh`), as on a machine in use.
    `fresh` servers have imported nothing before, as figures need; others are forks. What is not
    `compared` later is not kept: an hour of answers is 10 GB.
    """

    sessions: int = 50
    answers: int = 40
    seconds: float = math.inf
    runs_per_s: float = 2.0
    servers: int = 1
    reading_s: tuple[float, float] = READING_S
    late_s: float = 0.0
    fresh: bool = True
    compared: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A click, how long its answer took, and which states of the data it may be about.

    `oldest` is the state `LATE_S` before the click.
    """

    click: Click
    took_s: float
    oldest: int
    earliest: int
    latest: int
    page: Page


@dataclass(slots=True)
class Outcome:
    """What a campaign saw; `written` are the runs' files in the order of their commits.

    `memory` has the resident bytes of all servers at times of the campaign, as ([s], [MB]).
    `late` answers are about runs of up to `LATE_S` before the click (`wrong` finds them).
    """

    answers: list[Answered] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    written: list[Path] = field(default_factory=list)
    written_at: list[float] = field(default_factory=list)
    seconds: float = 0.0
    rss_mb: float = 0.0
    memory: list[tuple[float, float]] = field(default_factory=list)
    server_cpu_s: float = 0.0
    load_average: float = 0.0
    late: list[Answered] = field(default_factory=list)


def run(place: Path, campaign: Campaign) -> Outcome:
    """Let users click while a writer commits runs into `place`/further."""
    further = place / "further"
    writer.begin(further)
    outcome = Outcome()
    with ExitStack() as stack:
        urls = [
            stack.enter_context(served(place / "results", further=further, fresh=campaign.fresh))
            for _ in range(campaign.servers)
        ]
        behind = campaign.servers > 1
        url = stack.enter_context(proxied(place / "proxy", urls)) if behind else urls[0]
        _run(_crowd(url, urls, further, outcome, campaign))
    return outcome


def wrong(place: Path, outcome: Outcome, *, fresh: bool = True) -> list[Answered]:
    """The answers that a single user does not get; the runs are committed again, one by one.

    Each answer states the count of runs that it is about, so it is compared at that state only.
    Answers about a state of up to `LATE_S` before the click go to `outcome.late`.
    """
    further, stash = place / "further", place / "written"
    further.rename(stash)
    writer.begin(further)
    with served(place / "results", further=further, fresh=fresh) as url:
        return _run(_one_by_one(url, stash, further, outcome))


def _run(work: Coroutine[None, None, Result]) -> Result:
    """Run on a thread of its own: a browser of other tests may hold a loop on this one."""
    with ThreadPoolExecutor(1) as alone:
        return alone.submit(asyncio.run, work).result()


async def _crowd(
    url: str, servers: Sequence[str], further: Path, outcome: Outcome, campaign: Campaign
) -> None:
    for each in servers:
        async with Visitor(each) as first:  # a warm server: every page was opened once
            for page in PAGES:
                await first.click(page, "")
    processes = [_process_at(each) for each in servers]
    cpu = sum(sum(p.cpu_times()[:2]) for p in processes)
    began = time.monotonic()
    end = began + campaign.seconds
    watching = asyncio.create_task(_watch_memory(processes, began, outcome))
    async with _writing(further, campaign.runs_per_s, outcome):
        users = [_user(url, number, end, campaign, outcome) for number in range(campaign.sessions)]
        await asyncio.gather(*users)
    watching.cancel()
    outcome.seconds = time.monotonic() - began
    outcome.rss_mb = _memory_mb(processes)
    outcome.server_cpu_s = sum(sum(p.cpu_times()[:2]) for p in processes) - cpu
    outcome.load_average = os.getloadavg()[0]


async def _watch_memory(
    processes: Sequence[psutil.Process], began: float, outcome: Outcome
) -> None:
    while True:
        outcome.memory.append((time.monotonic() - began, _memory_mb(processes)))
        await asyncio.sleep(WATCH_S)


def _memory_mb(processes: Sequence[psutil.Process]) -> float:
    return float(sum(p.memory_info().rss for p in processes)) / 1e6


async def _user(url: str, number: int, end: float, campaign: Campaign, outcome: Outcome) -> None:
    reading = random.Random(1000 + number)
    try:
        async with Visitor(url) as visitor:
            for click in islice(clicks(number), campaign.answers):
                await asyncio.sleep(reading.uniform(*campaign.reading_s))
                if time.monotonic() > end:
                    return
                asked = time.monotonic()
                before = bisect(outcome.written_at, asked - campaign.late_s)
                page = await _ask(visitor, click)
                if not campaign.compared:
                    outcome.failed += page.errors
                    page = Page(deltas={}, host=b"", bytes_received=page.bytes_received)
                outcome.answers.append(
                    Answered(
                        click=click,
                        took_s=time.monotonic() - asked,
                        oldest=bisect(outcome.written_at, asked - LATE_S),
                        earliest=before,
                        latest=len(outcome.written) + 1,  # one may be committed and not yet said
                        page=page,
                    )
                )
    except Exception as error:  # noqa: BLE001 - whatever a user meets is counted and shown
        outcome.failed.append(f"user {number}: {type(error).__name__}: {error}"[:300])


async def _ask(visitor: Visitor, click: Click) -> Page:
    if click.epochs is None:
        return await visitor.click(click.page, click.query)
    return await visitor.click(click.page, visitor.query, ("how-long.epochs", click.epochs))


@asynccontextmanager
async def _writing(folder: Path, runs_per_s: float, outcome: Outcome) -> AsyncIterator[None]:
    """A writer process beside; the outcome grows with every run that it has committed."""
    if runs_per_s <= 0:
        yield
        return
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.load.writer", str(folder), str(runs_per_s),
        cwd=ROOT, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    lines = process.stdout

    async def listen() -> None:
        while line := await lines.readline():
            outcome.written.append(Path(line.decode().strip()))
            outcome.written_at.append(time.monotonic())

    listening = asyncio.create_task(listen())
    try:
        yield
    finally:
        if process.returncode is not None:
            raise RuntimeError(f"The writer ended by itself with {process.returncode}.")
        process.terminate()
        await process.wait()
        await listening
        kept = {p for name in writer.SETS for p in (folder / name).glob("[!.]*.parquet")}
        outcome.written += sorted(
            kept - set(outcome.written)
        )  # at most one: committed and never said


async def _one_by_one(url: str, stash: Path, further: Path, outcome: Outcome) -> list[Answered]:
    none = (await _alone(url, Click(page=PAGES[0], query=""))).runs
    stated: defaultdict[int, defaultdict[Click, list[Answered]]]
    stated = defaultdict(lambda: defaultdict(list))
    for answer in outcome.answers:
        stated[answer.page.runs - none][answer.click].append(answer)
    wrong_ones = []
    for state, path in enumerate([None, *outcome.written]):
        if path is not None:
            hidden = path.with_name(f".{path.name}")
            shutil.copyfile(stash / path.relative_to(further), hidden)
            hidden.rename(path)
        for click, answers in stated.pop(state, {}).items():
            digest = (await _alone(url, click)).digest
            for answer in answers:
                if answer.page.digest != digest or not answer.oldest <= state <= answer.latest:
                    wrong_ones.append(answer)
                elif state < answer.earliest:
                    outcome.late.append(answer)
    never = (a for clicks_of in stated.values() for answers in clicks_of.values() for a in answers)
    return [*wrong_ones, *never]


async def _alone(url: str, click: Click) -> Page:
    """What a fresh session gets that opens the link, and types the number where one was typed."""
    async with Visitor(url) as visitor:
        page = await visitor.click(click.page, click.query)
        return page if click.epochs is None else await _ask(visitor, click)


def _process_at(url: str) -> psutil.Process:
    """The server: the child of this process that was started on that port."""
    port = url.rpartition(":")[2]
    return next(c for c in psutil.Process().children() if port in c.cmdline())


def seconds_at(share: float, answers: Sequence[Answered]) -> float:
    """The time within which that share of the answers came [s]."""
    took = sorted(a.took_s for a in answers)
    return took[min(len(took) - 1, int(share * len(took)))] if took else float("nan")
