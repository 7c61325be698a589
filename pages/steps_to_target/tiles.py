"""The answer of Steps to target at a glance: one optimiser as tiles, and one line."""

from collections.abc import Mapping, Sequence

from pages.common import tiles
from pages.steps_to_target.lines import TargetView
from planner import figures
from planner.convergence import ConvergenceCurve
from planner.core import Estimate, Text, plural
from planner.job import StatedTime
from planner.time_to_target import fastest_two, stated_lead, stated_name


def draw(view: TargetView, sentence: str) -> None:
    """Draw the answer; `sentence` is its first one, for an answer without numbers."""
    if view.stated:
        _stated(view)
    elif view.lead is not None:
        _fitted(view)
    else:
        tiles.draw("No answer", [], line=sentence, tied=False)


def _fitted(view: TargetView) -> None:
    """Draw the optimiser with the shortest time, else the first with a curve."""
    lead = view.lead
    assert lead is not None  # noqa: S101 - checked by `draw`
    law = lead.curve
    if not isinstance(law, ConvergenceCurve):
        return
    timing = view.timings.get(lead.optimizer)
    made = [
        figures.number_tile("Diminishing returns beyond batch", law.critical_batch_size, "samples",
                            limit=law.largest_measured, limit_word="measured to"),
    ]  # fmt: skip
    if timing is not None and isinstance(timing.best, Estimate):
        made.append(figures.number_tile("Best batch", timing.best, "samples"))
        made.append(figures.time_tile("Time to target there", timing.least_s))
    else:
        made.append(figures.number_tile("Least steps", law.min_steps, "steps"))
        made.append(figures.number_tile("Least samples", law.min_samples, "samples"))
    line, tied = _line(view, lead.optimizer)
    place = view.times.placed.get(lead.optimizer)
    badge = place.place.phrase if place is not None and timing is not None else ""
    tiles.draw(view.goal.of(lead.optimizer), made, badge=badge, line=line, tied=tied)


def _line(view: TargetView, optimizer: str) -> tuple[str, bool]:
    two = fastest_two(view.timings)
    if two is not None and two[0] == optimizer:
        _, other, tied = two
        return (
            (Text("Too close to call with {other}.", other=other), True)
            if tied
            else (Text("Faster than {other}.", other=other), False)
        )
    if not view.times.chosen:
        return "Choose step times below for the best batch.", False
    return "", False


def _stated(view: TargetView) -> None:
    fastest = min(view.stated, key=lambda t: t.seconds[0])
    typical = max(view.stated, key=lambda t: (len(t.seconds), -t.hardware.count))
    runs = sum(len(t.seconds) for t in view.stated)
    least_s = fastest.seconds[0]
    published = Estimate(value=least_s, low=least_s, high=least_s, basis="published")
    made = [
        figures.time_tile("Fastest published run", published,
                          note=f"on {stated_name(fastest)}"),
        figures.time_tile("Most runs: median", _spread(typical),
                          note=f"on {stated_name(typical)}", ends_are="fastest to slowest"),
    ]  # fmt: skip
    line, tied = stated_lead(view.stated)
    tiles.draw(
        f"{view.goal.trained} to {view.goal.target}",
        made,
        badge=plural(runs, "1 published run", "{count:,} published runs"),
        line=line,
        tied=tied,
    )


def _spread(time: StatedTime) -> Estimate:
    """Return the median of runs between the fastest and the slowest."""
    return Estimate(value=time.median_s, low=time.seconds[0], high=time.seconds[-1],
                    basis="published")  # fmt: skip


def cards(rows: Sequence[Mapping[str, object]]) -> list[figures.Card]:
    """Return the fits as cards."""
    return [
        figures.Card(
            title=str(row.get("Optimiser") or row.get("Network") or ""),
            values=(
                (str(row.get("Bcrit (samples)") or ""), "Bcrit"),
                (str(row.get("Best batch") or ""), "best batch" if row.get("Best batch") else ""),
                (str(row.get("Time there") or ""), "there" if row.get("Time there") else ""),
            ),
            note=str(row.get("Notes") or row.get("Basis") or ""),
        )
        for row in rows
    ]
