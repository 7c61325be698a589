"""`python -m planner`: questions answered in a terminal, in words or as JSON; errors that help."""

from __future__ import annotations

import argparse
import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from planner.__main__ import main
from planner.commands import words
from planner.core.slugs import slugs
from planner.store import Folder, Store, commit_runs, queries
from planner.store.pdf import PdfError
from tests.fork_server import executable
from tests.shipped import ROOT, library, store
from tests.store.build import a_set, row

Out = pytest.CaptureFixture[str]
SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><circle r="4"/></svg>'


@pytest.fixture(autouse=True)
def without_own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPOCHWISE_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("EPOCHWISE_CATALOG", str(tmp_path / "catalog"))
    monkeypatch.delenv("EPOCHWISE_FURTHER_RESULTS", raising=False)


@pytest.fixture(autouse=True)
def read_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shipped results, read once for all tests but those of reading them."""
    if request.node.get_closest_marker("usefixtures") is None:
        monkeypatch.setattr(words, "open_store", lambda _: store())


@pytest.fixture
def read_anew() -> None:
    """Results are read as the program reads them."""


def _said(capsys: Out, *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(list(arguments))
    result = capsys.readouterr()
    return code, result.out, result.err


def test_a_reader_that_goes_away_is_no_error_to_talk_about() -> None:
    command = f"{sys.executable} -m planner docs records | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("141\n", "")


def test_a_question_is_answered_by_the_program_itself() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "planner", "how-long", "--epochs", "10"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert re.match(r"10 epochs of WideResNet-103M at batch 4,096 on TPU v2-8: 9 min", done.stdout)
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    ("command", "seen"),
    [
        (
            ["how-long"],
            [
                "2000 epochs of WideResNet-103M",
                "25:21:41",
                "System",
                "Against GPU · batch 64",
                "24.3x faster",
            ],
        ),
        (["curve", "--batch", "100"], ["saturates at", "v0 (samples/s)", "interpolated"]),
        (["compare", "--deadline", "72"], ["Renting", "Cost of a run (USD)", "Rank", "in time"]),
    ],
)
def test_answers_are_sentences_and_tables(command: list[str], seen: list[str], capsys: Out) -> None:
    code, out, _ = _said(capsys, *command)
    assert code == 0
    assert all(w in out for w in seen)
    assert all(line == line.rstrip() for line in out.splitlines())


def test_how_long_without_a_total_names_the_stated_times_and_the_command_for_them(
    capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "open_store", lambda _: library())
    workload = "llama-2-70b-lora-mlperf-govreport"
    code, out, errors = _said(capsys, "how-long", "--workload", workload, "--epochs", "3")
    assert (code, errors) == (1, "")
    assert "140 runs state their time to evaluation loss 0.925." in out
    command = out.split("Run python -m planner ")[1].splitlines()[0]
    assert _said(capsys, *command.split())[0] == 0
    result = json.loads(_said(capsys, "how-long", "--workload", workload, "--json")[1])
    assert "140 runs state" in result["note"]


def test_in_a_terminal_the_same_numbers_stand_in_the_table(
    capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = _said(capsys, "how-long")
    assert code == 0
    assert "25:21:41" in out


def test_json_is_one_document_with_every_number(capsys: Out) -> None:
    for command in ("how-long", "curve", "compare"):
        code, out, _ = _said(capsys, command, "--json")
        assert code == 0
        result = json.loads(out)
        assert result["sources"]
        assert result["rows" if command != "curve" else "curves"]


def test_a_page_s_link_is_a_question_and_what_stands_beside_it_counts(capsys: Out) -> None:
    link = "http://127.0.0.1:8501/how-long?epochs=10&scale=linear"
    assert json.loads(_said(capsys, "how-long", "--json", "--link", link)[1])["epochs"] == 10
    both = _said(capsys, "how-long", "--json", "--link", link, "--epochs", "20")[1]
    assert json.loads(both)["epochs"] == 20


def test_the_query_of_an_answer_asks_it_again(capsys: Out) -> None:
    asked = ["compare", "--json", "--deadline", "72", "--own", "rent|h100-sxm|8|19.9", "--pue",
             "1.15"]  # fmt: skip
    first = json.loads(_said(capsys, *asked)[1])
    again = json.loads(_said(capsys, "compare", "--json", "--link", first["query"])[1])
    assert again == first


@pytest.mark.parametrize(
    ("command", "result"),
    [
        (["how-long", "--epochs", "0", "--workload", "nope"], ["epochs:", "workload:", "Choose"]),
        (["compare", "--pue", "99", "--options", "gone"], ["pue:", "'gone'"]),
        (["curve", "--link", "http://[x?epochs=1"], ["--link", "Copy it again"]),
        (["how-long", "--link", "http://h/how-long?epoch=3"], ["epoch:", "Perhaps epochs?"]),
        (["compare", "--workload", "described"], ["samples:", "flops:"]),
        (["compare", "--own", "rent|h100-sxm|8"], ["price per hour"]),
    ],
)
def test_wrong_words_are_all_reported_on_stderr_with_what_to_do(
    command: list[str], result: list[str], capsys: Out
) -> None:
    code, out, err = _said(capsys, *command)
    assert (code, out) == (2, "")
    assert all(t in err for t in result)
    assert "Traceback" not in err


def test_a_list_that_does_not_exist_is_not_guessed(capsys: Out) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["how-long", "--list", "sheep"])
    assert ended.value.code == 2


def test_compare_prints_what_a_timed_step_narrows_and_what_fits_only_sharded(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = _said(capsys, "compare")[1]
    assert "Time one step: " in out
    assert "H100 SXM5 80GB (server): Only sharded: weights, gradients" in out


def test_compare_prints_the_condition_of_an_option_that_fits_only_with_a_smaller_state(
    capsys: pytest.CaptureFixture[str],
) -> None:
    option = ["--own", "rent|h100-sxm|8|24", "--options", "mine-rent-h100-sxm-8-24"]
    job = ["--workload", "described", "--network", "mixtral-8x7b", "--total-tokens", "100M"]
    code, out, _ = _said(capsys, "compare", *job, *option)
    assert code == 0
    assert "8 x H100 SXM5 80GB (own entry): Fits only with 8-bit moments and no master" in out
    assert "). It fits only with 8-bit moments and no master weights.\n" in out
    assert "estimated from FLOPs" in out


@pytest.mark.parametrize("command", ["how-long", "compare", "curve"])
def test_options_that_do_not_exist_are_reported_with_what_is_near_and_where_all_are(
    command: str, capsys: Out
) -> None:
    code, out, err = _said(capsys, command, "--workloat", "3", "--zzz=1", "4", "--workload", "no")
    assert (code, out) == (2, "")
    see = f"See python -m planner {command} --help."
    assert f"- There is no option --workloat. Perhaps --workload? {see}" in err
    assert f"- There is no option --zzz. {see}" in err
    assert "- Unexpected word '4'" in err
    assert "workload:" in err  # all at once
    assert "'3'" not in err  # the value of an option that is told already


@pytest.mark.parametrize(
    "asked", [["--list", "workloads"], ["--link", "http://[x?epochs=1"], []]
)  # fmt: skip
def test_nothing_is_answered_beside_an_option_that_does_not_exist(
    asked: list[str], capsys: Out
) -> None:
    code, out, err = _said(capsys, "how-long", *asked, "--epoch", "3")
    assert (code, out) == (2, "")
    assert err.count("There is no option --epoch. Perhaps --epochs?") == 1


def test_a_typing_error_is_not_forgiven_by_anyway(capsys: Out) -> None:
    code, out, err = _said(capsys, "compare", "--anyway", "--epoks", "3")
    assert (code, out) == (2, "")
    assert "Perhaps --epochs?" in err


def test_a_link_that_no_longer_fits_is_answered_only_where_that_is_asked_for(capsys: Out) -> None:
    measured = ["--workload", "wideresnet-103m-cifar-100-adam-float32"]
    asked = ["compare", *measured, "--options", "gone", "--options", "buy-1x-rtx-5090"]
    assert _said(capsys, *asked)[0] == 2
    code, out, err = _said(capsys, *asked, "--anyway")
    assert code == 0
    assert "GeForce RTX 5090" in out
    assert "Note:" in err
    assert "'gone'" in err


def test_where_no_option_is_left_it_is_said_so_and_what_to_do(capsys: Out) -> None:
    code, out, err = _said(capsys, "compare", "--options", "gone", "--anyway")
    assert (code, out) == (1, "")
    assert "Note: options:" in err
    assert "'gone'" in err
    assert "No option is left to compare. Name others" in err


@pytest.mark.usefixtures("read_anew")
def test_without_any_run_it_is_said_what_to_do(
    capsys: Out, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planner.commands.words.ROOT", tmp_path)
    for command, question in (("how-long", ()), ("curve", ()), ("compare", ("--epochs", "5"))):
        code, out, err = _said(capsys, command, *question)
        assert (code, out) == (1, "")
        assert "Measure one" in err
        assert _said(capsys, command, "--list", "workloads")[0] == 1


def test_lists_name_what_can_be_asked(capsys: Out) -> None:
    first = next(iter(queries.workloads(store())))
    assert first in _said(capsys, "how-long", "--list", "workloads")[1]
    assert "h100-sxm" in _said(capsys, "compare", "--list", "accelerators")[1]
    options = _said(capsys, "compare", "--list", "options")[1]
    assert "buy-1x-rtx-5090" in options
    code, networks, _ = _said(capsys, "compare", "--list", "networks")
    assert code == 0
    assert re.search(r"^mixtral-8x7b +Mixtral 8x7B +moe$", networks, re.MULTILINE)


@pytest.mark.usefixtures("read_anew")
def test_further_results_are_read_from_the_folder_that_is_named(
    capsys: Out, tmp_path: Path
) -> None:
    from tests.store.build import row

    place = tmp_path / "mine" / "a"
    place.mkdir(parents=True)
    commit_runs(place, [row(model="Unheard-of")])
    (place / "set.toml").write_text('title = "T"\nlicence = "CC0"\nsource = "s"\n')
    result = _said(capsys, "how-long", "--list", "workloads", "--results", str(place.parent))
    assert "Unheard-of" in result[1].splitlines()[2]  # below the head: one's own come first
    assert "Unheard-of" not in _said(capsys, "how-long", "--list", "workloads")[1]


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("how-long", "results"), ("curve", "results"), ("how-long", "catalog"),
        ("compare", "catalog"), ("report --out x.html", "catalog"),
    ],
)  # fmt: skip
def test_a_folder_whose_name_is_not_utf_8_is_refused_in_words(
    command: str, option: str, tmp_path: Path
) -> None:
    place = os.fsencode(tmp_path) + b"/\xff\xfe"
    os.makedirs(place + b"/mine")  # noqa: PTH103 - bytes
    asked: list[str | bytes] = [executable("planner"), "-m", "planner", *command.split()]
    asked += [f"--{option}", place]
    done = subprocess.run(asked, capture_output=True, cwd=ROOT, check=False)
    result = done.stderr.decode()
    assert (done.returncode, done.stdout) == (2, b"")
    if (command, option) == ("how-long", "catalog"):
        return  # it takes no catalogue
    assert "has a name that is not UTF-8. Rename it first." in result
    assert "Traceback" not in result


def test_folders_of_the_environment_whose_names_are_not_utf_8_hide_no_others(
    tmp_path: Path,
) -> None:
    place = os.fsencode(tmp_path) + b"/\xff"
    os.makedirs(place + b"/mine")  # noqa: PTH103 - bytes
    environment = os.environb | {b"EPOCHWISE_RESULTS": place, b"EPOCHWISE_FURTHER_RESULTS": place}
    asked = [executable("planner"), "-m", "planner", "how-long", "--json"]
    done = subprocess.run(asked, capture_output=True, cwd=ROOT, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"]


@pytest.mark.usefixtures("read_anew")
@pytest.mark.parametrize("command", ["how-long", "curve", "compare", "report --out x.html"])
def test_a_folder_that_is_named_must_be_there(command: str, capsys: Out, tmp_path: Path) -> None:
    missing, file = tmp_path / "nope", tmp_path / "file"
    file.write_text("")
    asked = [*command.split(), "--results", str(missing), "--catalog", str(file)]
    code, out, err = _said(capsys, *asked)
    assert (code, out) == (2, "")
    assert f"--results: {missing} cannot be read (No such file or directory). Name a folder" in err
    assert f"--catalog: {file} is a file, not a folder. Name a folder with hardware.csv" in err


@pytest.mark.usefixtures("read_anew")
def test_files_of_results_that_are_refused_are_reported_and_the_rest_is_answered(
    capsys: Out, tmp_path: Path
) -> None:
    from tests.store.build import row

    place = tmp_path / "mine" / "a"
    place.mkdir(parents=True)
    (place / "set.toml").write_text('title = "T"\nlicence = "CC0"\nsource = "s"\n')
    whole = commit_runs(place, [row(model="Unheard-of")])[0].path
    (place / f"{'c' * 32}.parquet").write_bytes(whole.read_bytes()[:-200])
    (place / "junk.parquet").write_bytes(b"junk" * 99)
    asked = ["how-long", "--list", "workloads", "--results", str(place.parent)]
    code, out, err = _said(capsys, *asked)
    assert code == 0
    assert "Unheard-of" in out
    for name in ("c" * 32, "junk"):
        assert f"Results: {place / name}.parquet is not a whole parquet file" in err
    assert f"Run python -m planner.store verify --folder {place.parent} to check all" in err


@pytest.mark.usefixtures("read_anew")
def test_of_many_refused_files_the_first_are_named_and_the_rest_is_counted(
    capsys: Out, tmp_path: Path
) -> None:
    place = tmp_path / "results" / "a"
    place.mkdir(parents=True)
    (place / "set.toml").write_text('title = "T"\nlicence = "CC0"\nsource = "s"\n')
    for number in range(words.MOST_FILES + 2):
        (place / f"{number}.parquet").write_bytes(b"")
    err = _said(capsys, "how-long", "--list", "workloads")[2]
    assert err.count(".parquet") == words.MOST_FILES
    assert "Results: 2 more files are refused. Run python -m planner.store verify to check" in err


def test_problems_of_one_s_own_catalogue_are_reported_with_its_folder(
    capsys: Out, tmp_path: Path
) -> None:
    own = tmp_path / "catalog"
    own.mkdir()
    shipped = (ROOT / "data" / "catalog" / "prices.csv").read_text().splitlines()
    (own / "prices.csv").write_text(f"{shipped[0]}\nonly,three,cells\n")
    code, _, err = _said(capsys, "compare", "--list", "accelerators", "--catalog", str(own))
    assert code == 0
    assert err.startswith(f"Catalogue {own}: Row 2 of prices.csv")


# -- report ------------------------------------------------------------------------------------


def test_a_report_is_written_with_its_data_and_the_link_that_restores_it(
    capsys: Out, tmp_path: Path
) -> None:
    out, logo = tmp_path / "offer.html", tmp_path / "logo.svg"
    logo.write_text(SVG)
    link = "https://plan.example/compare?deadline=72&view=chart"
    code, printed, err = _said(
        capsys, "report", "--out", str(out), "--link", link, "--company", "Example & Co",
        "--logo", str(logo), "--with-data", "--runs-per-month", "9",
    )  # fmt: skip
    assert (code, printed) == (0, "")
    assert err.startswith("Written: ")
    page = out.read_text()
    assert "Example &amp; Co" in page
    assert "data:image/svg+xml" in page
    live = html.unescape(page.partition('href="https://plan.example/compare?')[2].partition('"')[0])
    assert {"deadline=72", "runs_per_month=9", "order=cost"} < set(live.split("&"))
    assert "workload=" in live
    result = json.loads(_said(capsys, "compare", "--json", "--deadline", "72",
                            "--runs-per-month", "9")[1])  # fmt: skip
    table = pq.read_table(out.with_suffix(".parquet")).to_pylist()
    ends = [r["finishes"] for r in table if r["finishes"]]
    assert ends
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\dZ", e) for e in ends)
    assert [r["cost_per_run"] for r in table] == [r["cost_per_run"] for r in result["rows"]]
    assert out.with_suffix(".csv").read_text().count("\n") >= len(table) + 1
    assert html.escape(result["sentence"], quote=False) in page


def test_a_report_of_a_link_says_that_runs_or_prices_were_others(
    capsys: Out, tmp_path: Path
) -> None:
    out = tmp_path / "offer.html"
    link = "https://plan.example/compare?made=2026-11-01-00000000"
    code, _, err = _said(capsys, "report", "--out", str(out), "--link", link)
    assert code == 0
    said = "This link was made on 2026-11-01 with other runs or prices"
    assert f"Note: {said}" in err
    assert said in out.read_text()


def test_a_pdf_needs_a_browser_and_says_so(
    capsys: Out, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(_: str) -> bytes:
        raise PdfError("Install one.")

    monkeypatch.setattr(words, "pdf_of", none)
    out = tmp_path / "offer.pdf"
    code, _, err = _said(capsys, "report", "--out", str(out))
    assert code == 1
    assert "No PDF was made. Install one." in err
    assert not out.exists()


@pytest.mark.parametrize(
    ("more", "result"),
    [
        (["--out", "offer.docx"], "Name a .html or a .pdf file"),
        (["--out", "offer.html", "--logo", "no-such.png"], "Name another file"),
        (["--out", "offer.html", "--link", "http://h/throughput?x=1"], "page throughput"),
        (["--out", "offer.html", "--budget", "much"], "budget:"),
    ],
)
def test_a_report_that_cannot_be_made_says_why(
    more: list[str], result: str, capsys: Out, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = _said(capsys, "report", *more)
    assert code == 2
    assert result in err
    assert not list(tmp_path.iterdir())


def test_a_logo_that_runs_something_is_refused(capsys: Out, tmp_path: Path) -> None:
    logo = tmp_path / "logo.svg"
    logo.write_text(SVG.replace("<circle", "<script>x</script><circle"))
    out = tmp_path / "offer.html"
    code, _, err = _said(capsys, "report", "--out", str(out), "--logo", str(logo))
    assert code == 2
    assert "more than a drawing" in err
    assert not out.exists()


@pytest.mark.parametrize("folder", ["file", "none/such"])
def test_a_report_makes_no_folder_and_says_which_is_missing(
    capsys: Out, tmp_path: Path, folder: str
) -> None:
    (tmp_path / "file").write_text("")
    code, _, err = _said(capsys, "report", "--out", str(tmp_path / folder / "offer.html"))
    assert code == 2
    assert f"there is no folder {tmp_path / folder}" in err
    assert "name another place" in err
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


# -- a month of jobs -----------------------------------------------------------------------------

JOBS = """name,network,total_tokens,training,precision,runs,within,interruptible
Adapters,llama-3-8b,20M,lora,bfloat16,60,12,yes
Full,llama-3-8b,100M,full,bfloat16,20,24,no
"""


def test_a_month_of_jobs_is_planned_from_a_file(capsys: Out, tmp_path: Path) -> None:
    file = tmp_path / "jobs.csv"
    file.write_text(JOBS, encoding="utf-8")
    asked = ["capacity", "--jobs", str(file), "--months", "12", "--probability", "95"]
    code, out, _ = _said(capsys, *asked)
    assert code == 0
    assert all(w in out for w in ("a month", "Adapters", "Full", "Waiting", "This fleet"))
    assert all(line == line.rstrip() for line in out.splitlines())
    result = json.loads(_said(capsys, *asked, "--json")[1])
    assert result["keeps_deadlines"]
    assert [job["job"] for job in result["jobs"]] == ["Adapters", "Full"]
    again = json.loads(_said(capsys, "capacity", "--json", "--link", f"?{result['query']}")[1])
    assert again == result


def test_a_fleet_of_own_machines_is_answered_as_it_stands(capsys: Out, tmp_path: Path) -> None:
    file = tmp_path / "jobs.csv"
    file.write_text(JOBS.replace(",", "\t"), encoding="utf-8")
    asked = ["capacity", "--jobs", str(file), "--find", "off", "--months", "12"]
    code, out, _ = _said(capsys, *asked, "--owned", "2 x h100-sxm|8")
    assert code == 0
    assert out.startswith("Use 2 machines with 8 x H100")
    code, out, errors = _said(capsys, *asked)
    assert (code, errors) == (1, "")
    assert out.startswith("No machine")
    assert json.loads(_said(capsys, *asked, "--json")[1])["jobs"][0]["median_wait_s"] is None


def test_all_that_is_wrong_in_a_file_of_jobs_is_reported(capsys: Out, tmp_path: Path) -> None:
    file = tmp_path / "jobs.csv"
    file.write_text("name,network,runs\nA,llama-3-8b,many\n,llama-3-8b,1\n", encoding="utf-8")
    code, _, errors = _said(capsys, "capacity", "--jobs", str(file), "--month", "12")
    assert code == 2
    assert all(w in errors for w in ("Row 1, column runs", "Row 2, column name", "--months?"))
    code, _, errors = _said(capsys, "capacity", "--jobs", str(tmp_path / "none.csv"))
    assert code == 2
    assert "No such file" in errors


def test_capacity_without_a_question_answers_the_example_of_its_page(capsys: Out) -> None:
    def query(*arguments: str) -> str:
        code, out, errors = _said(capsys, "capacity", *arguments, "--json")
        assert (code, errors) == (0, "")
        return str(json.loads(out)["query"])

    page = query("--link", "http://127.0.0.1:8501/capacity")
    assert page == query() == query("--preset", "fine-tuning")
    assert "Small%20adapters" in page


def test_presets_of_jobs_are_listed(capsys: Out) -> None:
    code, out, _ = _said(capsys, "capacity", "--list", "presets")
    assert code == 0
    assert "fine-tuning" in out


STEERING = "\x1b]0;window\x07\x1b[2J\x9b31m\x00\r\u202e"
"""A title of the window, an empty screen, a colour, an overwritten line, the other direction."""
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


@pytest.mark.usefixtures("read_anew")
@pytest.mark.parametrize("in_terminal", [True, False])
def test_no_name_of_a_run_steers_the_terminal(
    capsys: Out, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, in_terminal: bool
) -> None:
    runs = [
        row(model=f"{STEERING}Net", system_name=f"{STEERING}{card}", global_batch_size=batch,
            samples_per_epoch=1000, first_epoch_s=2.0, later_epoch_mean_s=1.0 + 8.0 / batch,
            later_epoch_sd_s=0.01, epochs_measured=5, pre_train_s=1.0)
        for card in ("A", "B") for batch in (8, 16, 32)
    ]  # fmt: skip
    a_set(tmp_path / "results", runs, slug="steering")
    [slug] = [s for s, name in slugs(queries.workloads(_opened(tmp_path))).items() if "Net" in name
              and STEERING in name]  # fmt: skip
    asked = ["--workload", slug]
    opened = words.open_store(argparse.Namespace(results=None))  # once for all commands
    monkeypatch.setattr(words, "open_store", lambda _: opened)
    if in_terminal:
        monkeypatch.setenv("TERM", "dumb")  # without the bold letters of heads
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    for command in (
        ["how-long", *asked], ["curve", *asked], ["compare", *asked], ["scaling-out", *asked],
        ["how-long", *asked, "--systems", "none"], ["how-long", "--list", "workloads"],
        ["how-long", *asked, "--json"], ["curve", *asked, "--json"],
        ["explore", "--workload", slug], ["sql", "SELECT DISTINCT model FROM runs"],
        *([["sql", "SELECT DISTINCT model FROM runs", "--csv"]] if in_terminal else []),
    ):  # fmt: skip
        _, out, err = _said(capsys, *command)
        assert not CONTROLS.search(out + err), command
    _, out, _ = _said(capsys, "how-long", *asked, "--json")
    if not in_terminal:
        assert STEERING in json.loads(out)["sentence"]


def _opened(place: Path) -> Store:
    shared = Store([Folder(path=place / "results", label="yours", kind="own")])
    shared.refresh()
    return shared
