"""The answer in sentences: the headline first, then why, then what follows."""

from typing import Final

from planner.core import (
    LEAST_DIGITS,
    Estimate,
    Refusal,
    Text,
    in_words,
    interval,
    joined,
    paragraph,
    percent,
    plain,
    plural,
    rounded_ends,
    several,
    written_ends,
)
from planner.core.slugs import BADGE
from planner.scaling import MEASURE_LINK
from planner.scaling_out._answer import CountAnswer, Crossing, SeriesAnswer, UnevenAnswer, outside
from planner.throughput import rounded_estimate, size, with_interval

HOST_SHARE: Final = 0.5
"""Share of overhead in a step from which the host sets the pace: batches below v0 t."""
SEEN: Final = 0.02
"""Share of a step below which its overhead is next to nothing."""
SLOW_LINK: Final = 2.0
"""Overhead of a step over that of one device from which the interconnect is slow."""


def sentences(answer: SeriesAnswer) -> list[str]:
    """Return the headline, its reasons, and what follows for batch, time, money and workers."""
    parts = [
        _headline(answer),
        *_crossings(answer),
        _efficiency(answer),
        link_sentence(answer),
        *limit_sentences(answer),
        *_uneven(answer),
        _guess(answer),
        _unmeasured_link(answer),
        _outside(answer),
    ]
    return [text for text in parts if text]


def best_of(answer: SeriesAnswer) -> CountAnswer | None:
    """Return the fastest measured count at the headline's batch; None without an answer."""
    estimated = [
        r
        for r in answer.shown
        if isinstance(r.speed, Estimate) and r.devices in answer.series.counts
    ]
    return max(estimated, key=lambda r: float(r.speed.value), default=None)  # type: ignore[union-attr]


def host_share(answer: SeriesAnswer) -> float | None:
    """Return the share of overhead in the step of the smallest count; None where unknown."""
    first = next((r for r in answer.shown if r.devices == answer.series.base), None)
    if first is None or first.parts is None or not first.parts.total_s:
        return None
    return first.parts.overhead_s / first.parts.total_s


def link_ratio(answer: SeriesAnswer) -> float | None:
    """Return overhead with the link over that without it, at the fewest devices with one.

    None where the overhead of a step is next to nothing: a ratio to it has no meaning.
    """
    rows = [r for r in answer.shown if r.devices > 1 and r.parts and r.devices in
            answer.series.counts]  # fmt: skip
    if not rows or rows[0].parts is None:
        return None
    if rows[0].parts.overhead_s < SEEN * rows[0].parts.total_s:
        return None
    return 1.0 + rows[0].parts.link_s / rows[0].parts.overhead_s


def _headline(answer: SeriesAnswer) -> str:
    """Return whether more devices pay at the largest batch, with the largest gain."""
    best, base = best_of(answer), answer.series.base
    where = _where(answer)
    if best is None:
        refused = next((r.step for r in answer.shown if isinstance(r.step, Refusal)), None)
        why = () if refused is None else (refused.reason, refused.measure_next)
        return paragraph(Text("No answer {where}.", where=where), *why)
    host = host_sentence(answer)
    if isinstance(best.speed_up, Refusal):
        missing, none = best.speed_up, Text("No comparison {where}.", where=where)
        return paragraph(none, missing.reason, missing.measure_next)
    if best.devices == base:
        fastest = plural(
            base,
            "No: {where}, {count} device is fastest.",
            "No: {where}, {count:,} devices are fastest.",
            where=where,
        )
        return paragraph(fastest, _slower(answer), host)
    gain = best.speed_up
    value, ends = _ratio(gain)
    words = Text("{gain} times as fast as {base}{ends}", gain=value, base=base, ends=ends)
    if float(gain.low) <= 1.0 <= float(gain.high):  # never of a published law, without interval
        tied = Text(
            "Too close to call: {where}, {devices} are {words}.",
            where=where,
            devices=devices(best.devices),
            words=words,
        )
        return paragraph(tied, host)
    yes = joined(", ", ("Yes", _from(answer, best)))
    pays = Text(
        "{yes}: {where}, {devices} are {words}.",
        yes=yes,
        where=where,
        devices=devices(best.devices),
        words=words,
    )
    return paragraph(pays, host)


