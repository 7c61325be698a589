"""Parameters of a request by name, for links, commands and the HTTP interface.

A table of `Parameter`s defines the values. `read` checks texts and returns all problems, each with
what, where and what to do. `query_of` writes values back as the shortest equivalent link.
Descriptions of commands and of the HTTP interface are generated from the same tables.
"""

import difflib
import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType
from typing import Any, Final, Literal, TypeVar
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from planner.core._text import Text, paragraph, sentence_case

Kind = Literal["text", "whole", "number", "choice", "flag", "date"]
QueryTexts = Mapping[str, Sequence[str]]
Texts = TypeVar("Texts", bound=Sequence[str])

NEXT_TO_NOTHING: Final = 1e-15
"""A smaller number above 0 is a typing error: no unit here needs it, and its quotients overflow."""
LONGEST_VALUE: Final = 1000
"""Letters of one value."""
LEAST_BEGUN: Final = 3
"""Letters and digits that the beginning of a name must have to find it."""
MOST_VALUES: Final = 60
"""Values of one parameter, as pages read them."""
MOST_QUERY_VALUES: Final = 200
"""Values of all parameters together."""
LONGEST_QUERY: Final = 8192
"""Letters of a whole query string."""
_WHOLE: Final = re.compile(r"[0-9]{1,18}")
_NUMBER: Final = re.compile(r"[+-]?([0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})([eE][+-]?[0-9]{1,3})?")
_GROUPED: Final = re.compile(r"[0-9]{1,3}(,[0-9]{3})+|[0-9]{1,3}(_[0-9]{3})+")
_SHORT: Final = re.compile(
    r"(.*[0-9.])[ \u00a0]?(thousand|million|billion|trillion|[kmbgtp])", re.IGNORECASE
)
_THOUSANDS: Final[Mapping[str, float]] = MappingProxyType(
    {
        "k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9, "t": 1e12, "p": 1e15,
        "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12,
    }
)  # fmt: skip
"""Suffixes of a short number and their factors: 7B, 1.5 trillion."""
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PART: Final = re.compile(
    r"([0-9][0-9,_]*\.?[0-9]*|\.[0-9]+)[ \u00a0]?([a-z]+)[\s,]*", re.IGNORECASE
)
_PARTS: Final = re.compile(f"(?:{_PART.pattern})+", re.IGNORECASE)
_HOURS: Final[Mapping[str, float]] = MappingProxyType(
    {
        unit: hours
        for units, hours in (
            ("s sec second", 1.0 / 3600.0), ("min minute", 1.0 / 60.0), ("h hr hour", 1.0),
            ("d day", 24.0), ("w wk week", 168.0), ("y yr year", 8760.0),
        )
        for name in units.split()
        for unit in (name, f"{name}s")
    }
)  # fmt: skip
"""Units of a duration in hours; a month has no fixed length, and `m` could be one."""
_COUNTED: Final = frozenset({"", "1", "1/month", "FLOP/sample", "devices", "samples", "tokens"})
"""Units that the label of a field names."""
HOURS: Final = "h"
"""Unit of durations: they may be written with a unit of their own, as 2 weeks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a request.

    `default` None is "not set". `least` and `most` are the inclusive limits of numbers. `many` is
    the largest number of values: one is a single value, more are a tuple. `longest` is the most
    letters of a text; only one with `lines` may have several. `short` numbers may end in a letter:
    7B, 100M, 1.5T. `also` are other names of choices, in small letters. `words` describe it in
    commands and interfaces. Its field on a page has `label`, by default its name, and `help`, by
    default its words; "" is a field without help.
    """

    name: str
    words: str
    kind: Kind = "text"
    unit: str = ""
    default: str | int | float | bool | date | tuple[str, ...] | None = None
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    also: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    many: int = 1
    longest: int = LONGEST_VALUE
    short: bool = False
    lines: bool = False
    label: str = ""
    help: str | None = None

    def title(self, unit: str | None = None) -> str:
        """Return the label of its field, with the unit in brackets; counts have none.

        `unit` is another unit, such as the currency shown; "" is none.
        """
        label = self.label or sentence_case(self.name.replace("_", " "))
        unit = self.unit if unit is None else unit
        counted = unit in _COUNTED or unit.casefold() == label.casefold()
        return label if counted else f"{label} ({unit})"

    @property
    def hint(self) -> str | None:
        """The help of its field; None without one."""
        return (sentence_case(self.words) if self.help is None else self.help) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterProblem:
    """The problem of one parameter, and what to do."""

    parameter: str
    message: str

    def __str__(self) -> str:
        return f"{self.parameter}: {self.message}" if self.parameter else self.message


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """The values by name, with defaults for missing or wrong ones, and all problems."""

    values: Mapping[str, Any]
    problems: tuple[ParameterProblem, ...] = ()


