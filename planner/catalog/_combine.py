"""Queries and changes of a catalogue: priority of rows, matching names, age of prices.

The accelerator of a text: drivers, frameworks, clouds and users name it differently.

A text is split into words ("NVIDIA A100-SXM4-80GB (400W TDP)" -> a100 sxm 80gb). It matches the
accelerator with a name of exactly these words, else the one with the same words except memory and
form. Several matches are refused.
"""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date
from functools import lru_cache
from typing import Final, TypeVar

from planner.catalog._records import Accelerator, Catalog, Offer, Tariff
from planner.catalog._rows import CatalogProblem, Parsed, first_problems
from planner.catalog._schema import LIMITS
from planner.core import Refusal, Text

Words = frozenset[str]
MAKERS: Final = frozenset(
    {"nvidia", "amd", "intel", "google", "aws", "amazon", "habana", "tesla", "geforce", "radeon",
     "instinct", "cloud", "gpu", "processor", "accelerator", "r", "tm"}
)  # fmt: skip
"""Ignored words: makers and their brands. "Quadro" is significant."""
MAX_TEXT: Final = 200
"""Longer texts name nothing [characters]."""
_ASIDE: Final = re.compile(r"\([^()]*\)")
_TPU: Final = re.compile(r"tpu\w*|v\d(e|p|litepod)")
_SOCKET: Final = re.compile(r"sxm\d")
_OPTIONAL: Final = re.compile(r"\d+gb|sxm|pcie|nvl\d*|hgx|oam|hbm\d?e?")
"""Words for forms and sizes of one model."""
_SIZE: Final = re.compile(r"(\d+)\s*(gb|gib)\b")


def accelerator_named(catalog: Catalog, text: str) -> Accelerator | Refusal:
    """Return the accelerator of a text, by id, name or alias; a refusal has suggestions."""
    own, places = catalog.accelerators, _places_of(catalog)
    matches = _matches(catalog, text)
    if len(matches) == 1:
        return matches[0]
    words = words_of(text)
    like = matches or [own[i] for i, n in places.names if words and any(words <= w for w in n)]
    if like:
        return _several(text, like)
    return _unknown(tuple(a.name for a in own), text)


def sole_accelerator(catalog: Catalog, text: str) -> Accelerator | None:
    """Return the accelerator of a text; None where it names none or several.

    A search for suggestions takes 3 ms: thousands of runs name a machine that is no accelerator.
    """
    matches = _matches(catalog, text)
    return matches[0] if len(matches) == 1 else None


def _matches(catalog: Catalog, text: str) -> list[Accelerator]:
    own, places = catalog.accelerators, _places_of(catalog)
    if text in places.by_id:
        return [own[places.by_id[text]]]
    words = words_of(text)
    alike = places.by_model.get(_model(words), ()) if _model(words) else ()
    plain = {i for i, name in alike if _same_model(words, name, own[i])}
    return [own[i] for i in places.by_words.get(words, ()) or sorted(plain)]


def _places_of(catalog: Catalog) -> "_Places":
    return _places(tuple((a.id, a.name, *a.aliases) for a in catalog.accelerators))


def accelerators_alike(catalog: Catalog, text: str) -> tuple[Accelerator, ...]:
    """Return every accelerator of the model that a text names, of any form and memory.

    Without the words of form and memory the text must be a name of it: an A100 is not an A10.
    """
    model = _model(words_of(text))
    if not model:
        return ()
    return tuple(a for a in catalog.accelerators if any(model == _model(n) for n in _names(a)))


def _model(words: Words) -> Words:
    return frozenset(w for w in words if not _OPTIONAL.fullmatch(w))


