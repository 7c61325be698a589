"""One step that a person timed: what it narrows, what is refused, and what the next one buys."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from planner.answers import CompareAnswer, compare_answered
from planner.compare import entry_id, entry_of, next_step, step_note
from planner.compare.comparison import Comparison, Row
from planner.core import Estimate
from planner.store.catalog import read_catalog
from tests.each import each
from tests.shipped import store

CATALOG = read_catalog(Path(__file__).parents[3] / "data" / "catalog").catalog
LLAMA = {
    "workload": "described", "network": "llama-3-8b", "total_tokens": "100M",
    "precision": "bfloat16", "network_optimizer": "AdamW",
}  # fmt: skip
OWN = ("rent|h100-sxm|8|20", "rent|a100-sxm-80gb|8|10", "rent|mi300x|8|16")
SHARE_OF_H100 = 0.3
FLOPS_A_SAMPLE = 5e14
STEP = {"step_accelerator": "h100-sxm", "step_count": "8", "step_batch": "64"}


def asked(**given: str) -> CompareAnswer:
    texts = {name: [value] for name, value in {**LLAMA, **given}.items()}
    entries = [entry_of(text, CATALOG) for text in OWN]
    ids = [entry_id(one) for one in entries if not isinstance(one, str)]
    question = {**texts, "own": list(OWN), "options": ids}
    return compare_answered(store(), CATALOG, question, date(2026, 11, 23))


def times(answer: CompareAnswer) -> dict[str, Estimate]:
    assert answer.answered.comparison is not None
    return {
        row.candidate.hardware.accelerator.id: row.time
        for row in answer.answered.comparison.rows
        if row.candidate.hardware.accelerator is not None and isinstance(row.time, Estimate)
    }


def width(time: Estimate) -> float:
    return math.log(float(time.high) / float(time.low))


def step_s(share: float) -> str:
    """Seconds of a step of 64 samples on 8 H100 at a share of their peak."""
    flops = next(a for a in CATALOG.accelerators if a.id == "h100-sxm").peak_flops_per_s
    return f"{64 * FLOPS_A_SAMPLE / (8 * flops['bfloat16'] * share):.6g}"


def test_a_step_narrows_where_it_was_timed_most_and_on_another_maker_s_card_nothing() -> None:
    before, after = times(asked()), times(asked(**STEP, step_s=step_s(SHARE_OF_H100)))
    assert width(after["h100-sxm"]) < 0.35 * width(before["h100-sxm"])
    assert width(after["a100-sxm-80gb"]) < 0.85 * width(before["a100-sxm-80gb"])
    assert width(after["mi300x"]) == pytest.approx(width(before["mi300x"]), rel=1e-9)
    assert float(after["mi300x"].value) == pytest.approx(float(before["mi300x"].value), rel=1e-9)


def test_a_slow_step_makes_alike_cards_slower_and_says_so() -> None:
    before, after = times(asked()), times(asked(**STEP, step_s=step_s(SHARE_OF_H100)))
    for card in ("h100-sxm", "a100-sxm-80gb"):
        assert float(after[card].value) > 1.1 * float(before[card].value)
    [said] = [r for r in after["h100-sxm"].reasons if "Your step on 8 x H100" in r]
    assert re.search(r"used (29|30|31|32) % of its half-precision peak", said)


@each(
    ("given", "parameter", "part"),
    [
        ({**STEP, "step_s": "0.001"}, "step_s", "% of the peak of 8 x H100"),
        ({**STEP, "step_s": "2", "step_accelerator": "H1000"}, "step_accelerator", "H1000"),
        (
            {"step_s": "2", "step_batch": "64"},
            "step_accelerator",
            "The accelerator of the timed step is missing",
        ),
        (
            {"step_s": "2", "step_accelerator": "h100-sxm"},
            "step_batch",
            "The batch size of the timed step is missing",
        ),
        (STEP, "step_s", "The step time is missing"),
        ({**STEP, "step_s": "2", "assumed_mfu": "40"}, "step_s", "assumed_mfu is given"),
    ],
)
def test_a_step_that_cannot_be_used_is_named_and_the_rest_is_answered(
    given: dict[str, str], parameter: str, part: str
) -> None:
    found = asked(**given)
    assert [p.message for p in found.problems if p.parameter == parameter and part in p.message]
    plain = asked(**{n: v for n, v in given.items() if n in {"family", "assumed_mfu"}})
    assert {c: t.value for c, t in times(found).items()} == {
        c: t.value for c, t in times(plain).items()
    }


def test_a_step_of_an_unknown_kind_of_network_is_named() -> None:
    question = {"workload": ["described"], "flops": ["1e12"], "samples": ["1M"],
                **{name: [value] for name, value in STEP.items()}, "step_s": ["2"]}  # fmt: skip
    problems = compare_answered(store(), CATALOG, question, date(2026, 11, 23)).problems
    assert [p.parameter for p in problems if "Choose the kind of network" in p.message] == [
        "step_s"
    ]


@each("samples", ["1e4", "1e6", "1e9"])
@each("network", ["resnet-50", "vit-b-16", "bert-large", "whisper-small", "dlrm"])
def test_a_proposed_step_narrows_the_time(network: str, samples: str) -> None:
    """Short jobs are mostly the start of a machine, which no step shortens."""
    given = {"network": network, "total_tokens": "", "samples": samples, "epochs": "1"}
    said = next_step(_comparison(**given))
    now, *after = [float(n.replace(",", "")) for n in re.findall(r"± ([\d,.]+) %", said)] or [1.0]
    assert all(width < now for width in after)


def _comparison(**given: str) -> Comparison:
    found: Any = asked(**given).answered.comparison
    assert isinstance(found, Comparison)
    return found


def test_what_a_step_buys_is_what_it_then_gives() -> None:
    said = next_step(_comparison(order="time"))
    found = re.search(r"± (\d+) % becomes ± (\d+) % on any (.+) accelerator, ± (\d+) %", said)
    assert found is not None
    now, alike, there = (int(found[n]) for n in (1, 2, 4))
    assert now > alike > there
    assert there < 20
    leader = _comparison(order="time").leader
    assert leader is not None
    assert isinstance(leader.time, Estimate)
    assert now == pytest.approx(100 * math.sinh(width(leader.time) / 2.0), abs=1.0)
    assert "AMD" in next_step(_comparison(order="time", **STEP, step_s=step_s(SHARE_OF_H100)))
    timed = STEP | {"step_accelerator": "mi300x", "step_s": "4"}
    assert next_step(_comparison(order="time", **timed)).startswith("Time one step on 8 x H100")
    assert next_step(_comparison(assumed_mfu="40")) == ""


def test_the_price_of_a_timed_step_has_no_exponent() -> None:
    question = {name: [value] for name, value in LLAMA.items()}
    found = compare_answered(store(), CATALOG, question, date(2026, 11, 23)).answered.comparison
    assert found is not None
    rows = tuple(_priced(row, 2520.0) for row in found.rows if row.candidate.way == "rent")
    paid = f"{168 * rows[0].candidate.hardware.count:.2g}"
    assert f"(rented for 4 minutes: {float(paid):,.0f} USD)" in next_step(replace(found, rows=rows))


def _priced(row: Row, usd_per_hour: float) -> Row:
    """Return an option at another price of an accelerator."""
    assert row.candidate.offer is not None
    price = usd_per_hour * row.candidate.offer.accelerators
    offer = replace(row.candidate.offer, price_per_hour=price)
    return replace(row, candidate=replace(row.candidate, offer=offer))


def test_options_of_another_maker_than_that_of_the_step_are_named_with_the_next_step() -> None:
    found = _comparison(**STEP, step_s=step_s(SHARE_OF_H100))
    notes = [n for n in found.question.notes if "timed step" in n]
    assert notes == [
        "The timed step changes only estimates on NVIDIA accelerators. The ranking across makers "
        "may be unfair: time one step on 8 x MI300X too."
    ]
    assert next_step(found).startswith("Time one step on 8 x MI300X: ")
    nvidia = replace(found, rows=tuple(r for r in found.rows if "MI300X" not in r.candidate.label))
    assert (step_note(nvidia), next_step(nvidia)) == ("", "")
    assert step_note(_comparison()) == ""