FORMER_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "price_doubt": "price_uncertainty",
        "stale_price_doubt": "stale_price_uncertainty",
        "capital_doubt": "capital_uncertainty",
    }
)
"""Names of parameters in links of earlier versions, and their names today."""


def with_current_names(request: Mapping[str, Texts]) -> dict[str, Texts]:
    """Return the request with former names replaced; where both are given, today's counts."""
    former = {FORMER_NAMES[name]: texts for name, texts in request.items() if name in FORMER_NAMES}
    return former | {n: texts for n, texts in request.items() if n not in FORMER_NAMES}


def read(table: Sequence[Parameter], request: QueryTexts, ignored: Collection[str] = ()) -> Read:
    """Return values of a table's parameters.

    Args:
        table: the parameters.
        request: texts by name, as in a query string. An empty text of a parameter with several
            values is ignored.
        ignored: names to ignore, such as the scale of a page's chart.
    """
    problems = _too_much(request)
    if problems:
        return Read(values=_defaults(table), problems=tuple(problems))
    by_name = {p.name: p for p in table}
    values = dict(_defaults(table))
    for name, texts in with_current_names(request).items():
        if name in by_name:
            values[name] = _values(by_name[name], list(texts), problems)
        elif name not in ignored:
            problems.append(_unknown(name, by_name))
    return Read(values=MappingProxyType(values), problems=tuple(problems))


def limits(parameter: Parameter) -> tuple[float, float]:
    """Return the least and the most a number may be; of a field both are needed."""
    if parameter.least is None or parameter.most is None:
        raise ValueError(
            Text("{parameter} has no limits. Give it both in its table.", parameter=parameter.name)
        )
    return parameter.least, parameter.most


def bounds(parameter: Parameter) -> tuple[int, int]:
    """Return the limits of a whole number."""
    least, most = limits(parameter)
    return int(least), int(most)


def query_of(
    table: Sequence[Parameter], values: Mapping[str, Any], stated: Collection[str] = ()
) -> str:
    """Return the query string of these values, without defaults unless they are `stated`.

    None and empty values are never written.
    """
    pairs: list[tuple[str, str]] = []
    for parameter in table:
        value = values.get(parameter.name, _default(parameter))
        bare = value is None or value in ("", ())
        if value == _default(parameter) and (bare or parameter.name not in stated):
            continue
        listed = value if isinstance(value, tuple) else (value,)
        pairs += [(parameter.name, text_of(v)) for v in listed] or [(parameter.name, "")]
    return encoded(pairs)


def encoded(pairs: Sequence[tuple[str, str]] | Mapping[str, Sequence[str]]) -> str:
    """Return the query string of names and texts; `texts_of_query` reads it."""
    return urlencode(pairs, doseq=True, quote_via=quote)


def texts_of_query(query: str) -> dict[str, list[str]]:
    """Return the texts of a query string, by name.

    Raises:
        ValueError: it has too many values, or bytes that are not UTF-8.
    """
    return parse_qs(
        query, keep_blank_values=True, max_num_fields=MOST_QUERY_VALUES, errors="strict"
    )


def texts_of_link(link: str) -> tuple[str, dict[str, list[str]]]:
    """Return the last part of a link's path and its parameters; a bare query string is one too.

    Raises:
        ValueError: it is too long, or not a link.
    """
    if len(link) > LONGEST_QUERY:
        raise ValueError(
            Text(
                "The link has {link:,} letters; {longest_query:,} are read at most.",
                link=len(link),
                longest_query=LONGEST_QUERY,
            )
        )
    try:
        parts = urlsplit(link if "?" in link or "://" in link else f"?{link}")
        texts = texts_of_query(parts.query)
    except ValueError as error:
        raise ValueError(
            Text("This is not a readable link ({error}). Copy it again.", error=error)
        ) from None
    return parts.path.rstrip("/").rsplit("/", 1)[-1], texts


