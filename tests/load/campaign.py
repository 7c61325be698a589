"""Users, a writer and the real server; then the same questions asked by one user alone.

An answer is right if it is, byte for byte, the page that a single user gets on a fresh server over
one of the states of the data that there were between the click and the answer: the runs that were
committed before the click belong to it, those committed after the answer do not.
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Final, TypeVar

import psutil

from tests.browser.server import ROOT, served
from tests.load import writer
from tests.load.questions import PAGES, Click, clicks
from tests.load.visitor import Page, Visitor

Result = TypeVar("Result")

THINK_S: Final = 0.6
"""Users wait 0 to this long between an answer and the next click."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """How many users click for how long, and how many runs a second are written meanwhile."""

    sessions: int = 30
    seconds: float = 60.0
    runs_per_s: float = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A click, how long its answer took, and which states of the data it may be about."""

    click: Click
    took_s: float
    earliest: int
    latest: int
    page: Page


@dataclass(slots=True)
class Outcome:
    """What a campaign saw; `written` are the runs' files in the order of their commits."""

    answers: list[Answered] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    written: list[Path] = field(default_factory=list)
    seconds: float = 0.0
    rss_mb: float = 0.0
    server_cpu_s: float = 0.0
    load_average: float = 0.0


def run(place: Path, campaign: Campaign) -> Outcome:
    """Let users click while a writer commits runs into `place`/further."""
    further = place / "further"
    writer.begin(further)
    outcome = Outcome()
    with served(place / "results", further=further, fresh=True) as url:
        _run(_crowd(url, further, outcome, campaign))
    return outcome


def wrong(place: Path, outcome: Outcome) -> list[Answered]:
    """The answers that a single user does not get; the runs are committed again, one by one."""
    further, stash = place / "further", place / "written"
    further.rename(stash)
    writer.begin(further)
    with served(place / "results", further=further, fresh=True) as url:
        return _run(_one_by_one(url, stash, further, outcome))


def _run(work: Coroutine[None, None, Result]) -> Result:
    """Run on a thread of its own: a browser of other tests may hold a loop on this one."""
    with ThreadPoolExecutor(1) as alone:
        return alone.submit(asyncio.run, work).result()


async def _crowd(url: str, further: Path, outcome: Outcome, campaign: Campaign) -> None:
    async with Visitor(url) as first:  # a warm server: every page was opened once
        for page in PAGES:
            await first.click(page, "")
    server = _process_at(url)
    cpu = sum(server.cpu_times()[:2])
    began = time.monotonic()
    end = began + campaign.seconds
    async with _writing(further, campaign.runs_per_s, outcome.written):
        users = [_user(url, number, end, outcome) for number in range(campaign.sessions)]
        await asyncio.gather(*users)
    outcome.seconds = time.monotonic() - began
    outcome.rss_mb = server.memory_info().rss / 1e6
    outcome.server_cpu_s = sum(server.cpu_times()[:2]) - cpu
    outcome.load_average = os.getloadavg()[0]


async def _user(url: str, number: int, end: float, outcome: Outcome) -> None:
    thinks = random.Random(1000 + number)
    try:
        async with Visitor(url) as visitor:
            for click in clicks(number):
                await asyncio.sleep(thinks.uniform(0.0, THINK_S))
                if time.monotonic() > end:
                    return
                before, asked = len(outcome.written), time.monotonic()
                page = await _ask(visitor, click)
                outcome.answers.append(
                    Answered(
                        click=click,
                        took_s=time.monotonic() - asked,
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
async def _writing(folder: Path, runs_per_s: float, written: list[Path]) -> AsyncIterator[None]:
    """A writer process beside; `written` grows with every run that it has committed."""
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
            written.append(Path(line.decode().strip()))

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
        written += sorted(kept - set(written))  # at most one: committed and never said


async def _one_by_one(url: str, stash: Path, further: Path, outcome: Outcome) -> list[Answered]:
    open_ones = list(outcome.answers)
    for state in count():
        mine = defaultdict(list)
        for answer in open_ones:
            if answer.earliest <= state <= answer.latest:
                mine[answer.click].append(answer)
        for click, given in mine.items():
            digest = (await _alone(url, click)).digest
            for answer in given:
                if answer.page.digest == digest:
                    open_ones.remove(answer)
        if state == len(outcome.written):
            return open_ones
        path = outcome.written[state]
        shutil.copyfile(stash / path.relative_to(further), path.with_name(f".{path.name}"))
        path.with_name(f".{path.name}").rename(path)
    raise AssertionError("unreachable")


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
