"""The files, their source, and what they do not say; the preview of what an import changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from pages.common.link import as_text
from pages.visitor.sending import accept_files
from planner.core import Text, sentence_case
from planner.importers import (
    MOST_BYTES,
    SOURCES,
    Preview,
    Source,
    SourceError,
    SourceFiles,
    Stated,
    fact,
    guess,
    header,
    located,
    mapping,
    preview,
    read,
    refused,
    with_terms,
)
from planner.runs import BY_NAME
from planner.store import Store, queries
from planner.store.kept import Kept

PAGE: Final = "add-results"
MOST_LISTED: Final = 200
"""Problems that are listed."""
MOST_FILES: Final = 20
UNNAMED: Final = "unnamed-set"
"""Set of the preview, before it has a name."""
_NOWHERE: Final = ".new"
"""Folder of the preview of a new set: no set is called so."""
_WIDTH: Final = 220
"""Least width of a field [px]."""
_ROUND: Final = "add_results.round"
"""Session key: counts the imports, so that each begins with no file."""
_READ: Final = Kept(8)
"""Rows of the last files that were read."""
_PREVIEWS: Final = Kept(8)
_WORDS: Final = {
    "model": "Model",
    "dataset": "Data set",
    "system_name": "System",
    "device_kind": "Device kind",
    "global_batch_size": "Batch size (all devices)",
    "samples_per_epoch": "Samples per epoch",
    "accelerator_model_name": "Accelerator",
    "accelerators_per_node": "Devices per node",
    "number_of_nodes": "Nodes",
    "precision": "Precision",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedFiles:
    """Files, their source and what the user says of them; `key` changes with any of it."""

    source: Source
    files: SourceFiles
    stated: Stated
    problems: tuple[str, ...]
    key: tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSet:
    """The set that runs go to: folder name, and the terms of the numbers."""

    name: str
    slug: str
    is_new: bool
    about: Mapping[str, str]

    @property
    def terms(self) -> dict[str, str]:
        """What every run says of its terms and its source."""
        names = ("licence", "source_url", "citation")
        return {n: self.about[n] for n in names if self.about.get(n)}


def key(name: str) -> str:
    """Return the key of a field; each import has fields of its own."""
    return f"add_results.{st.session_state.setdefault(_ROUND, 0)}.{name}"


def begin_again() -> None:
    """Forget files and fields, after an import."""
    st.session_state[_ROUND] = st.session_state.get(_ROUND, 0) + 1


def draw() -> AddedFiles | None:
    """Draw the files and what they do not say; None without a file."""
    with st.container(border=True):
        accept_files()
        files = st.file_uploader(
            "Files",
            accept_multiple_files=True,
            key=key("files"),
            help=Text(
                "At most {most_bytes} MB each. The server keeps none of them.",
                most_bytes=MOST_BYTES // 1000000,
            ),
        )
        if not files:
            _formats()
            return None
        few = files[:MOST_FILES]
        uploaded = SourceFiles(name=files[0].name, data={f.name: f.getvalue() for f in few})
        listed = [s for s in SOURCES.values() if s.on_page]
        usual = guess(list(uploaded.data)) or "template"
        name = st.selectbox(
            "Format", [s.name for s in listed], format_func=lambda n: SOURCES[n].title,
            index=[s.name for s in listed].index(usual), key=key(f"source.{files[0].file_id}"),
        )  # fmt: skip
        source = SOURCES[name]
        st.caption(
            as_text(
                Text(
                    "Reads {reads}. Refuses {refuses}.", reads=source.reads, refuses=source.refuses
                )
            )
        )
        stated, problems = _stated(source)
        problems += _lost(files)
    ids = tuple(f.file_id for f in files)
    facts = tuple(sorted(stated.facts.items()))
    options = tuple(sorted(stated.options.items()))
    return AddedFiles(
        source=source,
        files=uploaded,
        stated=stated,
        problems=problems,
        key=(ids, name, facts, options, problems),
    )


def _lost(files: Sequence[UploadedFile]) -> tuple[str, ...]:
    """Return why some files would not be read: there are too many, or two have one name."""
    problems = []
    if len(files) > MOST_FILES:
        problems.append(
            Text(
                "at most {most} files are read at once; {count} were given. Remove some.",
                most=MOST_FILES, count=len(files),
            )
        )  # fmt: skip
    names = [f.name for f in files]
    return (
        *problems,
        *(
            Text("{count} files are named {name}. Remove all but one.", count=count, name=name)
            for name in dict.fromkeys(names)
            if (count := names.count(name)) > 1
        ),
    )


def _formats() -> None:
    st.download_button(
        "Empty template", header, "epochwise-template.csv", "text/csv", key="add_results.template",
        icon=":material/download:", on_click="ignore", width="content",
    )  # fmt: skip
    with st.expander("Formats", icon=":material/description:"):
        for source in SOURCES.values():
            if source.on_page:
                files = as_text(source.files.replace("`", ""))
                st.markdown(f"**{as_text(source.title)}:** {files}")


def _stated(source: Source) -> tuple[Stated, tuple[str, ...]]:
    facts: dict[str, Any] = {}
    problems: list[str] = []
    st.caption("Facts that the files lack. Leave the others empty.")
    with st.grid(4, min_column_width=_WIDTH):
        for name in source.needs:
            text = _field(name)
            if text:
                facts[name], problem = fact(name, text)
                problems += [problem] if problem else []
    options = _options(source)
    more = st.text_area(
        "More facts (COLUMN=VALUE, one per line)", key=key("more"), height=68,
        placeholder="precision=mixed_bfloat16",
    )  # fmt: skip
    for line in filter(str.strip, more.splitlines()):
        name, equals, text = (part.strip() for part in line.partition("="))
        value, problem = (
            fact(name, text) if equals else (None, Text("{line}: must be COLUMN=VALUE.", line=line))
        )
        problems += [problem] if problem else []
        facts |= {} if problem else {name: value}
    stated = {name: value for name, value in facts.items() if value is not None}
    return Stated(facts=stated, options=options), tuple(problems)


def _field(name: str) -> str:
    label = _WORDS.get(name, name)
    if choices := BY_NAME[name].choices:
        return st.selectbox(label, choices, index=None, key=key(name), placeholder="–") or ""
    return st.text_input(label, key=key(name)).strip()


def _options(source: Source) -> dict[str, str]:
    options = {}
    for name, meaning in source.options.items():
        if source.name == "template" and name == "columns":
            options[name] = _mapped()
            continue
        options[name] = st.text_input(
            sentence_case(name.replace("_", " ")), key=key(f"{source.name}.{name}"),
            help=sentence_case(meaning),
        ).strip()  # fmt: skip
    return {name: text for name, text in options.items() if text}


def _mapped() -> str:
    """Draw a field for each column of the file that is no column of runs."""
    unknown: Sequence[str] = st.session_state.setdefault(key("unknown"), [])
    columns: dict[str, str] = {}
    if unknown:
        st.caption("Unknown columns of the file: choose the column of a run, or leave it out.")
        with st.grid(4, min_column_width=_WIDTH):
            for name in unknown:
                chosen = st.selectbox(
                    as_text(name), ["", *BY_NAME], index=None, key=key(f"map.{name}"),
                    format_func=lambda n: n or "leave out", placeholder="choose a column",
                )  # fmt: skip
                columns |= {} if chosen is None else {name: chosen}
    return mapping(columns) if columns else ""


def previewed(shared: Store, added: AddedFiles, target: TargetSet) -> Preview:
    """Return what an import would change, cached until files, fields, set or runs change."""
    if added.problems:
        return Preview(problems=tuple(located(text) for text in added.problems))
    rows = rows_of(added)
    if isinstance(rows, SourceError):
        _note_unknown(rows)
        return refused(rows)
    own = next(f.path for f in shared.folders if f.kind == "own")
    # A new name may be that of a set that the visitor may not see: its runs are not looked at.
    place = own / (_NOWHERE if target.is_new else target.slug)
    at = (
        added.key, place, target.slug, tuple(sorted(target.terms.items())), shared.generation,
        shared.serial,
    )  # fmt: skip
    beside = partial(_runs_of, shared)

    def made() -> Preview:
        try:
            return preview(place, rows_for(added, rows, target), beside)
        except SourceError as error:
            return refused(error)

    return _PREVIEWS.once(at, made)


def _runs_of(shared: Store, workload: str) -> list[Any]:
    return queries.checked_runs(shared, among=[workload])


def rows_of(added: AddedFiles) -> list[dict[str, Any]] | SourceError:
    """Return the rows of the files, read in a process apart; or why they are not taken."""

    def reading() -> list[dict[str, Any]] | SourceError:
        try:
            return read(added.source.name, added.files, added.stated, UNNAMED)
        except SourceError as error:
            return error

    return _READ.once(added.key, reading)


def rows_for(
    added: AddedFiles, rows: Sequence[Mapping[str, Any]], target: TargetSet
) -> list[dict[str, Any]]:
    """Return the rows of a set; SourceError for another licence than that of the file."""
    whole = with_terms(rows, target.terms, added.files.name)
    return [{**row, "result_set": target.slug or UNNAMED} for row in whole]


def _note_unknown(error: SourceError) -> None:
    """Draw fields for unknown columns from the next run on; the mapped ones keep theirs."""
    before = list(st.session_state.get(key("unknown"), []))
    if new := [name for name in error.unknown if name not in before]:
        st.session_state[key("unknown")] = [*before, *new]
        st.rerun()