@lru_cache(maxsize=4_096)
def words_of(text: str) -> Words:
    """Return the significant words of an accelerator; for TPUs without the slice size."""
    plain = _ASIDE.sub(" ", text[:MAX_TEXT].casefold().replace("_", " "))
    plain = _SIZE.sub(r"\1gb", plain)
    parts = {_SOCKET.sub("sxm", part) for part in re.findall(r"[a-z0-9]+", plain)} - MAKERS
    if any(_TPU.fullmatch(part) for part in parts):
        parts = {part for part in parts if not part.isdigit()}
    return frozenset(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """Index of a catalogue's accelerators: by id, by the words of a name, by those of a model.

    `names` has each place with its names; `by_model` each place with one name.
    """

    by_id: Mapping[str, int]
    by_words: Mapping[Words, Sequence[int]]
    by_model: Mapping[Words, Sequence[tuple[int, Words]]]
    names: Sequence[tuple[int, frozenset[Words]]]


@lru_cache(maxsize=8)
def _places(texts: tuple[tuple[str, ...], ...]) -> _Places:
    """Return the places of the names of a catalogue: thousands of runs look theirs up in one."""
    by_words: dict[Words, list[int]] = {}
    by_model: dict[Words, list[tuple[int, Words]]] = {}
    names = [(i, frozenset(filter(None, map(words_of, text)))) for i, text in enumerate(texts)]
    for i, name in names:
        for words in name:
            by_words.setdefault(words, []).append(i)
            by_model.setdefault(_model(words), []).append((i, words))
    by_id = {text[0]: i for i, text in enumerate(texts)}
    return _Places(by_id=by_id, by_words=by_words, by_model=by_model, names=names)


def _names(accelerator: Accelerator) -> set[Words]:
    texts = (accelerator.id, accelerator.name, *accelerator.aliases)
    return {words for text in texts if (words := words_of(text))}


def _same_model(words: Words, name: Words, accelerator: Accelerator) -> bool:
    """Return whether the text differs from the name only in optional words.

    A text may add the memory, and PCIe where that is the link; it may lack memory and form. A 1080
    is not a 1080 Ti.
    """
    size = accelerator.memory_bytes
    more = {f"{size / 1e9:.0f}gb"} if size else set()
    more |= {"pcie"} if "PCIe" in accelerator.link_name else set()
    model = {w for w in words if not _OPTIONAL.fullmatch(w)}
    lacking = name - words
    return bool(model) and words <= name | more and all(map(_OPTIONAL.fullmatch, lacking))


def _several(text: str, matches: list[Accelerator]) -> Refusal:
    names = [a.name for a in matches[:6]] + (["another"] if len(matches) > 6 else [])
    first = f"{', '.join(names[:-1])} or " if names[:-1] else ""
    return Refusal(
        reason=Text("{text} could be {names}.", text=_quoted(text), names=f"{first}{names[-1]}"),
        measure_next="Use the full name with memory and form (SXM, PCIe).",
    )


@lru_cache(maxsize=1_024)
def _unknown(names: tuple[str, ...], text: str) -> Refusal:
    by_name = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(text[:MAX_TEXT].casefold(), by_name, n=3, cutoff=0.5)
    hint = f"Perhaps {' or '.join(by_name[n] for n in near)}? " if near else ""
    return Refusal(
        reason=Text("{text} is not in the catalogue.", text=_quoted(text)),
        measure_next=Text("{hint}Choose one that is, or add a row of your own.", hint=hint),
    )


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


STALE_MONTHS: Final = 12
"""Age above which a price is marked as old [months]."""
_Entry = TypeVar("_Entry", Accelerator, Offer, Tariff)
_QUIET: Final = frozenset({"origin", "id", "peak_flops_per_s"})
SAME: Final = "the same numbers"
_UNCOUNTED: Final = frozenset({"aliases", "as_of", "note", "source_url"})
"""Fields unrelated to speed and money; reported only if nothing else has changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A catalogue with further rows; `overridden` describes replaced rows, one line each.

    `changed` has those of them that change a number.
    """

    catalog: Catalog
    overridden: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


def merged(catalog: Catalog, further: Catalog) -> Merged:
    """Return the rows with further ones; an existing id replaces the whole row in its place."""
    accelerators, replaced_accelerators = _merged(catalog.accelerators, further.accelerators)
    offers, two = _merged(catalog.offers, further.offers)
    tariffs, three = _merged(catalog.tariffs, further.tariffs)
    whole = Catalog(accelerators=accelerators, offers=offers, tariffs=tariffs)
    overrides = (*replaced_accelerators, *two, *three)
    return Merged(
        catalog=whole,
        overridden=tuple(line for line, _ in overrides),
        changed=tuple(line for line, changes in overrides if changes),
    )


def _merged(
    first: Sequence[_Entry], further: Sequence[_Entry]
) -> tuple[tuple[_Entry, ...], tuple[tuple[str, bool], ...]]:
    """Return all rows, and a line per replaced one with whether a number changes."""
    whole = {entry.id: entry for entry in first}
    overrides = [_override(whole[e.id], e) for e in further if e.id in whole and whole[e.id] != e]
    whole |= {entry.id: entry for entry in further}
    return tuple(whole.values()), tuple(overrides)


def _override(old: _Entry, new: _Entry) -> tuple[str, bool]:
    before, after = _facts(old), _facts(new)
    changed = [n for n in {**before, **after} if before.get(n) != after.get(n)]
    counted = [n for n in changed if n not in _UNCOUNTED]
    changes = [
        f"{_plain(name)} {_plain_value(before.get(name))} -> {_plain_value(after.get(name))}"
        for name in counted or changed
    ]
    return f"{new.id}: {'; '.join(changes) or SAME}", bool(changes)


def _facts(entry: Accelerator | Offer | Tariff) -> dict[str, object]:
    """Return the facts of an entry, peaks by precision, without names and origin."""
    facts: dict[str, object] = {
        f.name: getattr(entry, f.name) for f in fields(entry) if f.name not in _QUIET
    }
    return facts | (dict(entry.peak_flops_per_s) if isinstance(entry, Accelerator) else {})


def _plain(name: str) -> str:
    """Return a column's name in words: 'list price USD'."""
    return name.replace("_", " ").replace("usd", "USD").replace("kwh", "kWh")


def _plain_value(value: object) -> str:
    if value is None or value in ("", ()):
        return "not known"
    return f"{value:g}" if isinstance(value, float) else str(value)


def offers_of(catalog: Catalog, accelerator: Accelerator) -> tuple[Offer, ...]:
    """Return all offers of instances with this accelerator, in the order of the catalogue."""
    return tuple(offer for offer in catalog.offers if offer.accelerator == accelerator.id)


def tariff_of(catalog: Catalog, country: str) -> Tariff | None:
    """Return the tariff of a country, by code or name in any case; None where there is none."""
    name = country.strip().casefold()
    return next((t for t in catalog.tariffs if name in (t.id.casefold(), t.country.casefold())),
                None)  # fmt: skip


def is_stale(as_of: date, today: date) -> bool:
    """Return whether more than `STALE_MONTHS` have passed; on the very day, not yet."""
    passed = (today.year - as_of.year) * 12 + today.month - as_of.month
    return passed > STALE_MONTHS or (passed == STALE_MONTHS and today.day > as_of.day)


def with_accelerator_ids(offers: Parsed, catalog: Catalog) -> Parsed:
    """Return offers with the ids of their accelerators in place of the names in the file.

    Offers of unknown accelerators are removed, each with a problem and suggestions. After
    `LIMITS["problems"]` of them only ids and earlier names are looked up; the rest is counted.
    """
    ids = {accelerator.id for accelerator in catalog.accelerators}
    answers: dict[str, Accelerator | Refusal] = {}
    kept: list[tuple[int, Offer]] = []
    problems: list[CatalogProblem] = []
    unasked = 0
    for row, offer in _offers(offers):
        text = offer.accelerator
        if len(problems) >= LIMITS["problems"].value and text not in answers and text not in ids:
            unasked += 1  # more suggestions would not be read
            continue
        answers.setdefault(text, match := answers.get(text) or accelerator_named(catalog, text))
        if isinstance(match, Accelerator):
            kept.append((row, replace(offer, accelerator=match.id)))
        else:
            problems.append(_unclear(offers.file, row, match))
    shown_problems = first_problems((*offers.problems, *problems), offers.file, unasked)
    return replace(offers, entries=tuple(kept), problems=shown_problems)


def _unclear(file: str, row: int, why: Refusal) -> CatalogProblem:
    message = Text(
        "is not understood: {reason} {measure_next}",
        reason=why.reason,
        measure_next=why.measure_next,
    )
    return CatalogProblem(file=file, row=row, column="accelerator", message=message)


def _offers(parsed: Parsed) -> Iterable[tuple[int, Offer]]:
    return ((row, entry) for row, entry in parsed.entries if isinstance(entry, Offer))
