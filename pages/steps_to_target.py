"""Steps to target: from which batch on more data parallelism stops paying, and the best batch."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import streamlit as st

from pages.parts import asked, step_times, target_lines, target_rows, theme, widgets
from pages.parts.links import Link, slugs
from pages.parts.state import store
from pages.parts.step_times import StepTimes
from pages.parts.target_lines import View
from planner import convergence_tables as tables
from planner import figures
from planner.export import Report, csv_text, html_page
from planner.optimizer_curves import Comparison, compare
from planner.palette import LIGHT_THEME
from planner.store import Store
from planner.store.queries import MOST_TRIALS
from planner.trials import Trials, TrialSet, set_labels, target_text

MOST_OPTIMIZERS = 8


def show() -> None:
    """Draw the page."""
    link = Link("steps-to-target")
    shared = store()
    st.title("Steps to target")
    sets = asked.trial_sets(shared)
    view = _asked(link, shared, sets) if sets else None
    link.write()
    link.tell()
    if not sets:
        widgets.nothing(
            "There is no evaluation curve yet.",
            "No result folder holds a training run with a batch size and an evaluation metric. "
            "The sweep digits-steps-quick makes some in minutes: python -m runners converge "
            "digits-steps-quick.",
            "Look again",
            lambda: None,
            key="steps-to-target.again",
        )
    if view is None:
        return
    if not view.comparison.curves:
        _nothing(link, view)
        return
    sentences = _sentences(view)
    _answer(link, view, sentences, shared)
    _steps_card(view, " ".join(sentences))
    _time_card(link, view, " ".join(sentences))
    _tables(view, shared)


def _asked(link: Link, shared: Store, sets: list[TrialSet]) -> View | None:
    """The boxes above the answer, and the answer to what they ask."""
    labels = slugs(set_labels(sets))
    workload = link.one("workload", list(labels), next(iter(labels)))
    of = sets[list(labels).index(workload)]
    trials = asked.trials(shared, of)
    first, second = st.columns(2, vertical_alignment="bottom")
    first.selectbox(
        "Workload", list(labels), format_func=labels.__getitem__, key=link.key("workload")
    )
    known = slugs(trials.optimizers)
    chosen = link.many("optimizers", list(known), list(known)[:MOST_OPTIMIZERS], MOST_OPTIMIZERS)
    second.multiselect(
        "Optimisers",
        list(known),
        key=link.key("optimizers"),
        format_func=known.__getitem__,
        max_selections=MOST_OPTIMIZERS,
    )
    target = _target(link, trials, asked.targets(shared, of))
    times = step_times.offer(link, shared, of)
    return _view(of, trials, target, [known[c] for c in chosen], times)


def _target(link: Link, trials: Trials, known: tuple[list[float], float | None]) -> float | None:
    """The value to reach, from the easiest to one that nothing reached; None without curves."""
    targets, usual = known
    offered = {f"{t:.6g}": t for t in targets}
    if usual is None or not offered:
        return None
    chosen = link.one("target", list(offered), f"{usual:.6g}")
    shares = trials.in_per_cent
    texts = {k: target_text(t, in_per_cent=shares) for k, t in offered.items()}
    if len(offered) > 1:
        st.select_slider(
            f"Target: {trials.metric}, from easy to strict",
            list(offered),
            key=link.key("target"),
            format_func=texts.__getitem__,
        )
    return offered[chosen]


def _view(
    of: TrialSet, trials: Trials, target: float | None, names: list[str], times: StepTimes
) -> View:
    known = np.nan if target is None else target
    comparison = Comparison(target=known, curves=())
    if names and target is not None:
        comparison = compare(trials, target, names)
    return View(
        of=of,
        trials=trials,
        goal=tables.goal_of(of, trials, known),
        comparison=comparison,
        times=times,
        timings=tables.timings_of(comparison, times.curve),
    )


def _nothing(link: Link, view: View) -> None:
    """No answer: nothing is chosen, or nothing was kept that could be asked."""
    if view.trials.optimizers and np.isfinite(view.comparison.target):
        widgets.nothing(
            "No optimiser is chosen.",
            "No optimiser is left above.",
            "Show the usual ones",
            lambda: link.forget("optimizers"),
            key="steps-to-target.back",
        )
        return
    widgets.nothing(
        "No evaluation was kept with these trials.",
        f"{_several(view.of.trials, 'run')} of this workload name a metric, but none holds its "
        "evaluations, so no target can be asked of them.",
        "Show the first workload",
        lambda: link.forget("workload", "optimizers", "target"),
        key="steps-to-target.first",
    )


def _answer(link: Link, view: View, sentences: list[str], shared: Store) -> None:
    with st.container(border=True):
        st.markdown(f"#### {widgets.answer_text(sentences[0])}")
        for text in sentences[1:]:
            st.markdown(widgets.answer_text(text))
        for text in _remarks(view):
            st.caption(widgets.answer_text(text))
        with widgets.actions():
            widgets.share(link, "\n".join(sentences), "content")
            address = link.url()  # the report is made at the click, when no page is being drawn
            widgets.download(
                "Report",
                lambda: _report(address, view, shared),
                "epochwise-steps-to-target.html",
                key="steps-to-target.report",
                width="content",
            )


def _sentences(view: View) -> list[str]:
    return tables.answer_sentences(
        view.comparison,
        view.goal,
        view.timings,
        place=view.times.place,
        times=view.times.curve,
        own_times=bool(view.times.own),
    )


def _remarks(view: View) -> list[str]:
    """What to know about these numbers, in small print."""
    notes = tables.note_lines(tables.notes_of(view.comparison, view.timings))
    left_out, most = int((~view.trials.counts).sum()), f"{MOST_TRIALS:,}"
    told = [
        tables.caution_of(view.comparison, view.goal),
        *notes,
        tables.noise_sentence(view.comparison),
        view.comparison.reached,
    ]
    if left_out:
        told.append(f"{_several(left_out, 'trial')} kept no evaluation: left out.")
    if view.of.trials > MOST_TRIALS:
        told.append(f"Only the first {most} of {view.of.trials:,} trials are used.")
    return [t for t in (*told, tables.LAW) if t]


def _steps_card(view: View, alt: str) -> None:
    with st.container(border=True):
        st.markdown(f"**Steps to {widgets.answer_text(view.goal.target)} against batch size**")
        if not any(np.isfinite(c.median_steps).any() for c in view.comparison.curves):
            st.caption("Nothing to draw: at no batch did half of the seeds reach this target.")
            return
        figure = target_lines.steps_figure(view, theme.current())
        widgets.chart(figure, "steps-to-target.chart", alt)
        whose = f" of {widgets.answer_text(view.lead.optimizer)}" if view.lead else ""
        best = ", an upright dashed line its best batch" if view.timings else ""
        st.caption(
            "Large markers are medians at the best learning rate, small ones single seeds; lines "
            "are fitted, bands 90\u00a0% for one new median. Thin dashes are perfect scaling, grey "
            f"dashes lie beyond what was measured. Upright bands are the borders{whose} between "
            "perfect scaling, diminishing returns and maximal data parallelism, as wide as their "
            f"interval{best}."
        )


def _time_card(link: Link, view: View, alt: str) -> None:
    times = view.times
    with st.container(border=True):
        st.markdown("**Time to target on a system**")
        step_times.draw(link, times)
        if times.place is None or times.curve is None:
            st.caption(
                "Time to target is steps times step time: choose whose step times to use. Those of "
                "another workload show how the trade works, not how long this one takes."
            )
            return
        drawn = target_lines.time_figure(view, theme.current()) if view.timings else None
        if drawn is None:
            st.caption("Nothing to draw: the answer above says why.")
            return
        widgets.chart(drawn, "steps-to-target.time", alt)
        st.caption(
            "A star is the best batch, bands are 90\u00a0%; grey dashes lie beyond what was "
            "measured for both curves. Half or twice the best batch costs at most an eighth more "
            "time."
        )
        _on_other_counts(view)


def _on_other_counts(view: View) -> None:
    """The same on every number of devices that was timed, where there are several."""
    others = [(t.system, t.devices, c) for t, c in view.times.others]
    if others:
        st.dataframe(
            [target_rows.devices(r) for r in tables.device_rows(view.comparison, others)],
            hide_index=True,
            placeholder="–",
            key="steps-to-target.counts",
            alt="Best batch, time and device-hours for every number of devices",
        )


def _tables(view: View, shared: Store) -> None:
    fits = tables.fit_rows(view.comparison, view.goal, view.times.place, view.timings)
    with st.container(border=True):
        st.markdown("**Critical batch size, least steps and least samples**")
        st.dataframe(
            [target_rows.fit(r) for r in fits],
            hide_index=True,
            placeholder="–",
            key="steps-to-target.table",
            alt="Fitted parameters of every optimiser",
        )
        first, second, third = st.columns(3)
        with first:
            widgets.download(
                "Fits as CSV",
                lambda: csv_text(fits),
                "epochwise-convergence.csv",
                key="steps-to-target.csv",
            )
        with second:
            widgets.download(
                "Batches as CSV",
                lambda: csv_text(tables.batch_rows(view.comparison)),
                "epochwise-batches.csv",
                key="steps-to-target.batches_csv",
            )
        with third:
            widgets.download(
                "Seeds as CSV",
                lambda: csv_text(tables.seed_rows(view.comparison)),
                "epochwise-seeds.csv",
                key="steps-to-target.seeds_csv",
            )
    box = widgets.folded("Every batch at its best learning rate", "table_rows",
                         "steps-to-target.every")  # fmt: skip
    if box.open:
        with box:
            _batches(view)
    box = widgets.folded("Where these numbers come from", "source", "steps-to-target.origin")
    if box.open:
        with box:
            st.dataframe(
                target_rows.sources(view, shared),
                hide_index=True,
                placeholder="–",
                key="steps-to-target.sources",
                alt="Sources of the trials and of the step times",
            )


def _batches(view: View) -> None:
    st.dataframe(
        [target_rows.batch(r) for r in tables.batch_rows(view.comparison)],
        hide_index=True,
        placeholder="–",
        key="steps-to-target.batches",
        alt="Best learning rate, steps and noise scale of every batch",
    )


def _several(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _report(address: str, view: View, shared: Store) -> str:
    sentences = _sentences(view)
    return html_page(
        Report(
            title="Steps to target against batch size",
            sentence=sentences[0],
            notes=[*sentences[1:], *_remarks(view)],
            figure=figures.html(target_lines.steps_figure(view, LIGHT_THEME)),
            table=tables.fit_rows(view.comparison, view.goal, view.times.place, view.timings),
            sources=target_rows.sources(view, shared),
            link=address,
            made=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        )
    )


if __name__ == "__main__":
    show()