def _from(answer: SeriesAnswer, best: CountAnswer) -> str:
    """Return from which global batch the best count wins; "" where the batch grows with it."""
    crossing = next(
        (c.batch for c in answer.crossings if c.devices == best.devices and not c.is_driver), None
    )
    if answer.hold == "device" or not isinstance(crossing, Estimate):
        return ""
    return Text("from batch {crossing} on", crossing=size(crossing.value))


def _ratio(of: Estimate) -> tuple[str, str]:
    """Return a ratio as its interval allows, and the interval in brackets; "" without one."""
    value, low, high = of.ends
    if not low <= high:
        return plain(value, LEAST_DIGITS), ""
    value, low, high = rounded_ends(value, low, high)
    return plain(value), f" ({percent(of.level)}: {plain(low)} to {plain(high)})"


def _slower(answer: SeriesAnswer) -> str:
    """Return how much slower the most measured devices are; "" without a number."""
    last = next((r for r in answer.shown if r.devices == answer.series.counts[-1]), None)
    if last is None or isinstance(last.speed_up, Refusal) or last.devices == 1:
        return ""
    gain = float(last.speed_up.value)
    if gain >= 1.0 or gain <= 0.0:
        return ""
    return Text(
        "{devices} take {gain} times as long per sample.",
        devices=devices(last.devices),
        gain=_inverse(last.speed_up),
    )


def host_sentence(answer: SeriesAnswer) -> str:
    """Return that the work is too small for the device, where it is."""
    share = host_share(answer)
    if share is None or share < HOST_SHARE:
        return ""
    return Text(
        "Too small for this device: the host sets the pace, as overhead is {share} of a step.",
        share=percent(share),
    )


def _where(answer: SeriesAnswer) -> str:
    return _where_at(answer, answer.batches[-1])


def _where_at(answer: SeriesAnswer, held: float) -> str:
    batch, badge = batch_text(held), BADGE if answer.standing else ""
    return (
        Text("at global batch {batch}{badge}", batch=batch, badge=badge)
        if answer.hold == "global"
        else Text("at batch {batch} per device{badge}", batch=batch, badge=badge)
    )


def _crossings(answer: SeriesAnswer) -> list[str]:
    """Return from which batch the measured counts win, most devices last."""
    chosen = [c for c in answer.crossings if c.devices in answer.series.counts]
    own, other = ([c for c in chosen if c.is_driver is d] for d in (False, True))
    return [text for c in (*own[-1:], *other[-1:]) if (text := crossing_sentence(c))]


def crossing_sentence(crossing: Crossing) -> str:
    """Return from which global batch a device count wins; "" where the runs show none."""
    other = devices(crossing.other_devices)
    other = Text("the driver's {other}", other=other) if crossing.is_driver else other
    if isinstance(crossing.batch, Refusal):
        return f"{devices(crossing.devices)} against {other}: {crossing.batch.reason}"
    batch = rounded_estimate(crossing.batch)
    faster = plural(
        crossing.devices,
        "{count} device is faster than {other} from global batch {batch} on.",
        "{count:,} devices are faster than {other} from global batch {batch} on.",
        other=other,
        batch=with_interval(size(batch.value), batch, size),
    )
    return paragraph(faster, _runs(crossing))


def _runs(crossing: Crossing) -> str:
    lost = (
        ""
        if crossing.slower_at is None
        else Text("slower at {slower_at}", slower_at=size(crossing.slower_at))
    )
    won = (
        ""
        if crossing.faster_at is None
        else Text("faster at {faster_at}", faster_at=size(crossing.faster_at))
    )
    both = " and ".join(text for text in (lost, won) if text)
    return Text("Measured runs are {both}.", both=both) if both else ""


def _efficiency(answer: SeriesAnswer) -> str:
    """Return the efficiency of the most measured devices, and what a sample costs there."""
    row = next((r for r in answer.shown if r.devices == answer.series.counts[-1]), None)
    if row is None or isinstance(row.efficiency, Refusal) or row.devices == answer.series.base:
        return ""
    share = float(row.efficiency.value)
    return Text(
        "Efficiency of {devices}: {share}{percents}; a sample costs {times} times "
        "as much as on {base}.",
        devices=devices(row.devices),
        share=percent(share),
        percents=_percents(row.efficiency),
        times=_inverse(row.efficiency),
        base=answer.series.base,
    )


