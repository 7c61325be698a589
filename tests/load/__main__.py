"""Print how the app does under load: `python -m tests.load`, which is `make load`.

Each part ends with a line for programs: name=value, separated by blanks.
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
from collections import Counter
from pathlib import Path

from tests.load.campaign import (
    HASTY_S,
    LATE_S,
    READING_S,
    Campaign,
    Outcome,
    run,
    seconds_at,
    wrong,
)
from tests.load.proxy import ABSENT, executable
from tests.load.questions import PAGES

TARGET_S = 2.0
SOAK_SESSIONS, SOAK_RUNS_PER_S = 10, 0.1
MOST_GROWTH = 0.05
"""Growth of the memory from the second to the last fifth of a soak."""


def main() -> None:
    """Run, check, print."""
    parser = argparse.ArgumentParser(prog="python -m tests.load")
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--answers", type=int, default=40, help="of each session")
    parser.add_argument("--servers", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--runs-per-s", type=float, default=2.0)
    parser.add_argument("--reading", type=float, nargs=2, default=READING_S,
                        metavar=("LEAST_S", "MOST_S"), help="until the next click")  # fmt: skip
    parser.add_argument("--soak", type=float, default=600.0, metavar="SECONDS")
    parser.add_argument("--no-check", action="store_true", help="do not ask again alone")
    given = parser.parse_args()
    for servers in given.servers:
        if servers > 1 and executable() is None:
            print(f"\n{servers} servers: not run. {ABSENT}.")
            continue
        campaign = Campaign(sessions=given.sessions, answers=given.answers,
                            runs_per_s=given.runs_per_s, servers=servers,
                            reading_s=tuple(given.reading))  # fmt: skip
        _tried(campaign, check=not given.no_check)
    if given.soak > 0:
        _soaked(given.soak)


def _tried(campaign: Campaign, *, check: bool) -> None:
    with tempfile.TemporaryDirectory() as box:
        place = Path(box)
        outcome = run(place, campaign)
        differing = wrong(place, outcome) if check else None
    _print(outcome, campaign)
    checked = len(outcome.answers) if differing is not None else 0
    print(f"  {'answers compared with a single user':<52}{checked:>10}")
    print(f"  {f'of them of runs up to {LATE_S:g} s before the click':<52}{len(outcome.late):>10}")
    print(f"  {'of them wrong':<52}{len(differing or ()):>10}")
    for click, times in Counter(a.click for a in differing or ()).most_common(5):
        print(f"    {times} x /{click.page}?{click.query} {click.epochs or ''}")
    _machine(outcome, campaign, len(differing or ()), checked)


def _soaked(seconds: float) -> None:
    campaign = Campaign(sessions=SOAK_SESSIONS, answers=10**9, seconds=seconds,
                        runs_per_s=SOAK_RUNS_PER_S, reading_s=HASTY_S, compared=False)  # fmt: skip
    with tempfile.TemporaryDirectory() as box:
        outcome = run(Path(box), campaign)
    fifths = [_memory_mb(outcome, part) for part in range(5)]
    growth = fifths[-1] / fifths[1] - 1.0
    print(f"\nSoak of {seconds:g} s: {campaign.sessions} sessions, a writer at "
          f"{campaign.runs_per_s:g} runs/s  [load average {outcome.load_average:.1f}]")  # fmt: skip
    print(f"  {'answers':<52}{len(outcome.answers):>10}")
    print(f"  {'errors':<52}{_errors(outcome):>10}")
    for result in outcome.failed[:5]:
        print(f"    {result}")
    for part, value in enumerate(fifths, start=1):
        print(f"  {f'memory of the server, fifth {part} of the time':<52}{value:>10.0f} MB")
    said = "kept" if growth <= MOST_GROWTH else "MISSED"
    print(f"  {'growth from the second to the last fifth':<52}{100 * growth:>10.1f} %"
          f"  target {100 * MOST_GROWTH:g}: {said}")  # fmt: skip
    print(f"soak: seconds={seconds:g} answers={len(outcome.answers)} errors={_errors(outcome)} "
          f"growth={growth:.4f} rss_mb={fifths[-1]:.0f}")  # fmt: skip


def _memory_mb(outcome: Outcome, fifth: int) -> float:
    """Return the median memory of a fifth of the time [MB]; nan without samples."""
    low, high = (outcome.seconds * (fifth + more) / 5 for more in (0, 1))
    looks = [mb for at, mb in outcome.memory if low <= at < high]
    return statistics.median(looks) if looks else math.nan


def _errors(outcome: Outcome) -> int:
    return len(outcome.failed) + sum(bool(a.page.errors) for a in outcome.answers)


def _print(outcome: Outcome, campaign: Campaign) -> None:
    rate = len(outcome.answers) / outcome.seconds
    many = "1 server" if campaign.servers == 1 else f"{campaign.servers} servers behind nginx"
    print(f"\n{many}: {campaign.sessions} sessions x {campaign.answers} answers, a writer at "
          f"{campaign.runs_per_s:g} runs/s  [load average {outcome.load_average:.1f}]")  # fmt: skip
    least, most = campaign.reading_s
    print(f"  {'time to read an answer':<52}{f'{least:g} to {most:g}':>10} s")
    print(f"  {'answers':<52}{len(outcome.answers):>10}")
    print(f"  {'answers a second':<52}{rate:>10.1f} /s")
    for share in (0.5, 0.95, 1.0):
        name = "longest" if share == 1.0 else f"p{100 * share:.0f}"
        value = seconds_at(share, outcome.answers)
        said = f"  target {TARGET_S:g}: {'kept' if value <= TARGET_S else 'MISSED'}"
        print(f"  {name:<52}{value:>10.2f} s{said if share == 0.95 else ''}")
    for page in PAGES:
        own = [a for a in outcome.answers if a.click.page == page]
        times = "  ".join(f"{seconds_at(s, own):.2f}" for s in (0.5, 0.95))
        size = sum(a.page.bytes_received for a in own) / max(len(own), 1) / 1e3
        name = page
        print(f"    {name:<18}{len(own):>5} answers, p50 and p95 {times} s, {size:.0f} kB each")
    print(f"  {'runs written':<52}{len(outcome.written):>10}")
    print(f"  {'errors':<52}{_errors(outcome):>10}")
    for result in outcome.failed[:5]:
        print(f"    {result}")
    print(f"  {'memory of all servers':<52}{outcome.rss_mb:>10.0f} MB")
    cpu = outcome.server_cpu_s / outcome.seconds
    print(f"  {'cores the servers used':<52}{cpu:>10.2f}")
    each = 1e3 * outcome.server_cpu_s / max(len(outcome.answers), 1)
    print(f"  {'processor time of the servers for an answer':<52}{each:>10.0f} ms")


def _machine(outcome: Outcome, campaign: Campaign, differing: int, checked: int) -> None:
    result = {
        "servers": campaign.servers,
        "sessions": campaign.sessions,
        "runs_per_s": f"{campaign.runs_per_s:g}",
        "reading_s": "-".join(f"{value:g}" for value in campaign.reading_s),
        "answers": len(outcome.answers),
        "answers_per_s": f"{len(outcome.answers) / outcome.seconds:.2f}",
        "p50_s": f"{seconds_at(0.5, outcome.answers):.3f}",
        "p95_s": f"{seconds_at(0.95, outcome.answers):.3f}",
        "max_s": f"{seconds_at(1.0, outcome.answers):.3f}",
        "checked": checked,
        "late": len(outcome.late),
        "wrong": differing,
        "errors": _errors(outcome),
        "cpu_ms": f"{1e3 * outcome.server_cpu_s / max(len(outcome.answers), 1):.0f}",
        "rss_mb": f"{outcome.rss_mb:.0f}",
        "load_average": f"{outcome.load_average:.1f}",
    }
    print("load: " + " ".join(f"{name}={value}" for name, value in result.items()))


if __name__ == "__main__":
    main()
