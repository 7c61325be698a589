"""A file of traps, brought in through the page: 40 scripts and 20 pieces of Markdown do nothing."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import FilePayload, Page, expect

from pages.common.addresses import ADDRESSES
from planner.convergence import set_labels
from planner.core.slugs import slugs
from planner.store import Store, commit_runs, folders_from_environment, queries
from tests.browser.conftest import Visit
from tests.browser.look import download, rerun, settled, widget
from tests.browser.server import ROOT, served
from tests.faults.outcomes import FULL, Outcome, finish
from tests.store.build import row

pytestmark = [pytest.mark.browser, pytest.mark.faults]
_CODE: Final = ("alert(1)", "fetch('http://evil.example')", "document.title='owned'")
SCRIPTS: Final = tuple(
    text.replace("CODE", code)
    for code in _CODE
    for text in (
        "<script>CODE</script>", "<img src=x onerror=CODE>", "<svg onload=CODE>",
        "<iframe srcdoc='<script>CODE</script>'>", "<a href='javascript:CODE'>a</a>",
        "<body onload=CODE>", "<details open ontoggle=CODE>", "<input autofocus onfocus=CODE>",
        "<math href='javascript:CODE'>b</math>", '"><script>CODE</script>', "javascript:CODE",
        "<object data='javascript:CODE'>", "<style>@import 'http://evil.example/CODE';</style>",
        "<svg><animate onbegin=CODE attributeName=x>",
    )
)[:40]  # fmt: skip
MARKDOWN: Final = (
    "![p](http://evil.example/p.png)", "[l](http://evil.example)", "[j](javascript:alert(1))",
    "**b**", "# title", "- item", "`code`", "$x^2$", ":material/star:", ":smile:", ":red[x]",
    "<http://evil.example>", "www.evil.example", "x@evil.example", "| a | b |", "> quote",
    "---", "~~s~~", "[^1]: note", "![d](data:text/html,<b>x</b>)",
)  # fmt: skip
TRAPS: Final = (*SCRIPTS, *MARKDOWN)
TERMS: Final = {
    "Name of the set": SCRIPTS[1],
    "Licence": SCRIPTS[0],
    "Citation": MARKDOWN[0],
    "Address of the source": SCRIPTS[10],
}
HEAD: Final = ("model", "system_name", "device_kind", "global_batch_size", "throughput", "note")
TEXT_COLUMNS: Final = (
    "model", "variant", "dataset", "system_name", "accelerator_model_name", "provider", "framework",
    "framework_version", "optimizer", "precision", "host_processor_model_name",
    "accelerator_interconnect", "host_networking", "source", "note",
)  # fmt: skip
"""Columns of free text, which hold a trap in each row."""
NUMBER_COLUMNS: Final = (
    "device_kind", "strategy", "accelerators_per_node", "number_of_nodes", "global_batch_size",
    "throughput", "step_s", "train_samples", "samples_per_epoch", "pre_train_s", "first_epoch_s",
    "later_epoch_mean_s", "later_epoch_sd_s", "epochs_measured", "peak_memory_bytes",
)  # fmt: skip
VIEWS: Final = {
    "": (), "how-long": ("tab=table",), "compare": ("tab=table",), "measure": (),
    "method": ("tab=table",),
    "throughput": ("tab=table",), "scaling-out": ("tab=table",), "steps-to-target": ("tab=table",),
    "explore": ("tab=table", "view=pivot&rows=workload&columns=system", "colour=workload"),
    "results": (), "add-results": (),
    "capacity": ("view=cost",),
}  # fmt: skip
"""What else a page shows, by its address."""
HANDED_OUT: Final = (
    "how-long", "compare", "throughput", "scaling-out", "steps-to-target", "capacity",
)  # fmt: skip
"""Pages with a report."""
OF_A_WORKLOAD: Final = (*HANDED_OUT[:-1], "explore", "results")
SELECTED: Final = "SELECT workload, system, note, source, provider FROM runs WHERE folder = 'yours'"


def _file(
    name: str, rows: Sequence[tuple[object, ...]], head: tuple[str, ...] = HEAD
) -> FilePayload:
    out = io.StringIO()
    csv.writer(out).writerows([head, *rows])
    return {"name": name, "mimeType": "text/csv", "buffer": out.getvalue().encode()}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of results of its own."""
    results = tmp_path_factory.mktemp("uploads") / "results"
    commit_runs(results / "trials", [run for trap in TRAPS for run in _trials(trap)])
    return results


