"""Names from data are never markup: judged by another Markdown parser than Streamlit's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pages.common.link import as_text

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
TRICKS = (
    "**bold** __bold__ *i* _i_ ~~gone~~",
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "![picture](http://evil.example/p.png)",
    "[link](http://evil.example) [ref][1]\n\n[1]: http://evil.example",
    "<http://evil.example> <a@evil.example>",
    "# title",
    "title\n=====",
    "title\n---",
    "- item\n- item",
    "1. item",
    "> quote",
    "a\n\n    code",
    "```\ncode\n```",
    "`code`",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "&lt;b&gt; &amp; &#60;",
    "line  \nbreak\\\nbreak",
    "\\*",
    "***",
    "$x^2$ $$y$$",
)
LATE = (
    "http://evil.example",
    "https://evil.example/q?a=b",
    "www.evil.example",
    "WWW.evil.example",
    "someone@evil.example",
    ":material/star:",
    ":streamlit:",
    ":smile:",
    ":red[x]",
    "a -> b <- c <-> d -- e >= f <= g ~= h",
)
"""What Streamlit makes of text after backslashes are gone; tests/browser sees that it does not."""


def _plain(markdown: str) -> str:
    """The text of one paragraph without any markup; anything else fails."""
    tokens = PARSER.parse(markdown)
    if not tokens:
        return ""
    assert [t.type for t in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    inline = tokens[1].children or []
    assert {t.type for t in inline} <= {"text", "text_special"}
    return "".join(t.content for t in inline).replace("\u2060", "")


@pytest.mark.parametrize("name", [*TRICKS, *LATE])
def test_a_trick_is_shown_as_it_is_written(name: str) -> None:
    assert _plain(as_text(name)) == " ".join(name.split())


@given(st.text(alphabet=st.sampled_from("ab1 \n\t\\`*_{}[]()<>#+-.!|$:~^=&@/w\"';")))
def test_no_mixture_of_signs_becomes_markup(name: str) -> None:
    assert _plain(as_text(name)) == " ".join(name.split())


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc", "Cf"])))
def test_every_language_is_shown_as_it_is_written(name: str) -> None:
    assert _plain(as_text(name)) == " ".join(name.split())


@pytest.mark.parametrize("name", LATE)
def test_what_becomes_a_link_or_an_icon_late_is_broken_by_a_sign_without_width(name: str) -> None:
    assert "\u2060" in as_text(name)