def _inverse(estimate: Estimate) -> str:
    """Return 1/value, rounded as the interval allows."""
    value, low, high = (1.0 / float(n) for n in (estimate.value, estimate.high, estimate.low))
    return written_ends(value, low, high, 3)[0] if low <= high else plain(value, LEAST_DIGITS)


def _percents(estimate: Estimate) -> str:
    low, high = float(estimate.low), float(estimate.high)
    if not low <= high:
        return ""
    return f" ({percent(estimate.level)}: {percent(low)} to {percent(high)})"


def link_sentence(answer: SeriesAnswer) -> str:
    """Return that the interconnect is slow, where it is."""
    overhead = link_ratio(answer)
    if overhead is None:
        return _link_share(answer)
    if overhead < SLOW_LINK:
        return ""
    return Text(
        "The interconnect is slow: with it a step's overhead is {overhead} times "
        "that of one device.",
        overhead=plain(overhead, 2),
    )


def _link_share(answer: SeriesAnswer) -> str:
    """Return that the interconnect takes most of a step on the most measured devices."""
    last = next((r for r in answer.shown if r.devices == answer.series.counts[-1]), None)
    if last is None or last.parts is None or last.parts.link_s < HOST_SHARE * last.parts.total_s:
        return ""
    share = percent(last.parts.link_s / last.parts.total_s)
    return Text(
        "The interconnect is slow: it takes {share} of a step of {devices}.",
        share=share,
        devices=devices(last.devices),
    )


def limit_sentences(answer: SeriesAnswer) -> list[str]:
    """Return the counts for deadline and budget, where they are asked, or what is missing."""
    texts, question = [], answer.question
    if question.deadline_s is not None:
        row = answer.best_in_time
        limit = in_words(question.deadline_s)
        texts.append(
            _unmet(
                answer,
                Text("No count finishes within {limit}", limit=limit),
                Text("Deadline of {limit}", limit=limit),
            )
            if row is None or row.total is None
            else Text(
                "{devices}: the fewest that finish within {limit}, in {time}.",
                devices=devices(row.devices),
                limit=limit,
                time=interval(*row.total.total.ends),
            )
        )
    if question.budget_usd is not None:
        row = answer.best_in_budget
        money = f"{question.budget_usd:,.2f} USD"
        texts.append(
            _no_cost(answer, money)
            if row is None or row.total is None
            else Text(
                "{devices}: the fastest for at most {money}, {time} at {cost} USD.",
                devices=devices(row.devices),
                money=money,
                time=interval(*row.total.total.ends),
                cost=plain(row.total.cost_usd or 0.0, LEAST_DIGITS),
            )
        )
    return texts


def _unmet(answer: SeriesAnswer, unmet: str, limit: str) -> str:
    """Return that no count meets a limit, or which number is missing to compare with it."""
    if answer.question.samples_per_epoch is None:
        return Text("{limit}: samples per epoch are missing. Enter them.", limit=limit)
    if not any(r.total for r in answer.shown):
        return Text("{limit}: no device count has a step time.", limit=limit)
    return Text("{unmet}.", unmet=unmet)


def _no_cost(answer: SeriesAnswer, money: str) -> str:
    """Return that no count costs as little, or which number is missing."""
    if answer.question.price_usd_per_hour is None:
        return Text(
            "Budget of {money}: the price is missing. Enter the price of a device-hour.",
            money=money,
        )
    return _unmet(
        answer,
        Text("No count costs at most {money}", money=money),
        Text("Budget of {money}", money=money),
    )


def _uneven(answer: SeriesAnswer) -> list[str]:
    """Return what a slow worker costs, where one is described."""
    rows = [u for u in answer.uneven if u.devices in answer.series.counts]
    if not rows or not (answer.question.slow or answer.question.spread):
        return []
    return [uneven_sentence(rows[-1])]


