"""The report of a plan of machines: a page of summary, then an appendix."""

from __future__ import annotations

from planner.capacity import CapacityAnswer
from planner.cost import Display
from planner.figures.frame import LIGHT_THEME
from planner.report import _capacity_charts as charts
from planner.report._answer import AnswerReport, Chart, Table, answer_page
from planner.report._capacity_tables import fleet_rows, job_rows, line_rows, waiting_rows
from planner.report._letterhead import NO_LETTERHEAD, Letterhead


def capacity_page(
    answer: CapacityAnswer, display: Display, *, link: str, made: str,
    letterhead: Letterhead = NO_LETTERHEAD,
) -> str:  # fmt: skip
    """Return the report of an answer as HTML.

    Args:
        answer: with a fleet.
        display: currency and tax of all amounts.
        link: the address of the live view, or "".
        made: date of the report, in words.
        letterhead: who hands it out, and to whom.
    """
    breaks = answer.breaks
    notes = [*answer.chips]
    if breaks is not None:
        job = f"{breaks.job}: " if breaks.job else ""
        notes.append(f"{job}{breaks.sentence} {breaks.fix}".strip())
    if answer.measure_next is not None:
        notes.append(answer.measure_next.sentence)
    notes += answer.notes
    drawn = [
        Chart(title="Cost over the plan", spec=charts.costs(answer, display, LIGHT_THEME),
              alt="" if answer.costs is None else answer.costs.sentence,
              caption="" if answer.costs is None else answer.costs.sentence),
        Chart(title="Utilisation by month", spec=charts.months(answer, LIGHT_THEME),
              alt="Work of each month by machine"),
        Chart(title="Waiting time by job", spec=charts.waiting(answer, LIGHT_THEME),
              alt="Waiting times of each job",
              caption="Blue: median wait. Orange: longest wait of a run that ends in time."),
    ]  # fmt: skip
    if answer.side_by_side is not None:
        drawn.append(Chart(title=answer.side_by_side.title, alt=answer.side_by_side.sentence,
                           spec=charts.side_by_side(answer, display, LIGHT_THEME),
                           caption=answer.side_by_side.sentence))  # fmt: skip
    tables = [
        Table(title="Machines", rows=fleet_rows(answer, display)),
        Table(title="Jobs", rows=job_rows(answer)),
        Table(title="Waiting times", rows=waiting_rows(answer)),
        *(Table(title=lines.title, rows=line_rows(lines, display))
          for lines in (answer.costs, answer.side_by_side) if lines is not None),
    ]  # fmt: skip
    return answer_page(
        AnswerReport(
            title="Machines for a month of jobs", sentence=answer.sentence, made=made,
            link=link, notes=notes, tiles=charts.tiles(answer), charts=drawn, tables=tables,
            sources=[dict(row) for row in answer.sources], letterhead=letterhead,
        )
    )  # fmt: skip
