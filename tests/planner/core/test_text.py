"""A sentence keeps its template and its values, and reads as plain English everywhere."""

from __future__ import annotations

import copy
import gettext
import json
import pickle

import pytest
from msgspec.json import encode

from planner.core import (
    Text,
    joined,
    listed_words,
    of_parameter,
    paragraph,
    parameter_of,
    plain_text,
    plural,
)

GERMAN = {
    "{option} takes {time}.": "{option} braucht {time}.",
    "{names} and {last}": "{names} und {last}",
    "no limit": "unbegrenzt",
}


class German(gettext.NullTranslations):
    """A catalogue of a few templates."""

    def gettext(self, message: str) -> str:
        """Return the template in German."""
        return GERMAN.get(message, message)

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        """Return the template of runs."""
        assert (msgid1, msgid2) == ("{count} run", "{count} runs")
        return "{count} Lauf" if n == 1 else "{count} Läufe"


def test_a_text_is_its_english_sentence() -> None:
    text = Text("{option} takes {time}.", option="1 x L4", time="2.9 h")
    assert text == "1 x L4 takes 2.9 h."
    assert text.template == "{option} takes {time}."
    assert dict(text.parameters) == {"option": "1 x L4", "time": "2.9 h"}


def test_a_text_without_parameters_keeps_its_braces() -> None:
    assert Text("Use {braces}.") == "Use {braces}."


def test_values_are_written_as_an_f_string_writes_them() -> None:
    assert Text("{share:.1f} of {name!r}", share=0.25, name="a") == f"{0.25:.1f} of {'a'!r}"


def test_a_text_cannot_be_changed() -> None:
    text = Text("a")
    with pytest.raises(AttributeError, match="fixed"):
        text.template = "b"
    with pytest.raises(TypeError):
        text.parameters["a"] = 1  # type: ignore[index] # that is the test


def test_a_plural_has_a_template_for_one_and_one_for_others() -> None:
    said = [plural(n, "{count} run", "{count:,} runs") for n in (0, 1, 2, 1.5, 2000)]
    assert said == ["0 runs", "1 run", "2 runs", "1.5 runs", "2,000 runs"]


def test_another_language_needs_a_catalogue_alone() -> None:
    text = Text("{option} takes {time}.", option=listed_words(["A", "B"]), time=Text("no limit"))
    runs = [plural(n, "{count} run", "{count} runs") for n in (1, 3)]
    whole = paragraph(text, joined("; ", runs), of_parameter("epochs", text))
    assert whole == "A and B takes no limit. 1 run; 3 runs A and B takes no limit."
    assert whole.render(German()) == (
        "A und B braucht unbegrenzt. 1 Lauf; 3 Läufe A und B braucht unbegrenzt."
    )
    assert whole.render(gettext.NullTranslations()) == whole


def test_a_name_is_never_taken_for_a_template() -> None:
    assert Text("{name} runs.", name="{0.__class__}") == "{0.__class__} runs."


def test_empty_parts_leave_no_mark() -> None:
    assert paragraph("A.", "", None, "B.") == "A. B."
    assert [listed_words(n) for n in ([], ["A"], ["A", "B", "C"])] == ["", "A", "A, B and C"]


def test_a_sentence_knows_its_parameter() -> None:
    text = of_parameter("epochs", Text("Too many."))
    assert (text, parameter_of(text), parameter_of("Too many.")) == ("Too many.", "epochs", "")


@pytest.mark.parametrize(
    "text",
    [
        Text("{a} b", a=1),
        plural(2, "{count} run", "{count} runs"),
        paragraph("A.", Text("{b}.", b="B")),
        of_parameter("epochs", "Too many."),
    ],
    ids=["text", "plural", "joined", "of a parameter"],
)
def test_a_text_survives_a_copy_and_a_process(text: Text) -> None:
    for again in (copy.deepcopy(text), pickle.loads(pickle.dumps(text))):  # noqa: S301 - own bytes
        assert type(again) is type(text)
        assert again == text
        assert again.render(German()) == text.render(German())
        assert parameter_of(again) == parameter_of(text)


def test_encoders_write_a_text_as_a_string() -> None:
    text = Text("{a} b", a=1)
    assert json.dumps([text]) == '["1 b"]'
    assert encode({"a": text}, enc_hook=plain_text) == b'{"a":"1 b"}'
    with pytest.raises(NotImplementedError, match="complex"):
        encode({"a": 1j}, enc_hook=plain_text)
