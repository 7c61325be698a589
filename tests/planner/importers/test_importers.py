"""Results of other programs, on small files made by hand in each format."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from planner.__main__ import main
from planner.importers import (
    SOURCES,
    SourceError,
    Stated,
    commit,
    files_from,
    licences,
    mapping,
    preview,
    read,
    with_terms,
)
from planner.importers.formats.logs.tensorboard_events import _checksum
from planner.runs import RecordError
from planner.store.summaries import summaries
from tests.store.build import opened

FACTS: dict[str, Any] = {
    "model": "ResNet-50", "dataset": "CIFAR-10", "system_name": "RTX 4090", "device_kind": "gpu",
    "global_batch_size": 250, "samples_per_epoch": 50_000,
}  # fmt: skip


def rows_of(name: str, path: Path, facts: dict[str, Any], **options: str) -> list[dict[str, Any]]:
    """The rows of a file as they would be committed."""
    return read(name, files_from(path, SOURCES[name]), Stated(facts=facts, options=options), "Mine")


def refused(name: str, path: Path, facts: dict[str, Any], **options: str) -> str:
    """Why a file is not taken."""
    with pytest.raises(SourceError) as error:
        rows_of(name, path, facts, **options)
    return str(error.value)


def written(path: Path, text: str) -> Path:
    """`path` with the text."""
    path.write_text(text, encoding="utf-8")
    return path


# -- Keras and Lightning --------------------------------------------------------------------------

CSV_LOG = "epoch,loss,val_accuracy,time\n0,2.0,0.5,61000\n1,1.5,0.6,50000\n2,1.2,0.7,52000\n"


def test_a_keras_log_gives_epoch_times_and_evaluations(tmp_path: Path) -> None:
    path = written(tmp_path / "log.csv", CSV_LOG)
    [row] = rows_of("keras-history", path, FACTS, time="time:ms")
    assert row["first_epoch_s"] == pytest.approx(61.0)
    assert (row["later_epoch_mean_s"], row["later_epoch_sd_s"]) == pytest.approx((51.0, 1.0))
    assert [e["step"] for e in row["evaluations"]] == [200, 400, 600]
    assert row["evaluation_higher_is_better"] is True
    about = {"title": "Mine", "licence": "CC0", "source": "log.csv"}
    assert commit(tmp_path / "mine", [row], about).new == 1
    assert opened(tmp_path).refused == ()


def test_a_time_without_a_unit_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "log.csv", CSV_LOG)
    assert "must be COLUMN:UNIT" in refused("keras-history", path, FACTS, time="time")


def test_history_as_json_is_read_alike(tmp_path: Path) -> None:
    body = {"loss": [2.0, 1.5, 1.2], "val_accuracy": [0.5, 0.6, 0.7], "time": [61.0, 50.0, 52.0]}
    path = written(tmp_path / "history.json", json.dumps(body))
    [row] = rows_of("keras-history", path, FACTS, time="time:s")
    assert row["later_epoch_mean_s"] == pytest.approx(51.0)


def test_lightning_writes_training_and_validation_on_lines_of_their_own(tmp_path: Path) -> None:
    text = "epoch,step,train_loss,val_loss\n0,199,2.0,\n0,199,,1.9\n1,399,1.5,\n1,399,,1.4\n"
    [row] = rows_of("keras-history", written(tmp_path / "metrics.csv", text), FACTS)
    assert [(e["step"], e["value"]) for e in row["evaluations"]] == [(200, 1.9), (400, 1.4)]
    assert row["evaluation_higher_is_better"] is False


def test_two_trainings_in_one_log_are_refused(tmp_path: Path) -> None:
    text = "epoch,val_loss\n0,2.0\n1,1.5\n0,2.0\n"
    assert "several trainings" in refused("keras-history", written(tmp_path / "a.csv", text), FACTS)


# -- Hugging Face ---------------------------------------------------------------------------------

STATE = {
    "epoch": 2.0, "global_step": 400,
    "log_history": [
        {"epoch": 1.0, "step": 200, "eval_loss": 0.9, "eval_f1": 0.7, "eval_runtime": 3.0},
        {"epoch": 2.0, "step": 400, "eval_loss": 0.8, "eval_f1": 0.8, "eval_runtime": 3.0},
        {"epoch": 2.0, "step": 400, "train_runtime": 200.0, "train_samples_per_second": 500.0},
    ],
}  # fmt: skip


def test_a_trainer_state_gives_speed_and_evaluations(tmp_path: Path) -> None:
    facts = {n: v for n, v in FACTS.items() if n != "samples_per_epoch"}
    path = written(tmp_path / "trainer_state.json", json.dumps(STATE))
    [row] = rows_of("hugging-face", path, facts)
    assert (row["throughput"], row["step_s"], row["samples_per_epoch"]) == (500.0, 0.5, 50_000)
    assert [(e["step"], e["value"]) for e in row["evaluations"]] == [(200, 0.7), (400, 0.8)]


def test_a_checkpoint_has_no_total_time_and_is_refused(tmp_path: Path) -> None:
    body = STATE | {"log_history": STATE["log_history"][:2]}  # type: ignore[index]
    path = written(tmp_path / "trainer_state.json", json.dumps(body))
    assert "this is a checkpoint" in refused("hugging-face", path, FACTS)


# -- TensorBoard ----------------------------------------------------------------------------------


def _field(number: int, kind: int, data: bytes) -> bytes:
    size = bytes([len(data)]) if kind == 2 else b""
    return bytes([number << 3 | kind]) + size + data


def _event(wall_s: float, step: int = 0, tag: str = "") -> bytes:
    value = _field(1, 2, tag.encode()) + _field(2, 5, struct.pack("<f", 0.5))
    summary = _field(5, 2, _field(1, 2, value)) if tag else b""
    body = _field(1, 1, struct.pack("<d", wall_s)) + _field(2, 0, bytes([step])) + summary
    return struct.pack("<Q", len(body)) + b"\0" * 4 + body + struct.pack("<I", _checksum(body))


def test_epoch_times_are_differences_of_wall_times(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1"
    stamps = [_event(100.0), _event(170.0, 0, "epoch_loss"), _event(220.0, 1, "epoch_loss")]
    path.write_bytes(b"".join([*stamps, _event(272.0, 2, "epoch_loss"), b"\x40torn"]))
    [row] = rows_of("tensorboard", path, FACTS)
    assert row["until_first_epoch_end_s"] == pytest.approx(70.0)
    assert (row["later_epoch_mean_s"], row["later_epoch_sd_s"]) == pytest.approx((51.0, 1.0))
    assert row["epochs_measured"] == 3


def test_an_event_file_is_dated_by_its_first_event(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1"
    stamps = [
        _event(1772366400.0 + 50.0 * i, max(i - 1, 0), "epoch_loss" if i else "") for i in range(4)
    ]
    path.write_bytes(b"".join(stamps))
    [row] = rows_of("tensorboard", path, FACTS)
    assert f"{row['recorded_at']:%Y-%m-%dT%H:%M%z}" == "2026-03-01T12:00+0000"


@pytest.mark.parametrize("damage", [b"\xff" * 64, b"", b"\x08\0\0\0\0\0\0\0" + b"\xff" * 16])
def test_damaged_event_files_are_refused_in_words(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "events"
    path.write_bytes(damage)
    assert "is not imported" in refused("tensorboard", path, FACTS)


def test_the_checksum_is_that_of_tfrecord_files() -> None:
    assert _checksum(b"123456789") == ((0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8) % 2**32


@pytest.mark.parametrize("wall_s", [50.0, 100.0, 200.0], ids=["first event", "epoch 1", "epoch 3"])
def test_a_changed_wall_time_is_noticed(tmp_path: Path, wall_s: float) -> None:
    path = tmp_path / "events.out.tfevents.1"
    stamps = b"".join(_event(100.0 + 50.0 * i, i, "epoch_loss") for i in range(3))
    whole = _event(50.0) + stamps
    path.write_bytes(whole.replace(struct.pack("<d", wall_s), struct.pack("<d", wall_s + 5.0)))
    assert "its checksum does not match" in refused("tensorboard", path, FACTS)


def test_a_scalar_per_step_is_no_epoch(tmp_path: Path) -> None:
    path = tmp_path / "events"
    path.write_bytes(_event(1.0) + _event(2.0, 10, "epoch_x") + _event(3.0, 20, "epoch_x"))
    assert "epochs count up by 1" in refused("tensorboard", path, FACTS)


# -- published tables -----------------------------------------------------------------------------


def test_a_dawnbench_entry_gives_later_epochs_from_hours(tmp_path: Path) -> None:
    entry = {"model": "ResNet-50", "hardware": "8 x V100", "framework": "MXNet", "author": "A"}
    written(tmp_path / "a.json", json.dumps(entry))
    lines = "epoch\thours\ttop5Accuracy\n1\t0.5\t40\n2\t0.75\t60\n3\t1.0\t93.1\n"
    written(tmp_path / "a.tsv", lines)
    [row] = rows_of("dawnbench", tmp_path, {})
    assert row["later_epoch_mean_s"] == pytest.approx(900.0)
    assert (row["dataset"], row["train_samples"]) == ("ImageNet", 1_281_167)
    assert (row["device_kind"], row["basis"]) == ("gpu", "published")
    assert "accelerators_per_node" not in row


def test_zero_is_a_missing_speed_in_lambdas_table(tmp_path: Path) -> None:
    text = (
        "name_gpu,num_gpu,bert_base_squad_fp16,resnet50_fp32\nRTX 3090,1,172.0,0\nA100,8,0,2600\n"
    )
    rows = rows_of("lambda", written(tmp_path / "a.csv", text), {})
    assert [(r["model"], r["throughput"]) for r in rows] == [
        ("bert_base_squad", 172.0),
        ("resnet50", 2600.0),
    ]
    assert rows[1]["accelerators_per_node"] == 8


# -- the template ---------------------------------------------------------------------------------

TABLE = "net,system_name,device_kind,global_batch_size,step_s\nViT-B,H100,gpu,256,0.125\n"


def test_columns_of_a_table_are_mapped(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", TABLE)
    assert "column net: is unknown" in refused("template", path, {})
    [row] = rows_of("template", path, {}, columns="net:model")
    assert (row["model"], row["step_s"]) == ("ViT-B", 0.125)


def test_a_mapped_column_may_have_a_comma_in_its_name(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", TABLE.replace("net", '"net, of ""us"":\nx"'))
    name = 'net, of "us":\nx'
    [row] = rows_of("template", path, {}, columns=mapping({name: "model", "step_s": ""}))
    assert (row["model"], row.get("step_s")) == ("ViT-B", None)
    assert "Put names in quotes" in refused("template", path, {}, columns=f"{name}:model")


def test_all_problems_of_a_table_come_together(tmp_path: Path) -> None:
    text = TABLE + "B,H100,gpu,many,fast\nC,H100,gpu,1\n"
    path = written(tmp_path / "t.csv", text.replace("net", "model"))
    assert "line 4: has 4 cells; the header has 5." in refused("template", path, {})
    path = written(tmp_path / "t.csv", text.replace("net", "model").replace("gpu,1\n", "gpu,1,1\n"))
    why = refused("template", path, {})
    assert "line 3, global_batch_size: is 'many'; it must be a whole number." in why
    assert "line 3, step_s: is 'fast'; it must be a number." in why


# -- what holds for all ---------------------------------------------------------------------------


def test_missing_facts_are_named_together_and_facts_of_the_file_are_kept(tmp_path: Path) -> None:
    path = written(tmp_path / "log.csv", CSV_LOG)
    why = refused("keras-history", path, {"samples_per_epoch": 1, "global_batch_size": 1},
                  time="time:s")  # fmt: skip
    assert all(f"--fact {name}=" in why for name in ("model", "system_name", "device_kind"))
    table = written(tmp_path / "t.csv", TABLE.replace("net", "model"))
    assert "the file says 'H100'" in refused("template", table, {"system_name": "A100"})


def test_the_same_file_twice_adds_nothing(tmp_path: Path) -> None:
    rows = rows_of("template", written(tmp_path / "t.csv", TABLE.replace("net", "model")), {})
    first, again = (commit(tmp_path / "mine", rows, {"title": "Mine"}) for _ in range(2))
    assert (first.new, first.duplicates, again.new, again.duplicates) == (1, 0, 0, 1)
    assert len(list(summaries(tmp_path / "mine"))) == 1


def test_a_checked_set_takes_no_import(tmp_path: Path) -> None:
    table = TABLE.replace("net", "model") + "ViT-L,H100,gpu,256,0.5\n"
    rows = rows_of("template", written(tmp_path / "t.csv", table), {})
    commit(tmp_path / "mine", rows[:1], {"title": "Mine"})
    about = tmp_path / "mine" / "set.toml"
    about.write_text(about.read_text().replace("unofficial", ""))
    before = sorted(p.name for p in (tmp_path / "mine").iterdir())
    assert commit(tmp_path / "mine", rows[:1], {"title": "Mine"}).duplicates == 1
    with pytest.raises(SourceError, match="mine: is a checked set"):
        commit(tmp_path / "mine", rows, {"title": "Mine"})
    assert sorted(p.name for p in (tmp_path / "mine").iterdir()) == before


def test_contradictions_leave_nothing_half_taken(tmp_path: Path) -> None:
    rows = rows_of("template", written(tmp_path / "t.csv", TABLE.replace("net", "model")), {})
    with pytest.raises(RecordError, match="first_step_s"):
        commit(tmp_path / "mine", [*rows, rows[0] | {"first_step_s": -1.0}], {"title": "Mine"})
    assert not (tmp_path / "mine").exists()


def test_a_second_import_with_other_numbers_says_what_to_do(tmp_path: Path) -> None:
    rows = rows_of("template", written(tmp_path / "t.csv", TABLE.replace("net", "model")), {})
    commit(tmp_path / "mine", rows, {"title": "Mine"})
    with pytest.raises(SourceError) as caught:
        commit(tmp_path / "mine", [rows[0] | {"step_s": 0.25}], {"title": "Mine"})
    said = str(caught.value)
    assert "run 1, step_s: the set has this run with other numbers, in compact-" in said
    assert "Choose another set; for a second measurement state `repeat`." in said
    assert "Errno" not in said
    assert preview(tmp_path / "mine", [rows[0] | {"step_s": 0.25}]).problems[0].fix == (
        "Choose another set; for a second measurement state `repeat`"
    )


def test_a_licence_that_contradicts_the_file_is_refused(tmp_path: Path) -> None:
    rows = [{"model": "A", "licence": "MIT"}, {"model": "B", "licence": "CC BY 4.0"}]
    with pytest.raises(SourceError, match=r"says 'MIT' and 'CC BY 4\.0', you state 'CC0'"):
        with_terms(rows, {"licence": "CC0"}, "a.csv")
    with pytest.raises(SourceError, match=r"the file says 'CC BY 4\.0', you state 'mit'"):
        with_terms(rows, {"licence": "mit"}, "a.csv")
    file = written(tmp_path / "t.csv", TABLE.replace("net", "model"))
    whole = rows_of("template", file, {})[0] | {"licence": "MIT"}
    for step_s, problems in ((0.1, 1), (-1.0, 2)):  # all problems at once
        with pytest.raises(SourceError) as caught:
            with_terms([whole | {"step_s": step_s}], {"licence": "CC0"}, "a.csv")
        assert len(caught.value.problems) == problems
        assert ("step_s" in str(caught.value)) is (problems > 1)
    assert with_terms(rows[:1], {"licence": "mit"}, "a.csv") == rows[:1]
    assert with_terms(rows, {}, "a.csv") == rows
    open_row = {"model": "C", "licence": None}
    given = with_terms([*rows, open_row], {"licence": "CC0"}, "a.csv")
    assert licences(given) == ("MIT", "CC BY 4.0", "CC0")


def test_a_citation_stays_with_its_runs_in_a_set_that_has_another(tmp_path: Path) -> None:
    rows = rows_of("template", written(tmp_path / "t.csv", TABLE.replace("net", "model")), {})
    logged = rows[0] | {"global_batch_size": 8, "source": "a log"}
    for row, citation in ((rows[0], "A, 2025"), (logged, "B, 2026")):
        whole = with_terms([row], {"licence": "CC0", "citation": citation}, "t.csv")
        commit(tmp_path / "mine", whole, {"title": "Mine", "citation": citation})
    assert {r["source"] for r in summaries(tmp_path / "mine")} == {"A, 2025", "a log; B, 2026"}
    assert (tmp_path / "mine" / "set.toml").read_text().count("citation") == 1


def test_every_source_says_what_it_reads_derives_and_refuses() -> None:
    for source in SOURCES.values():
        assert all((source.title, source.files, source.reads, source.derives, source.refuses))


def test_the_command_imports_with_licence_and_source(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "t.csv", TABLE)
    words = ["import", "template", str(path), "--results", str(tmp_path / "results")]
    words += ["--set", "Mine", "--option", "columns=net:model"]
    assert main(words) == 2
    assert "--licence TEXT is missing: the file states none." in capsys.readouterr().err
    words += ["--licence", "CC0"]
    assert main([*words, "--dry-run"]) == 0
    assert "Nothing was written" in capsys.readouterr().out
    assert main(words) == 0
    assert "1 run is new" in capsys.readouterr().out
    [row] = summaries(tmp_path / "results" / "mine")
    assert row["licence"] == "CC0"
    assert opened(tmp_path / "results").refused == ()


def test_the_command_lists_sources_and_prints_the_template(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["import", "--list"]) == 0
    assert "tensorboard: TensorBoard event file" in capsys.readouterr().out
    assert main(["import", "--header"]) == 0
    assert capsys.readouterr().out.startswith("model,dataset,system_name")
