"""Sentences as data: a whole template with named parameters, made where the fact is known.

    Text("{option} takes {time}.", option="1 x L4", time="2.9 h")   1 x L4 takes 2.9 h.
    plural(3, "{count} run", "{count} runs")                        3 runs
    paragraph(first, second)                                        both, with a blank between
    listed_words(["A", "B", "C"])                                   A, B and C

A `Text` is a `str` of the English sentence, so that every interface can show it. It keeps its
template and parameters, from which `render` makes the sentence in another language. Programs decide
on records and never on the words of a sentence. `make messages` collects the templates.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn, Protocol, Self, TypeVar


class Translations(Protocol):
    """Translated templates of one language; `gettext.NullTranslations` is one."""

    def gettext(self, message: str, /) -> str:
        """Return a template in the language."""

    def ngettext(self, msgid1: str, msgid2: str, n: int, /) -> str:
        """Return the template for a count in the language, from those for 1 and for others."""


class Text(str):
    """A sentence: `template` filled in with `parameters`; equal to its rendered English.

    Without parameters the template is the sentence, braces included.
    """

    __slots__ = ("_parameters", "template")
    template: str
    _parameters: dict[str, Any]

    def __new__(cls, template: str, /, **parameters: object) -> Self:
        text = str.__new__(cls, template.format_map(parameters) if parameters else template)
        return _kept(text, template, parameters)

    @property
    def parameters(self) -> Mapping[str, object]:
        """The values of the template's places by name; texts among them are `Text`s too."""
        return MappingProxyType(self._parameters)

    def render(self, words: Translations) -> str:
        """Return the sentence in another language, its parameters included."""
        return self._filled(words.gettext(self.template) if self.template else "", words)

    def _filled(self, template: str, words: Translations) -> str:
        values = {name: in_language(value, words) for name, value in self._parameters.items()}
        return template.format_map(values) if values else template

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{name} of a Text is fixed. Make a new one.")

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.template, self._parameters)


class _Plural(Text):
    """A sentence about a `number`, with one template for 1 and one for other counts."""

    __slots__ = ("many", "number")
    many: str
    number: float

    def render(self, words: Translations) -> str:
        n = int(self.number) if self.number == int(self.number) else 2
        return self._filled(words.ngettext(self.template, self.many, n), words)

    def __reduce__(self) -> tuple[Any, ...]:
        return plural_of, (self.number, self.template, self.many, self._parameters)


class _OfParameter(Text):
    """A sentence about one parameter of a request."""

    __slots__ = ("parameter",)
    parameter: str

    def render(self, words: Translations) -> str:
        return str(in_language(self._parameters["sentence"], words))

    def __reduce__(self) -> tuple[Any, ...]:
        return of_parameter, (self.parameter, self._parameters["sentence"])


class _Joined(Text):
    """Texts one after the other; `template` is the mark between them."""

    __slots__ = ()

    def render(self, words: Translations) -> str:
        return self.template.join(str(in_language(v, words)) for v in self._parameters.values())

    def __reduce__(self) -> tuple[Any, ...]:
        return joined, (self.template, tuple(self._parameters.values()))


def plural(count: float, singular: str, many: str, /, **parameters: object) -> Text:
    """Return a sentence about a count: from the template `singular` for 1, else from `many`.

    Both may use `{count}` and `{count:,}`, and any of the parameters.
    """
    return plural_of(count, singular, many, {"count": count, **parameters})


def plural_of(count: float, singular: str, many: str, parameters: dict[str, Any]) -> Text:
    """Return `plural` with its parameters as a record."""
    text = str.__new__(_Plural, (singular if count == 1 else many).format_map(parameters))
    super(Text, text).__setattr__("many", many)
    super(Text, text).__setattr__("number", count)
    return _kept(text, singular, parameters)


def of_parameter(name: str, sentence: str) -> Text:
    """Return a sentence with the parameter that it is about, for `parameter_of`."""
    text = str.__new__(_OfParameter, sentence)
    super(Text, text).__setattr__("parameter", name)
    return _kept(text, "{sentence}", {"sentence": sentence})


def parameter_of(sentence: str) -> str:
    """Return the parameter that a sentence is about; "" where there is none."""
    return sentence.parameter if isinstance(sentence, _OfParameter) else ""


def joined(between: str, texts: Iterable[str | None]) -> Text:
    """Return texts with a mark between them, as '; ' or ' · '; empty ones are left out."""
    parts = [t for t in texts if t]
    text = str.__new__(_Joined, between.join(parts))
    return _kept(text, between, {str(n): part for n, part in enumerate(parts)})


def paragraph(*texts: str | None) -> Text:
    """Return whole sentences one after the other, without those that are empty or None."""
    return joined(" ", texts)


def listed_words(names: Sequence[str]) -> Text:
    """Return names as a list in a sentence: 'A', 'A and B', 'A, B and C'."""
    if len(names) < 2:
        return joined("", names)
    return Text("{names} and {last}", names=joined(", ", names[:-1]), last=names[-1])


def in_language(value: object, words: Translations) -> object:
    """Return a parameter in another language where it is a `Text`, else unchanged."""
    return value.render(words) if isinstance(value, Text) else value


def message_of(error: BaseException) -> str:
    """Return the message of an error; the `Text` itself where it was raised with one."""
    said = error.args[0] if len(error.args) == 1 else None
    return said if isinstance(said, Text) else str(error)


def plain_text(value: object) -> str:
    """Return a `Text` as a plain str, for encoders that know no other type.

    Raises:
        NotImplementedError: the value is not a `Text`.
    """
    if isinstance(value, Text):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} cannot be encoded.")


def _again(template: str, parameters: dict[str, Any]) -> Text:
    return Text(template, **parameters)


AnyText = TypeVar("AnyText", bound=Text)
_set_template = vars(Text)["template"].__set__
_set_parameters = vars(Text)["_parameters"].__set__


def _kept(text: AnyText, template: str, parameters: dict[str, Any]) -> AnyText:
    _set_template(text, template)
    _set_parameters(text, parameters)
    return text


def cut(text: str, most: int) -> str:
    """Return a text of at most `most` letters, the last one an ellipsis where it is cut."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def sentence_case(name: str) -> str:
    """Return a name with a capital at its beginning, for a label; the rest is unchanged."""
    return name[:1].upper() + name[1:]


def program(module: str) -> str:
    """Return how a user starts a module's commands: `epochwise` where the program is installed."""
    return os.environ.get("EPOCHWISE_PROGRAM") or f"python -m {module}"
