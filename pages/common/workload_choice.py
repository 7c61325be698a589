"""The choice of a workload (by kind, then by typing a part of its name) and of its target."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.common import fields, kept
from pages.common.link import Link
from planner.answers.comparison import BY_NAME
from planner.core import text_of, value_of
from planner.networks import KINDS, kind_of
from planner.store import Store

FEW: Final = 20
"""Most workloads that are listed without a choice of kind."""
MANY: Final = 2_000
"""From this count on, the shown kind is chosen first: each draw sends all options."""
ALL: Final = "All"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadOptions:
    """The options of one page's box: labels by slug.

    `kinds` are the kinds by slug; an option without a kind is offered under every kind.
    """

    link: Link
    labels: Mapping[str, str]
    kinds: Mapping[str, str]

    @property
    def is_by_kind(self) -> bool:
        """Whether the choice of a kind is drawn: many workloads of more than one kind."""
        return len(self.labels) > FEW and len(set(self.kinds.values())) > 1

    def options(self) -> list[str]:
        """Return the slugs of the chosen kind."""
        kind = self._kind() if self.is_by_kind else ALL
        return (
            [s for s in self.labels if kind == self.kinds.get(s, kind)]
            if kind != ALL
            else [*self.labels]
        )

    def alike(self, workload: str, also: Collection[str] = ()) -> list[str]:
        """Return the slugs of a workload's kind, and those of `also`; all where they are few."""
        if not self.is_by_kind:
            return list(self.labels)
        kind = self.kinds.get(workload)
        return [s for s in self.labels if s in also or self.kinds.get(s) == kind]

    def draw(
        self, kind: DeltaGenerator, box: DeltaGenerator, changed: Callable[[], None] | None = None
    ) -> None:
        """Draw the boxes, each in its place; `changed` is called on another choice of workload."""
        options = self.options()  # before the kind is drawn, as it may change
        if self.is_by_kind:
            kinds = self._offered_kinds()
            kind.selectbox(
                "Kind",
                kinds,
                self.link.place("kind", kinds),
                key=self.link.key("kind"),
                on_change=self._first_of_kind,
                args=(changed,),
            )
        fields.choice(
            self.link,
            BY_NAME["workload"],
            {s: self.labels[s] for s in options},
            box,
            on_change=changed,
            help="Type part of a name to find it." if len(self.labels) > FEW else None,
        )

    def _offered_kinds(self) -> list[str]:
        there = set(self.kinds.values())
        return [ALL, *(k for k in KINDS if k in there)]

    def _kind(self) -> str:
        """Return the chosen kind, a part of the link; the usual one if the workload is not of it.

        It is that of the shown workload where there are many.
        """
        shown = str(self.link.held("workload"))
        usual = self.kinds.get(shown, ALL) if len(self.labels) >= MANY else ALL
        kind = self.link.choice("kind", self._offered_kinds(), usual)
        if kind not in (ALL, self.kinds.get(shown, kind)):
            st.session_state[self.link.key("kind")] = kind = usual
        return kind

    def _first_of_kind(self, changed: Callable[[], None] | None) -> None:
        """Show the first workload of the chosen kind, unless one of that kind is shown."""
        kind, key = st.session_state[self.link.key("kind")], self.link.key("workload")
        if kind in (ALL, self.kinds.get(str(st.session_state.get(key)), kind)):
            return
        st.session_state[key] = next(s for s, k in self.kinds.items() if k == kind)
        if changed is not None:
            changed()


def offer(link: Link, shared: Store, names: Mapping[str, str]) -> WorkloadOptions:
    """Return the choice among `names` (by slug), with labels and kinds from the store."""
    return WorkloadOptions(
        link=link,
        labels=kept.workload_labels(shared, names),
        kinds=kept.workload_kinds(shared, names),
    )


def by_name(link: Link, names: Mapping[str, str]) -> WorkloadOptions:
    """Return the choice among `names`, with kinds derived from the names."""
    return WorkloadOptions(link=link, labels=names, kinds={s: kind_of(n) for s, n in names.items()})


def offered_targets(link: Link, values: Sequence[float], workload: str) -> dict[str, float]:
    """Return targets by text, from easy to strict; the link's own target stays for its workload.

    Links of programs may hold any target.
    """
    values_by_text = {f"{t:.6g}": t for t in values}
    place = f"{link.page}.target-of-link"
    if link.key("target") not in st.session_state:
        st.session_state.pop(place, None)
        for text in link.initial.get("target", [])[:1]:
            value, wrong = value_of(BY_NAME["target"], text)
            if not wrong and (value > 0.0 or min(values, default=1.0) <= 0.0):
                short = f"{value:.6g}" if f"{value:.6g}" in values_by_text else text_of(value)
                link.translate("target", lambda _, short=short: short)  # type: ignore[misc]
                st.session_state[place] = workload, short
    of, own = st.session_state.get(place, ("", ""))
    if of != workload or own in values_by_text or not values_by_text:
        return values_by_text
    falling = len(values) > 1 and values[0] > values[-1]
    every = values_by_text | {own: float(own)}
    return dict(sorted(every.items(), key=lambda pair: pair[1], reverse=falling))
