"""Print how the app does under load: `python -m tests.load`, which is `make load`.

The last line is for programs: name=value, separated by blanks.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

from tests.load.campaign import THINK_S, Campaign, Outcome, run, seconds_at, wrong
from tests.load.questions import PAGES

TARGET_S = 2.0


def main() -> None:
    """Run, check, print."""
    parser = argparse.ArgumentParser(prog="python -m tests.load")
    parser.add_argument("--sessions", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--runs-per-s", type=float, default=2.0)
    parser.add_argument("--no-check", action="store_true", help="do not ask again alone")
    given = parser.parse_args()
    campaign = Campaign(sessions=given.sessions, seconds=given.seconds, runs_per_s=given.runs_per_s)
    with tempfile.TemporaryDirectory() as box:
        place = Path(box)
        outcome = run(place, campaign)
        differing = None if given.no_check else wrong(place, outcome)
    _print(outcome, campaign)
    checked = len(outcome.answers) if differing is not None else 0
    print(f"  {'answers compared with a single user':<52}{checked:>10}")
    print(f"  {'of them wrong':<52}{len(differing or ()):>10}")
    for click, times in Counter(a.click for a in differing or ()).most_common(5):
        print(f"    {times} x /{click.page}?{click.query} {click.epochs or ''}")
    _machine(outcome, campaign, len(differing or ()), checked)


def _print(outcome: Outcome, campaign: Campaign) -> None:
    rate = len(outcome.answers) / outcome.seconds
    errors = len(outcome.failed) + sum(bool(a.page.errors) for a in outcome.answers)
    print(f"\n{campaign.sessions} sessions, a writer at {campaign.runs_per_s:g} runs/s  "
          f"[load average {outcome.load_average:.1f}]")  # fmt: skip
    print(f"  {'think time':<52}{f'0 to {THINK_S}':>10} s")
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
    print(f"  {'errors':<52}{errors:>10}")
    for result in outcome.failed[:5]:
        print(f"    {result}")
    print(f"  {'memory of the server':<52}{outcome.rss_mb:>10.0f} MB")
    cpu = outcome.server_cpu_s / outcome.seconds
    print(f"  {'cores the server used':<52}{cpu:>10.2f}")
    each = 1e3 * outcome.server_cpu_s / max(len(outcome.answers), 1)
    print(f"  {'processor time of the server for an answer':<52}{each:>10.0f} ms")


def _machine(outcome: Outcome, campaign: Campaign, differing: int, checked: int) -> None:
    result = {
        "sessions": campaign.sessions,
        "runs_per_s": f"{campaign.runs_per_s:g}",
        "answers": len(outcome.answers),
        "answers_per_s": f"{len(outcome.answers) / outcome.seconds:.2f}",
        "p50_s": f"{seconds_at(0.5, outcome.answers):.3f}",
        "p95_s": f"{seconds_at(0.95, outcome.answers):.3f}",
        "max_s": f"{seconds_at(1.0, outcome.answers):.3f}",
        "checked": checked,
        "wrong": differing,
        "errors": len(outcome.failed) + sum(bool(a.page.errors) for a in outcome.answers),
        "cpu_ms": f"{1e3 * outcome.server_cpu_s / max(len(outcome.answers), 1):.0f}",
        "rss_mb": f"{outcome.rss_mb:.0f}",
        "load_average": f"{outcome.load_average:.1f}",
    }
    print("load: " + " ".join(f"{name}={value}" for name, value in result.items()))


if __name__ == "__main__":
    main()