def uneven_sentence(row: UnevenAnswer) -> str:
    """Return synchronous against asynchronous training with uneven workers."""
    slower = row.step_s / row.even_step_s
    faster = row.free.samples_per_s / row.synchronous_samples_per_s
    pace = "The parameter server sets the pace." if row.free.server_limits else ""
    if row.is_asynchronous:
        left = row.free.samples_per_s * row.even_step_s / row.batch
        without = Text(
            "{cause}, {devices} without waiting have {left} times their samples/s. Synchronous "
            "steps would have {slower} times.",
            cause=_cause(row),
            devices=devices(row.devices),
            left=plain(left, LEAST_DIGITS),
            slower=plain(1.0 / slower, LEAST_DIGITS),
        )
        return paragraph(without, pace)
    both = Text(
        "{cause} a synchronous step of {devices} takes {slower} times as long. Asynchronous "
        "training has {faster} times its samples/s.",
        cause=_cause(row),
        devices=devices(row.devices),
        slower=plain(slower, LEAST_DIGITS),
        faster=plain(faster, LEAST_DIGITS),
    )
    return paragraph(both, pace)


def _cause(row: UnevenAnswer) -> str:
    """Return how the workers are uneven: one stopped, scatter, both or neither."""
    scatter = Text("a scatter of {spread}", spread=percent(row.spread)) if row.spread else ""
    if not row.slow:
        return f"With {scatter}" if scatter else "With even workers"
    stopped = Text("With one worker stopped {slow} of the time", slow=percent(row.slow))
    return Text("{stopped} and {scatter}", stopped=stopped, scatter=scatter) if scatter else stopped


def _guess(answer: SeriesAnswer) -> str:
    """Return that the headline's step was not measured, or which counts are far from measured."""
    best, most = best_of(answer), answer.series.counts[-1]
    if best is not None and isinstance(best.step, Estimate) and not best.measured_s:
        where = Text(
            "No run of {devices} was {where}", devices=devices(best.devices), where=_where(answer)
        )
        if answer.series.is_published:
            return ""
        if best.step.basis == "similar workload":
            return Text("{where}: the step is estimated from similar workloads.", where=where)
        return Text("{where}: the step is {basis}.", where=where, basis=best.step.basis)
    far = [r.devices for r in answer.shown if r.devices > 2 * most]
    if not far:
        return ""
    return Text(
        "Low confidence: {far} devices are more than twice the {most} measured.",
        far=far[-1],
        most=most,
    )


def _unmeasured_link(answer: SeriesAnswer) -> str:
    """Return from which count on nodes are joined that no run crossed; "" where none are."""
    counts = answer.series.counts
    if any(answer.series.nodes_for(n) > 1 for n in counts):
        return ""
    crossed = [r for r in answer.shown if r.nodes > 1 and isinstance(r.step, Estimate)]
    if not crossed:
        return ""
    return paragraph(
        Text(
            "{devices} need {nodes} nodes, and no run crossed from one node to another.",
            devices=devices(crossed[0].devices),
            nodes=crossed[0].nodes,
        ),
        MEASURE_LINK[2],
    )


def _outside(answer: SeriesAnswer) -> str:
    """Return the measured step that its fit misses most, and the count of others; "" if none."""
    missed = outside(answer)
    if not missed:
        return ""
    first, more = missed[0], len(missed) - 1
    rest = plural(more, "{count} more step is too.", "{count} more steps are too.")
    worst = Text(
        "{devices} {where} took {seen} s, outside the fit's interval of {low} to {high} s.",
        devices=devices(first.row.devices),
        where=_where_at(answer, first.row.held),
        seen=plain(first.seen_s, 3),
        low=plain(float(first.fit.low), 3),
        high=plain(float(first.fit.high), 3),
    )
    return paragraph(worst, rest if more else "")


def batch_text(batch: float) -> str:
    """Return a batch as it is: whole samples, or three digits of a part: 512, 33.5, 0.47."""
    return f"{batch:,.0f}" if batch >= 1000.0 or batch == round(batch) else plain(batch, 3)


def devices(count: int) -> str:
    """Return a device count in words."""
    return several(count, "device")