def _trials(trap: str) -> Iterator[dict[str, object]]:
    """Trainings to a target, with a file of their own: a table of one's own has no evaluations."""
    for optimizer in (trap, "SGD"):
        for batch in (32, 64, 128, 256):
            yield row(
                result_set="trials", model=trap, dataset=trap, optimizer=optimizer,
                evaluation_metric=trap, evaluation_higher_is_better=True, target_value=0.9,
                target_reached=True, system_name=trap, source=trap, note=trap,
                global_batch_size=batch,
                evaluations=[{"step": n * 20_000 // batch, "value": n / 10} for n in range(1, 11)],
            )  # fmt: skip


@pytest.fixture(scope="module")
def app(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app on that folder."""
    saved = tmp_path_factory.mktemp("saved")
    with served(results, settings={"EPOCHWISE_SAVED": str(saved)}) as url:
        yield url


def _rows(trap: str) -> Iterator[tuple[object, ...]]:
    """Runs of one workload: three batch sizes alone, and two counts of devices."""
    for devices, nodes, batch in ((1, 1, 16), (1, 1, 64), (1, 1, 256), (2, 1, 512), (2, 2, 1024)):
        total = devices * nodes
        step_s = 0.02 + batch / total / 1000
        epoch_s = 8192 / batch * step_s
        strategy = "mirrored" if total > 1 else ""
        yield (
            *(trap for _ in TEXT_COLUMNS), "gpu", strategy, devices, nodes, batch,
            batch / step_s, step_s, 8192, 8192, 20.0, 1.2 * epoch_s, epoch_s,
            epoch_s / 100, 5, 10**9,
        )  # fmt: skip


def _dropped(page: Page, file: FilePayload, text: str) -> None:
    page.locator("input[type=file]").set_input_files([file])
    expect(page.get_by_text(text).first).to_be_visible()
    settled(page)


def _harmless(page: Page, dialogs: list[str], outcome: Outcome, what: str) -> None:
    """Count the place as one that showed all traps; anything that one of them did is a fault."""
    with outcome.step(what):
        _is_harmless(page, dialogs)
    outcome.counts["places that show them"] += 1


def _is_harmless(page: Page, dialogs: list[str]) -> None:
    assert dialogs == []
    assert page.title() != "owned"
    main = page.get_by_test_id("stMain")
    assert main.locator("script, iframe, object, img").count() == 0
    links = main.locator("a[href]").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    elsewhere = ("evil.example", "www.evil.example")
    assert [a for a in links if urlsplit(a).hostname in elsewhere] == []
    assert [a for a in links if urlsplit(a).scheme not in ("", "http", "https")] == []


def _refused(page: Page, app: str, dialogs: list[str], outcome: Outcome) -> None:
    """Files with problems and with unknown columns."""
    wrong = [(t, t, "gpu", t, 1.0, t) for t in TRAPS]
    _dropped(page, _file(f"{SCRIPTS[1]}.csv".replace("/", "_"), wrong), "nothing is imported")
    _harmless(page, dialogs, outcome, "problems of a file")
    page.goto(f"{app}/add-results")
    settled(page)
    heads = (*HEAD[:3], SCRIPTS[1], MARKDOWN[0], "note")
    _dropped(page, _file("b.csv", [("A", "B", "gpu", 1, 2, "c")], heads), "do not have")
    _harmless(page, dialogs, outcome, "fields of columns")
    page.goto(f"{app}/add-results")
    settled(page)


def _shown(page: Page, address: str) -> None:
    """Open an address, and all its boxes."""
    page.goto(address)
    settled(page)
    for box in page.get_by_test_id("stExpander").locator("summary").all():
        if box.is_visible():
            box.click()
    settled(page)


def _each_workload(
    page: Page, app: str, results: Path, dialogs: list[str], outcome: Outcome
) -> None:
    """The pages of each workload, and their reports as files."""
    store = Store(folders_from_environment(ROOT, {"EPOCHWISE_RESULTS": str(results)}))
    store.refresh()
    sets = slugs(set_labels(queries.trial_sets(store)))
    timed, trained = _traps(slugs(queries.workloads(store))), _traps(sets)
    assert len(timed) == len(trained) == len(TRAPS)
    for address in OF_A_WORKLOAD if FULL else OF_A_WORKLOAD[:1]:
        own = trained if address == "steps-to-target" else timed
        for slug in own if FULL else own[:1]:
            _shown(page, f"{app}/{address}?workload={quote(slug)}")
            _harmless(page, dialogs, outcome, f"{address} of {slug}")
    for address in HANDED_OUT if FULL else ():
        [of, *_] = trained if address == "steps-to-target" else timed
        job = quote(f"name={SCRIPTS[1]}; workload={of}; epochs=5; runs=3")
        query = f"jobs={job}" if address == "capacity" else f"workload={quote(of)}"
        _shown(page, f"{app}/{address}?{query}")
        copy = download(page, f"{address}.report")
        report = copy.rename(copy.with_suffix(".html"))
        page.goto(report.as_uri())
        with outcome.step(f"report of {address}"):
            assert dialogs == []
            assert page.title() != "owned"
            assert page.locator("script, iframe, object").count() == 0
            assert page.locator("a[href*='evil.example'], a[href^='javascript:']").count() == 0
        outcome.counts["places that show them"] += 1


def _traps(names: Mapping[str, str]) -> list[str]:
    """The slugs of the names that begin with a trap."""
    return [s for s, name in names.items() if any(name.startswith(trap) for trap in TRAPS)]


def _own_views(page: Page, app: str, results: Path, dialogs: list[str], outcome: Outcome) -> None:
    """What a person writes or chooses: SQL, runs side by side, and the name of a view."""
    _shown(page, f"{app}/explore?view=sql&sql={quote(SELECTED)}")
    _harmless(page, dialogs, outcome, "result of SQL")
    store = Store(folders_from_environment(ROOT, {"EPOCHWISE_RESULTS": str(results)}))
    store.refresh()
    ids = [f"run={run_id}" for run_id in queries.which(store, {"folder": ["yours"]})[:6]]
    _shown(page, f"{app}/explore?view=side&{'&'.join(ids)}")
    _harmless(page, dialogs, outcome, "runs side by side")
    for trap in TRAPS:
        page.goto(f"{app}/how-long")
        settled(page)
        with rerun(page):
            page.get_by_role("button", name="Save view").click()
        widget(page, "how-long.save-view.name").locator("input").fill(trap[:60])
        with rerun(page):
            widget(page, "how-long.save-view.now").get_by_role("button").click()
        _harmless(page, dialogs, outcome, f"saved as {trap}")
    _shown(page, f"{app}/")
    _harmless(page, dialogs, outcome, "saved views")


def test_traps_of_a_file_do_nothing_on_any_page(app: str, results: Path, visit: Visit) -> None:
    assert (len(SCRIPTS), len(MARKDOWN)) == (40, 20)
    outcome = Outcome(name="scripts and Markdown in Chromium", cases=len(TRAPS))
    outcome.counts |= {"scripts": len(SCRIPTS), "pieces of Markdown": len(MARKDOWN)}
    page, dialogs = visit(f"{app}/add-results"), list[str]()
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    if FULL:
        _refused(page, app, dialogs, outcome)
    sound = [row for trap in TRAPS for row in _rows(trap)]
    _dropped(
        page, _file("c.csv", sound, (*TEXT_COLUMNS, *NUMBER_COLUMNS)), f"{len(sound)} new runs"
    )
    for label, text in TERMS.items():
        page.get_by_label(label, exact=True).fill(text)
        page.keyboard.press("Enter")
        settled(page)
    page.get_by_role("button", name=f"Add {len(sound)} runs").click()
    expect(page.get_by_text("runs are added").first).to_be_visible()
    _harmless(page, dialogs, outcome, "after adding")
    for address in sorted(ADDRESSES) if FULL else ("results",):
        for view in ("", *VIEWS[address]) if FULL else ("",):
            _shown(page, f"{app}/{address}?{view}")
            _harmless(page, dialogs, outcome, f"{address}?{view}")
    _each_workload(page, app, results, dialogs, outcome)
    if FULL:
        _own_views(page, app, results, dialogs, outcome)
    outcome.slowest_s = None
    finish(outcome)
