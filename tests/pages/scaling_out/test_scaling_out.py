"""Scaling out shows what the planner answers, for measured, published and article series."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from streamlit.testing.v1.element_tree import Block, Element

from pages.common import kept
from pages.scaling_out.choice import NOT_OF_STEPS
from planner.answers import scaling_out, scaling_out_answered
from planner.scaling_out import uneven_sentence
from planner.store.catalog import read_catalog
from tests import shipped
from tests.pages.conftest import figure, legend, lines, show, sound, texts, unfold

PAGE = "scaling-out"
CATALOG = read_catalog(shipped.ROOT / "data" / "catalog").catalog
ARTICLE = "unnamed-model"
BERT = "bert-large-mlperf-wikipedia"
RESNET = "resnet-50-mlperf-imagenet"
CHARTS = ("step time (s)", "efficiency (%)", "share of a step (%)", "step time (s)",
          "samples per second")  # fmt: skip
pytestmark = pytest.mark.usefixtures("library_pages")


def sentences(**question: str) -> tuple[str, ...]:
    answer = scaling_out_answered(shipped.library(), {k: [v] for k, v in question.items()}, CATALOG)
    return scaling_out(answer, shipped.library().sets).sentences


@pytest.mark.parametrize("workload", ["", ARTICLE, BERT])
def test_the_first_sentence_answers_the_question_in_the_planners_words(workload: str) -> None:
    question = {"workload": workload} if workload else {}
    shown = show(PAGE, **question)
    for sentence in sentences(**question):
        assert sentence in texts(shown)


def blocks(block: Block) -> Iterator[Element]:
    """The elements of a block from top to bottom."""
    for child in block.children.values():
        yield from blocks(child) if isinstance(child, Block) else [child]


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ({}, "2 devices are faster than 1 device from global batch 99 on."),
        ({"workload": BERT}, "More devices pay at this batch."),
        ({"batch": "1e9"}, "Batch 1,000,000,000 is outside 0 to 2,048"),
    ],
)
def test_one_sentence_stands_above_the_tiles(question: dict[str, str], sentence: str) -> None:
    shown = list(blocks(show(PAGE, **question).main))
    tile = next(i for i, e in enumerate(shown)
                if e.type == "html" and "epochwise-answer" in e.proto.body)  # fmt: skip
    assert sentence in str(shown[tile - 1].value).replace("\\", "")


def test_every_chart_is_drawn_for_the_measured_runs() -> None:
    shown = show(PAGE)
    shown_titles = [figure(shown, k)["layout"]["yaxis"]["title"]["text"] for k in range(4)]
    assert tuple(shown_titles) == (CHARTS[0], *CHARTS[2:])
    efficiency = figure(show(PAGE, tab="efficiency"))["layout"]["yaxis"]["title"]["text"]
    assert efficiency == CHARTS[1]
    assert set(lines(shown)) == {"global batch 32", "global batch 128", "global batch 512"}


def test_a_batch_without_an_answer_has_words_instead_of_empty_charts() -> None:
    shown = show(PAGE, batch="1e9")
    said = texts(shown)
    assert "No chart: these batches have no answer. The table says why." in said
    assert "No shares: this batch has no answer." in said
    assert len(shown.get("plotly_chart")) == len(CHARTS[2:]) - 1


def test_lines_and_shares_name_their_batch() -> None:
    shown = show(PAGE)
    notes = [a["text"] for a in figure(shown)["layout"]["annotations"]]
    assert {"batch 32", "batch 128", "batch 512"} <= set(notes)
    assert "Shares of a step at global batch 512" in texts(shown)


def test_shares_of_a_step_are_stacked_to_100_percent() -> None:
    bars = figure(show(PAGE, workload=ARTICLE), 1)["data"]
    assert [b["type"] for b in bars] == ["bar"] * 3
    together = np.sum([b["y"] for b in bars], axis=0)
    assert together == pytest.approx([100.0, 100.0])


def test_the_legend_has_no_marker_that_a_published_law_does_not_draw() -> None:
    assert "measured" in legend(show(PAGE))
    assert "measured" not in legend(show(PAGE, workload=ARTICLE))


def test_a_bar_beyond_the_chart_says_how_long_it_is() -> None:
    shown = figure(show(PAGE), len(CHARTS) - 1)
    state, activations = (bar["y"] for bar in shown["data"])
    whole = [a + b for a, b in zip(state, activations, strict=True)]
    top = shown["layout"]["yaxis"]["range"][1]
    beyond = {f"{gb:,.0f}" for gb in whole if gb > top}
    assert beyond <= {note["text"] for note in shown["layout"]["annotations"]}
    assert len(beyond) > 0


def test_a_series_without_single_devices_says_why_it_has_no_shares() -> None:
    said = texts(show(PAGE, workload=BERT))
    assert "These runs do not separate the interconnect from overhead." in said


CARDS = {
    "shares": "Shares of work on samples, overhead and interconnect",
    "crossover": "Global batch from which each device count is faster",
    "uneven": "Synchronous and asynchronous training by device count",
    "split": "Memory, bubble and communication of every cut",
}
"""Words of the table of each further answer."""


def test_a_link_opens_the_tables_of_the_further_answers_that_it_names() -> None:
    charts = len(show(PAGE).get("plotly_chart"))
    for card, table in CARDS.items():
        shown = show(PAGE, tables=card)
        assert not shown.warning
        assert any(table in frame.proto.alt for frame in shown.dataframe)
        assert len(shown.get("plotly_chart")) == charts - 1
    shown = show(PAGE, tables=list(CARDS))
    assert shown.query_params["tables"] == list(CARDS)
    assert len(shown.get("plotly_chart")) == charts - len(CARDS)
    (warning,) = show(PAGE, tables="nothing").warning
    assert "tables: “nothing” is no longer an option." in warning.value


def test_the_slider_of_the_slow_worker_moves_the_answer() -> None:
    shown = show(PAGE)
    shown.slider(key=f"{PAGE}.slow").set_value(80.0).run()
    answer = scaling_out_answered(shipped.library(), {"slow": ["80"]}, CATALOG).answer
    assert answer is not None
    row = [u for u in answer.uneven if u.devices in answer.series.counts][-1]
    assert uneven_sentence(row) in texts(sound(shown))


OTHERS = {
    "epochs": "77", "samples_per_epoch": "4096", "deadline": "0.03", "budget": "1", "price": "5",
    "startup_s": "900", "network": "llama-2-70b", "accelerator": "a100-sxm-80gb", "count": "128",
    "network_batch": "512", "micro_batch": "2", "precision": "float16",
    "own_image_px": "64", "image_px": "512",
}  # fmt: skip
"""Another value of every parameter that charts of steps do not depend on."""


@pytest.mark.parametrize("tab", ["steps", "efficiency"])
def test_totals_and_cuts_leave_the_charts_of_steps_as_they_are(tab: str) -> None:
    assert set(OTHERS) == NOT_OF_STEPS
    usual = show(PAGE, tab=tab)
    kept._DRAWN.clear()  # a kept chart would be equal in any case
    other = show(PAGE, **OTHERS, tab=tab)
    assert not other.warning
    of_steps = range(len(CHARTS) - 1)
    assert [figure(usual, k) for k in of_steps] == [figure(other, k) for k in of_steps]


def test_the_bytes_of_a_batch_are_those_of_another_at_another_image_size() -> None:
    shown = show(PAGE)
    assert "Batch 512 of 32 x 32 images has the bytes of batch 8 at 256 x 256." in texts(shown)
    shown.number_input(key=f"{PAGE}.image_px").set_value(64.0)
    assert "has the bytes of batch 128 at 64 x 64." in texts(sound(shown.run()))
    assert shown.query_params["image_px"] == "64"
    shown.number_input(key=f"{PAGE}.own_image_px").set_value(128.0)
    assert "Batch 512 of 128 x 128 images has the bytes of batch 2,048 at 64 x 64." in texts(
        sound(shown.run())
    )
    shown.number_input(key=f"{PAGE}.own_image_px").set_value(64.0)
    assert "Enter two different image sizes." in texts(sound(shown.run()))


def test_only_runs_of_images_have_fields_of_image_sizes() -> None:
    keys = {f"{PAGE}.own_image_px", f"{PAGE}.image_px"}
    assert keys <= {field.key for field in show(PAGE, workload=RESNET).number_input}
    words = show(PAGE, workload=BERT, image_px="64")
    assert not keys & {field.key for field in words.number_input}
    assert words.query_params["image_px"] == "64"


def test_deadline_budget_and_price_are_in_the_link() -> None:
    question = {"deadline": "0.03", "budget": "1", "price": "5"}
    shown = show(PAGE, **question)
    assert not shown.warning
    assert "2 devices: the fewest that finish within" in texts(shown)
    assert "the fastest for at most 1.00 USD" in texts(shown)


def test_limits_and_a_slow_link_are_answered_outside_the_folded_details_too() -> None:
    question = {"deadline": "0.03", "budget": "1", "price": "5"}
    shown = show(PAGE, **question)
    folded = "\n".join(str(m.value) for box in shown.expander for m in box.markdown)
    every = texts(shown)
    for said in ("the fewest that finish within", "the fastest for at most"):
        assert every.count(said) == folded.count(said) + 1 == 2
    article = show(PAGE, workload=ARTICLE, batch="8")
    assert texts(article).count("The interconnect is slow: with it") == 2
    assert texts(article).count("Too small for this device: the host sets the pace") == 2


def test_a_deadline_is_read_with_its_unit_and_one_that_is_none_is_named() -> None:
    shown = show(PAGE)
    shown.text_input(key=f"{PAGE}.deadline").set_value("108 s")
    assert "2 devices: the fewest that finish within" in texts(sound(shown.run()))
    assert shown.query_params["deadline"] == "0.03"
    shown.text_input(key=f"{PAGE}.deadline").set_value("0")
    said = texts(sound(shown.run()))
    assert "deadline: '0' is not a time from 0.001 to 1,000,000 h" in said
    assert "the fewest that finish within" not in said


def test_the_answer_of_a_link_of_the_command_is_that_of_the_page() -> None:
    query = scaling_out_answered(
        shipped.library(), {"slow": ["25"], "devices": ["16"]}, CATALOG
    ).query
    pairs = dict(part.split("=", 1) for part in query.split("&"))
    shown = show(PAGE, **pairs, tab="table")
    assert not shown.warning
    assert 16 in set(shown.dataframe[0].value["Devices"])


def test_article_003_is_shown_as_the_order_that_it_states() -> None:
    shown = unfold(show(PAGE), f"{PAGE}.article")
    table = next(d.value for d in shown.dataframe if "Place by epoch time" in d.value)
    assert len(table) == 12
    first = table[table["Place by epoch time"] == "1"]
    assert list(first["Batch"]) == [64, 512]
    place = len(shown.get("plotly_chart")) - 1
    dotted = [t["name"] for t in figure(shown, place)["data"] if len(t["x"]) == 2]
    assert len(dotted) == 7
    opened = "places that the text leaves open"
    assert legend(shown, place) == {*dotted, opened}  # each of the four is open somewhere


def test_a_link_with_a_workload_that_is_gone_says_so() -> None:
    shown = show(PAGE, workload="no-such-workload")
    assert "is no longer an option" in shown.warning[0].value