def text_of(value: object) -> str:
    """Return a value as the text of a link; `read` restores it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)


def value_of(parameter: Parameter, text: str) -> tuple[Any, str]:
    """Return one value and "", or None and the problem of the text."""
    value, wrong = parsed(parameter, text)
    return value, Text("{value} {problem}", value=shown(text), problem=wrong) if wrong else ""


def parsed(parameter: Parameter, text: str) -> tuple[Any, str]:
    """Return one value and "", or None and what is wrong, as the predicate of a sentence."""
    if len(text) > parameter.longest:
        return None, Text(
            "has {text:,} letters. Give {longest} at most.",
            text=len(text),
            longest=parameter.longest,
        )
    if parameter.kind in ("whole", "number", "date"):
        text = unicodedata.normalize("NFKC", text)  # full-width digits
    return _READERS[parameter.kind](parameter, text)


# -- one value -----------------------------------------------------------------------------------


def _values(parameter: Parameter, texts: list[str], problems: list[ParameterProblem]) -> Any:  # noqa: ANN401
    if parameter.many > 1:
        return _several(parameter, texts, problems)
    if len(texts) > 1:
        problems.append(
            _problem(parameter, Text("given {texts} times. Give it once.", texts=len(texts)))
        )
    if not texts:
        return _default(parameter)
    value, wrong = value_of(parameter, texts[0])
    if wrong:
        problems.append(_problem(parameter, wrong))
    return _default(parameter) if wrong else value


def _several(
    parameter: Parameter, texts: list[str], problems: list[ParameterProblem]
) -> tuple[Any, ...]:
    if len(texts) > parameter.many:
        problems.append(
            _problem(
                parameter,
                Text("{texts} values. Give {many} at most.", texts=len(texts), many=parameter.many),
            )
        )
    kept = list(dict.fromkeys(t for t in texts if t))
    read_all = [value_of(parameter, t) for t in kept[: parameter.many]]
    problems += [_problem(parameter, wrong) for _, wrong in read_all if wrong]
    return tuple(value for value, wrong in read_all if not wrong)


def _text(parameter: Parameter, text: str) -> tuple[Any, str]:
    letters = re.sub(r"[\r\n\t]", "", text) if parameter.lines else text
    if not letters.isprintable():
        return None, "contains unprintable characters. Write it with plain letters."
    return text, ""


def _whole(parameter: Parameter, text: str) -> tuple[Any, str]:
    value = number_of(text) if parameter.short else float("nan")
    if value.is_integer() and _inside(parameter, value):
        return int(text) if _WHOLE.fullmatch(text) else int(value), ""
    if not _WHOLE.fullmatch(text) or not _inside(parameter, int(text)):
        return None, Text("is not {allowed}.", allowed=_limited("a whole number", parameter))
    return int(text), ""


def _number(parameter: Parameter, text: str) -> tuple[Any, str]:
    if parameter.unit == "%":
        text = text.removesuffix("%").rstrip()
    if parameter.unit == HOURS:
        return _duration(parameter, text)
    value = number_of(text) if parameter.short else _plain_number(text)
    if not _inside(parameter, value):
        wrong = Text("is not {allowed}.", allowed=_limited("a number", parameter))
        example = "Write it as 7B, 100M or 1e9." if parameter.short else ""
        return None, paragraph(wrong, example)
    if 0.0 < abs(value) < NEXT_TO_NOTHING:
        return None, Text(
            "is next to 0. Write 0, or {next_to_nothing:g} and more.",
            next_to_nothing=NEXT_TO_NOTHING,
        )
    return value, ""


def _duration(parameter: Parameter, text: str) -> tuple[Any, str]:
    value = hours_of(text)
    if not _inside(parameter, value):
        return None, Text(
            "is not {allowed}. Write it as 36 h, 3 days or 2 weeks.",
            allowed=_limited("a time", parameter),
        )
    return value, ""


def hours_of(text: str) -> float:
    """Return the hours of a duration; NaN of anything else.

    It reads 36, 36 h, 90 min, 3 days, 2 weeks and 1 day 12 h, in any case.
    """
    text = text.strip()
    if not _PARTS.fullmatch(text):
        return _plain_number(text)
    return sum(_hours(*part) for part in _PART.findall(text))


def _hours(digits: str, unit: str) -> float:
    value, size = number_of(digits), _HOURS.get(unit.lower(), float("nan"))
    return value if size == 1.0 else float(f"{value * size:.15g}")  # hours stay as written


def number_of(text: str) -> float:
    """Return the number of a text, with or without a letter for thousands; NaN of anything else.

    It reads 7B, 7 billion, 100M, 1.5T, 25 G, 2k, 1e9, 7000000000 and 7,000,000,000, in any case
    and with full-width digits.
    """
    text = unicodedata.normalize("NFKC", text).strip()
    if _GROUPED.fullmatch(text):
        text = text.replace(",", "").replace("_", "")
    short = _SHORT.fullmatch(text)
    if short is None:
        return _plain_number(text)
    digits, letter = short.groups()
    return float(f"{_plain_number(digits) * _THOUSANDS[letter.lower()]:.15g}")


def number_text(value: float) -> str:
    """Return a number as typed in a field: 7B, 8.03B, 100M, 2840T, 25B for 25G, 2048."""
    for letter, size in (("T", 1e12), ("B", 1e9), ("M", 1e6)):
        if size <= value < 1e18 and number_of(f"{value / size:.6g}{letter}") == value:
            return f"{value / size:.6g}{letter}"
    return text_of(float(value))


def _plain_number(text: str) -> float:
    return float(text) if _NUMBER.fullmatch(text) else float("nan")


def _choice(parameter: Parameter, text: str) -> tuple[Any, str]:
    text = parameter.also.get(text.lower(), text)
    if text not in parameter.choices:
        return (
            None,
            Text(
                "is not among {choices}. Choose one of them.", choices=", ".join(parameter.choices)
            ),
        )
    return text, ""


def _flag(_: Parameter, text: str) -> tuple[Any, str]:
    if text not in ("on", "off"):
        return None, "is not on or off. Write one of them."
    return text == "on", ""


_NO_DATE: Final = "is not a date. Write it as 2026-11-21."


def _date(_: Parameter, text: str) -> tuple[Any, str]:
    try:
        return (date.fromisoformat(text), "") if _DATE.fullmatch(text) else (None, _NO_DATE)
    except ValueError:
        return None, _NO_DATE


_READERS: Final[Mapping[Kind, Callable[[Parameter, str], tuple[Any, str]]]] = MappingProxyType(
    {"text": _text, "whole": _whole, "number": _number, "choice": _choice, "flag": _flag,
     "date": _date}
)  # fmt: skip


def shown(text: str) -> str:
    """Return a user's text for a message: quoted, on one line, shortened."""
    return repr(text if len(text) <= 80 else f"{text[:79]}…")


