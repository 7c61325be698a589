"""The answer of Compare hardware at a glance: tiles and one line, and the options as cards."""

from collections.abc import Mapping, Sequence

from pages.common import tiles
from pages.compare import state
from pages.compare.state import CompareReply
from planner import figures
from planner.compare import (
    ShortAnswer,
    limits_phrase,
    limits_words,
    pays_up_front,
    short_answer,
)
from planner.compare.comparison import Comparison, Row
from planner.core import plain, sentence_case
from planner.cost import amount_texts, shown
from planner.report import comparison_charts


def draw(reply: CompareReply, comparison: Comparison) -> None:
    """Draw the best option: time, cost, and how likely it meets the limits."""
    answer, made = state.drawn(reply, "tiles", "", lambda: _made(reply, comparison))
    if answer.row is None:
        tiles.draw("No answer", [], line=answer.line, tied=False)
        return
    tiles.draw(
        answer.row.candidate.label,
        made,
        badge=answer.badge,
        line=answer.line,
        tied=answer.tied,
    )


def _made(reply: CompareReply, comparison: Comparison) -> tuple[ShortAnswer, list[figures.Tile]]:
    names = comparison_charts.short_names([r.candidate for r in comparison.rows])
    answer = short_answer(comparison, names, reply.display)
    return answer, [] if answer.row is None else _tiles(reply, comparison, answer.row)


def summary(reply: CompareReply | None) -> list[str]:
    """Return the question in few words: job, amount, limits."""
    comparison = None if reply is None else reply.answered.comparison
    if reply is None or comparison is None:
        return ["The question"]
    of = comparison.question
    return [of.job.name, of.goal.words, limits_words(of.limits, reply.display)]


def _tiles(reply: CompareReply, comparison: Comparison, row: Row) -> list[figures.Tile]:
    limits, factor = comparison.question.limits, shown(1.0, reply.display)
    money = reply.display.currency
    first = pays_up_front(row) and row.to_pay is not None
    budget = None if limits.budget_usd is None else limits.budget_usd * factor
    bound = None if limits.cost_limit_usd is None else limits.cost_limit_usd * factor
    made = [
        figures.time_tile("Time of a run", row.time, limit_s=limits.deadline_s),
        figures.number_tile("Cost of a run", row.cost, money, factor=factor, write=amount_texts,
                            limit=bound if first or bound is not None else budget),
    ]  # fmt: skip
    if first and row.to_pay is not None:
        made.append(figures.number_tile("To pay first", row.to_pay, money, factor=factor,
                                        write=amount_texts, limit=budget))  # fmt: skip
    if row.in_time is not None:
        made.append(figures.share_tile(sentence_case(limits_phrase(limits)), row.in_time))
    elif len(comparison.answered) > 1 and row.cheapest is not None and row.fastest is not None:
        by_cost = limits.order == "cost"
        label = f"{'Cheapest' if by_cost else 'Fastest'} of {len(comparison.answered)}"
        made.append(figures.share_tile(label, row.cheapest if by_cost else row.fastest))
    return made


def cards(
    comparison: Comparison, rows: Sequence[Mapping[str, str | float | int | None]], money: str
) -> list[figures.Card]:
    """Return the rows of the table as cards, best first."""
    slots = comparison_charts.colours([r.candidate for r in comparison.rows])
    return [
        _card(row, slots[option.candidate.id], money)
        for option, row in zip(comparison.rows, rows, strict=True)
    ]


def _card(row: Mapping[str, str | float | int | None], slot: int, money: str) -> figures.Card:
    in_time, batch = row["in_time"], row["batch"]
    chance = "" if in_time is None else f"{figures.share_text(float(in_time) / 100.0)} %"
    cost = "" if row["cost"] is None else f"{plain(float(row['cost']))} {money}"
    notes = [
        "" if batch is None else f"batch {plain(float(batch))}",
        str(row["basis"] or ""),
        str(row["price"] or ""),
    ]
    return figures.Card(
        title=str(row["short"]),
        slot=slot,
        end=str(row["rank"] or ""),
        values=(
            (str(row["time"] or ""), str(row["time_range"] or "")),
            (cost, str(row["cost_range"] or "")),
            (chance, "meets limits"),
        ),
        note=str(row["why"])
        if row["why"] and row["time"] is None
        else " · ".join(filter(None, notes)),
    )