_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""What steers a terminal or turns the direction of writing, but line breaks and tabs."""


CONTROL: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u206f\ufeff]"
)
"""Control characters but tab and line ends, and what turns the direction of writing or is not seen.

No name needs one: a terminal obeys some, and with the others two names look alike. Joiners and
marks that Arabic, Hebrew and Indic scripts need are none.
"""


def printable(text: str) -> str:
    """Return text for a terminal, which no name steers: control characters are blanks.

    Line breaks and tabs stay.
    """
    return _CONTROLS.sub(" ", text)


def near_names(text: str, names: Collection[str], most: int = 3) -> list[str]:
    """Return the most similar names, at most `most`: those that begin alike first."""
    bare = _letters(text)
    begins = [n for n in names if len(bare) >= LEAST_BEGUN and _letters(n).startswith(bare)]
    alike = difflib.get_close_matches(text, list(names), n=most, cutoff=0.5)
    return list(dict.fromkeys([*sorted(begins, key=len), *alike]))[:most]


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.casefold())


def missing(kind: str, text: str, names: Collection[str], most: int = 6) -> str:
    """Return that the name does not exist, with similar ones."""
    near = near_names(text[:LONGEST_VALUE], names)
    some = near or list(names)[:most]
    end = "." if len(some) == len(names) else ", ..."
    ask = (
        Text("Choose one of {some}{end}", some=", ".join(some), end=end)
        if some
        else "There is none yet."
    )
    return Text("There is no {kind} {text}. {ask}", kind=kind, text=shown(text), ask=ask)


def _inside(parameter: Parameter, value: float) -> bool:
    low = parameter.least is None or value >= parameter.least
    high = parameter.most is None or value <= parameter.most
    return low and high and value - value == 0.0  # neither NaN nor infinite


def _limited(kind: str, parameter: Parameter) -> str:
    """Return a kind of values with its limits and unit: 'a number from 0 to 1,000 W'."""
    if parameter.least is not None and parameter.most is not None:
        kind = Text(
            "{kind} from {least:,.15g} to {most:,.15g}",
            kind=kind,
            least=parameter.least,
            most=parameter.most,
        )
    return f"{kind} {parameter.unit}" if parameter.unit else kind


def _problem(parameter: Parameter, message: str) -> ParameterProblem:
    return ParameterProblem(parameter=parameter.name, message=message)


def _unknown(name: str, names: Collection[str]) -> ParameterProblem:
    near = difflib.get_close_matches(name[:LONGEST_VALUE], list(names), n=1, cutoff=0.6)
    ask = (
        Text("Perhaps {near}?", near=near[0])
        if near
        else f"Available: {', '.join(list(names)[:12])} ..."
    )
    return ParameterProblem(parameter=name[:80], message=Text("Unknown parameter. {ask}", ask=ask))


def _too_much(request: QueryTexts) -> list[ParameterProblem]:
    count = sum(len(texts) for texts in request.values())
    if count <= MOST_QUERY_VALUES:
        return []
    return [
        ParameterProblem(
            parameter="",
            message=Text(
                "{count:,} values. Give {most} at most.", count=count, most=MOST_QUERY_VALUES
            ),
        )
    ]


def _defaults(table: Sequence[Parameter]) -> dict[str, Any]:
    return {parameter.name: _default(parameter) for parameter in table}


def _default(parameter: Parameter) -> Any:  # noqa: ANN401 - the table says what it is
    return () if parameter.many > 1 and parameter.default is None else parameter.default
