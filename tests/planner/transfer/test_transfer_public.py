"""Errors for a card without a measurement: public tables, whole cards and workloads hidden.

`pytest -s` prints the tables of docs/evidence.md.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pytest

from planner.core import Floats
from planner.fits import excludes_one, ratio
from planner.transfer import (
    Cell,
    DataSheet,
    Library,
    Transferred,
    _rungs,
    best_answer,
    fit_library,
    transfer,
)
from planner.transfer._rungs import Evidence, RungPrediction, evidence_for, measured_half_width
from tests.each import each

Predict = Callable[[Library, Evidence], RungPrediction]

DATASETS: Final = Path(__file__).parents[4] / "shared" / "datasets"
TABLES: Final = DATASETS / "lambda_pytorch_benchmark"
SHEETS: Final = DATASETS / "accelerator_hardware" / "epoch_ml_hardware.csv"
pytestmark = pytest.mark.skipif(
    not (TABLES.is_dir() and SHEETS.is_file()),
    reason=f"the public tables are not at {DATASETS}: nothing to compare with",
)
SHEET_OF: Final = {
    "A10": "NVIDIA A10 PCIe",
    "A100 40GB PCIe": "NVIDIA A100",
    "A100 80GB PCIe": "NVIDIA A100 PCIe",
    "A100 80GB SXM4": "NVIDIA A100 SXM4 80 GB",
    "B200_192GB": "NVIDIA B200",
    "GH200_80GB": "NVIDIA GH200",
    "GH200_96GB": "NVIDIA GH200",
    "H100 80GB PCIe Gen5": "NVIDIA H100 PCIe",
    "H100 80GB SXM5": "NVIDIA H100 SXM5 80GB",
    "H100_80GB_PCIe": "NVIDIA H100 PCIe",
    "H100_80GB_SXM5": "NVIDIA H100 SXM5 80GB",
    "H200_140GB_SXM": "NVIDIA H200 SXM",
    "Quadro RTX 8000": "NVIDIA Quadro RTX 8000",
    "RTX 3090": "NVIDIA GeForce RTX 3090",
    "RTX 4090": "NVIDIA GeForce RTX 4090",
    "RTX 6000 Ada": "NVIDIA RTX 6000 Ada Generation",
    "RTX A6000": "NVIDIA RTX A6000",
    "V100 16GB": "NVIDIA Tesla V100 SXM2",
}
"""Names of one card in the two tables; its memory is in the first where that names it."""
TF32_SINCE: Final = "2020-05"
"""Cards from then on ran "fp32" in TF32, so only a printed TF32 peak is their peak."""
TWO: Final = ("bert_base_squad", "resnet50")


class Case(NamedTuple):
    """A library that lacks a cell, where the cell is, and the log samples/s measured there."""

    library: Library
    place: tuple[int, int]
    truth: float


class Score(NamedTuple):
    """Errors log(predicted/measured) and half-widths (NaN: none told) of one way, (n,)."""

    error: Floats
    half_width: Floats

    @property
    def off(self) -> Floats:
        """|predicted/measured - 1| [%]."""
        return 100.0 * np.abs(np.expm1(self.error))

    @property
    def coverage(self) -> float:
        """Share inside the interval [%]."""
        return float(100.0 * (np.abs(self.error) <= self.half_width).mean())

    @property
    def width(self) -> float:
        """Median (high - low)/value [%]."""
        return float(100.0 * np.median(2.0 * np.sinh(self.half_width)))

    def __str__(self) -> str:
        off = self.off
        result = (
            f"{off.size:5} {np.median(off):6.1f} {off.mean():5.1f} {np.percentile(off, 90):5.1f}"
        )
        known = f"{self.coverage:6.0f} {self.width:6.0f}"
        return result + (known if np.isfinite(self.half_width).all() else "     -      -")


@dataclass(frozen=True, slots=True, kw_only=True)
class Public:
    """A public table of single cards in flat columns, and the data sheets for it."""

    workload: list[str]
    precision: list[str]
    card: list[str]
    samples_per_s: list[float]
    sheets: tuple[DataSheet, ...]

    def library(self, keep: Sequence[bool] | None = None) -> Library:
        """The rows to keep, all without an argument."""
        rows = np.array([True] * len(self.card) if keep is None else keep)
        return fit_library(
            np.array(self.workload)[rows],
            np.array(self.precision)[rows],
            np.array(self.card)[rows],
            np.array(self.samples_per_s)[rows],
            self.sheets,
        )

    def without(self, hidden: set[tuple[str, str]]) -> Library:
        """The library without these (workload name, card), in any precision."""
        return self.library([c not in hidden for c in zip(self.workload, self.card, strict=True)])


@cache
def public(version: int) -> Public:
    with (TABLES / f"throughput_v{version}.csv").open(encoding="utf-8") as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if float(row["num_gpu"]) == 1 and row.get("suspect", "0") == "0"
        ]
    return Public(
        workload=[row["model"] for row in rows],
        precision=[row["precision"] for row in rows],
        card=[row["gpu"] for row in rows],
        samples_per_s=[float(row["throughput"]) for row in rows],
        sheets=tuple(s for card in sorted({row["gpu"] for row in rows}) if (s := sheet_of(card))),
    )


def sheet_of(card: str) -> DataSheet | None:
    """What the public data sheets say of a card, None where bandwidth or memory is missing.

    Tensor FLOP/s are half the INT8 ones where only these are printed, as on every sheet of that
    time that prints both.
    """
    row = published()[SHEET_OF[card]]
    known = {name: float(text) for name, text in row.items() if name in NUMBERS and text}
    if named := re.search(r"(\d+)GB", card):
        known["memory_bytes"] = 1e9 * float(named[1])
    if "memory_bytes" not in known or "memory_bandwidth_Bps" not in known:
        return None
    half = known.get("tensor_fp16_bf16_flops", 0.5 * known.get("int8_ops", 0.0))
    plain = known["fp32_flops"] if row["release_date"] < TF32_SINCE else 0.0
    single = known.get("tf32_flops", plain)
    return DataSheet(
        card=card,
        peak_flops_per_s={p: x for p, x in (("fp16", half), ("fp32", single)) if x},
        memory_bandwidth_bytes_per_s=known["memory_bandwidth_Bps"],
        memory_bytes=known["memory_bytes"],
    )


NUMBERS: Final = {
    "fp32_flops", "tf32_flops", "tensor_fp16_bf16_flops", "int8_ops", "memory_bytes",
    "memory_bandwidth_Bps",
}  # fmt: skip


@cache
def published() -> dict[str, dict[str, str]]:
    with SHEETS.open(encoding="utf-8") as file:
        return {row["hardware"]: row for row in csv.DictReader(file)}


# -- what is hidden ----------------------------------------------------------------------------


def place_of(library: Library, workload: tuple[str, str], card: str) -> tuple[int, int]:
    return library.workloads.index(workload), library.cards.index(card)


def cases(table: Public, library: Library, cells: list[tuple[tuple[str, str], str]]) -> list[Case]:
    """The cells that were measured at all, asked of a library that lacks them."""
    full = full_of(table)
    truths = [(w, c, full.log_samples_per_s[place_of(full, w, c)]) for w, c in cells]
    return [Case(library, place_of(library, w, c), y) for w, c, y in truths if np.isfinite(y)]


@cache
def _full(version: int) -> Library:
    return public(version).library()


def full_of(table: Public) -> Library:
    return _full(1 if table is public(1) else 2)


def new_cards(table: Public, benchmarks: tuple[str, ...] = ()) -> Iterator[Case]:
    """A card of which only benchmarks (in both precisions) or, without them, the sheet is known."""
    full = full_of(table)
    for column, card in enumerate(full.cards):
        asked = [w for w in full.workloads if w[0] not in benchmarks]
        sheet = np.isfinite(full.sheets[:, column].sum(axis=-1))
        if not benchmarks:
            asked = [w for w in asked if sheet[full.workloads.index(w)]]
        library = table.without({(w[0], card) for w in full.workloads if w[0] not in benchmarks})
        if card in library.cards:
            yield from cases(table, library, [(w, card) for w in asked])


def new_workloads(table: Public, count: int, every: int = 1) -> Iterator[Case]:
    """A workload measured on `count` cards in one precision, and nowhere else in any."""
    full = full_of(table)
    for workload in full.workloads:
        for own in list(itertools.combinations(full.cards, count))[::every]:
            keep = [
                w != workload[0] or (p == workload[1] and c in own)
                for w, p, c in zip(table.workload, table.precision, table.card, strict=True)
            ]
            library = table.library(keep)
            if workload in library.workloads:
                others = [(workload, card) for card in full.cards if card not in own]
                yield from cases(table, library, others)


def one_gap(table: Public) -> Iterator[Case]:
    """One workload, in all precisions, missing on one card of a full table."""
    full = full_of(table)
    for (workload, card), _ in itertools.groupby(
        sorted((w, c) for (w, _), c in itertools.product(full.workloads, full.cards))
    ):
        both = [w for w in full.workloads if w[0] == workload]
        yield from cases(table, table.without({(workload, card)}), [(w, card) for w in both])


# -- ways of answering -------------------------------------------------------------------------


def ours(asked: list[Case]) -> Score:
    answers = [best_answer(case.library, case.place, 0.9) for case in asked]
    result = [
        (a.log_samples_per_s - case.truth, a.half_width)
        for a, case in zip(answers, asked, strict=True)
        if a is not None and a.calibration.checked
    ]
    assert len(result) == len(asked)
    return Score(*np.array(result).T)


def by_sheet(asked: list[Case], powers: tuple[float, float]) -> Score:
    """The ratio of FLOP/s^p * bandwidth^q of the data sheets, from the mean of the own cards."""
    errors = []
    for case in asked:
        row, column = case.place
        score = case.library.sheets[row, :, :2] @ np.array(powers)
        of_own = case.library.log_samples_per_s[row] - score
        own = of_own[np.isfinite(of_own)]
        if own.size and np.isfinite(score[column]):
            errors.append(own.mean() + score[column] - case.truth)
    return Score(np.array(errors), np.full(len(errors), np.nan))


def by_mean_ratio(asked: list[Case]) -> Score:
    """The mean ratio between the cards over library workloads of the same precision."""
    errors = []
    for case in asked:
        row, column = case.place
        log, alike = case.library.log_samples_per_s, case.library.same_precision[row].copy()
        alike[row] = False
        own = np.isfinite(log[row])
        ratio = log[alike][:, [column]] - log[alike][:, own]
        errors.append(log[row, own].mean() + np.nanmean(ratio) - case.truth)
    return Score(np.array(errors), np.full(len(errors), np.nan))


def by_rank_one(asked: list[Case]) -> Score:
    """Rank one about the row means; the card's score by ridge (0.03) from its benchmarks."""
    errors = []
    for case in asked:
        row, column = case.place
        log, known = case.library.log_samples_per_s, case.library.measured[:, column]
        rest = np.delete(log, column, axis=1)
        mean = rest.mean(axis=1)
        u, s, _ = np.linalg.svd(rest - mean[:, None], full_matrices=False)
        load = u[:, 0] * s[0] / np.sqrt(rest.shape[1])
        score = (
            load[known] @ (log[known, column] - mean[known]) / (load[known] @ load[known] + 0.03)
        )
        errors.append(mean[row] + load[row] * score - case.truth)
    return Score(np.array(errors), np.full(len(errors), np.nan))


OCTAVES: Final = (0.3, 1.0, 3.0, 10.0)
RIDGES: Final = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""From which a fold may choose its constants."""
FLOPS: Final = (1.0, 0.0)
BANDWIDTH: Final = (0.0, 1.0)
ROOT: Final = (0.5, 0.5)


@cache
def scores(version: int) -> dict[str, Score]:
    """All that is published, by what is known and how it is answered."""
    table = public(version)
    sheet, one = list(new_cards(table)), list(new_workloads(table, 1))
    two = list(new_workloads(table, 2, every=7))
    one_benchmark, two_benchmarks = (list(new_cards(table, b)) for b in (("resnet50",), TWO))
    rows = {"data sheet: regression (ours)": ours(sheet)}
    rows |= {f"data sheet: {n} ratio": by_sheet(sheet, p) for n, p in RATIOS.items()}
    rows |= {
        "1 benchmark: ridge (ours)": ours(one_benchmark),
        "1 benchmark: rank one": by_rank_one(one_benchmark),
        "2 benchmarks: ridge (ours)": ours(two_benchmarks),
        "2 benchmarks: rank one": by_rank_one(two_benchmarks),
        "own on 1 card: similar (ours)": ours(one),
        "own on 1 card: mean ratio": by_mean_ratio(one),
    }
    rows |= {f"own on 1 card: {n} ratio": by_sheet(one, p) for n, p in RATIOS.items()}
    rows |= {
        "own on 2 cards: similar (ours)": ours(two),
        "own on 2 cards: mean ratio": by_mean_ratio(two),
        "own on 3 cards: similar (ours)": ours(list(new_workloads(table, 3, every=17))),
        "1 gap in a full table (ours)": ours(list(one_gap(table))),
    }
    return rows


RATIOS: Final = {"peak FLOP/s": FLOPS, "bandwidth": BANDWIDTH, "sqrt(FLOP/s x bw)": ROOT}
OURS: Final = tuple(
    f"{name} (ours)"
    for name in (
        "data sheet: regression", "1 benchmark: ridge", "2 benchmarks: ridge",
        "own on 1 card: similar", "own on 2 cards: similar", "own on 3 cards: similar",
        "1 gap in a full table",
    )
)  # fmt: skip


def mean_error(name: str, version: int = 1) -> float:
    return float(scores(version)[name].off.mean())


# -- constants chosen inside every fold --------------------------------------------------------


def nested(
    asked: list[Case], predict: Predict, grid: Mapping[str, Sequence[float]]
) -> tuple[Score, list[float]]:
    """Each case by the constants with the least mean leave-out error in its own library.

    Also the mean error [%] of every setting of the grid, had it been fixed for all.
    """
    settings = list(itertools.product(*grid.values()))
    chosen, all_errors = [], []
    with pytest.MonkeyPatch.context() as patch:
        for _, of_one in itertools.groupby(asked, key=lambda case: id(case.library)):
            cases_of_one = list(of_one)
            library = cases_of_one[0].library
            known = evidence_for(library, *cases_of_one[0].place)
            tables = []
            for setting in settings:
                for name, value in zip(grid, setting, strict=True):
                    patch.setattr(_rungs, name, value)
                tables.append(predict(library, known).log_samples_per_s)
            errors = [[t[case.place] - case.truth for case in cases_of_one] for t in tables]
            seen = [np.nanmean(np.abs(t - library.log_samples_per_s)) for t in tables]
            chosen += errors[int(np.argmin(seen))]
            all_errors.append(np.array(errors))
    off = 100.0 * np.abs(np.expm1(np.concatenate(all_errors, axis=1))).mean(axis=1)
    return Score(np.array(chosen), np.full(len(chosen), np.nan)), sorted(off.tolist())


@pytest.mark.parametrize(
    ("benchmarks_known", "predict", "grid", "at_most", "fixed_at_most"),
    [
        (
            (),
            _rungs.predict_by_data_sheet,
            {"SHEET_RIDGE": OCTAVES, "WORKLOAD_RIDGE": OCTAVES},
            17.5,
            18.0,
        ),
        (("resnet50",), _rungs.predict_by_benchmarks, {"SLOPE_RIDGE": RIDGES}, 13.5, 13.5),
        (TWO, _rungs.predict_by_benchmarks, {"SLOPE_RIDGE": RIDGES}, 12.5, 13.5),
    ],
)
def test_constants_chosen_inside_every_fold_do_within_a_point_as_well(
    benchmarks_known: tuple[str, ...],
    predict: Predict,
    grid: Mapping[str, Sequence[float]],
    at_most: float,
    fixed_at_most: float,
) -> None:
    score, fixed = nested(list(new_cards(public(1), benchmarks_known)), predict, grid)
    print(f"\n{' '.join(grid)}: chosen inside {score}; fixed {fixed[0]:.1f} to {fixed[-1]:.1f}")
    assert score.off.mean() <= at_most
    assert fixed[-1] <= fixed_at_most


# -- promises ----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
def test_the_table_is_printed(version: int) -> None:
    print(f"\nv{version:<33}     n median  mean   p90 cover%  width%")
    for name, score in scores(version).items():
        print(f"{name:34} {score}")


def test_a_data_sheet_alone_is_16_percent_off_on_average() -> None:
    assert mean_error("data sheet: regression (ours)") <= 16.4


def test_two_public_benchmarks_bring_it_to_12_percent() -> None:
    assert mean_error("2 benchmarks: ridge (ours)") <= 12.0
    assert mean_error("1 benchmark: ridge (ours)") <= 13.0


def test_own_workload_on_one_other_card_misses_the_published_figure_on_these_rows() -> None:
    """15.9 % on a table with four more networks; on these six its method does no better."""
    ours_off = mean_error("own on 1 card: similar (ours)")
    assert 15.9 < ours_off <= 19.0
    assert ours_off < mean_error("own on 1 card: mean ratio") + 0.3


@pytest.mark.parametrize("known", ["data sheet", "own on 1 card"])
def test_every_ratio_of_data_sheet_numbers_is_further_off(known: str) -> None:
    way = "regression" if known == "data sheet" else "similar"
    ours_off = mean_error(f"{known}: {way} (ours)")
    assert all(mean_error(f"{known}: {name} ratio") > ours_off + 2.0 for name in RATIOS)


def test_benchmarks_of_the_card_beat_rank_one_completion() -> None:
    for count in ("1 benchmark", "2 benchmarks"):
        assert mean_error(f"{count}: ridge (ours)") < mean_error(f"{count}: rank one")


def test_each_measurement_more_narrows_what_is_reported() -> None:
    widths = [scores(1)[name].width for name in OURS]
    assert widths[0] > widths[1] > widths[2]
    assert widths[3] > widths[4] > widths[5]


@each("name", OURS)
def test_intervals_at_90_percent_hold_85_to_95(name: str) -> None:
    assert 85.0 <= scores(1)[name].coverage <= 95.0


def own_cards(table: Public, step: int, *, benchmark: bool) -> Iterator[Case]:
    """A workload on one's own card, where no library workload ran, or one of them did."""
    full = full_of(table)
    names = sorted({w for w, _ in full.workloads})
    every = itertools.product(full.workloads, full.cards, full.cards)
    for workload, own, card in itertools.islice(every, 0, None, step):
        others = [n for n in names if n != workload[0]]
        there = {others[sum(map(ord, workload[0] + own)) % len(others)]} if benchmark else set()
        keep = [
            (w in there or c != own) if w != workload[0] else (p == workload[1] and c == own)
            for w, p, c in zip(table.workload, table.precision, table.card, strict=True)
        ]
        library = table.library(keep)
        if own != card and workload in library.workloads and card in library.cards:
            yield from cases(table, library, [(workload, card)])


@pytest.mark.parametrize("version", [1, 2])
def test_from_a_card_where_no_library_workload_ran_benchmarks_of_a_card_say_nothing(
    version: int,
) -> None:
    """They said something: 97 and 327 % off, and 30 and 7 % of the intervals held."""
    asked, held = list(own_cards(public(version), 7, benchmark=False)), []
    assert len(asked) > 20
    for case in asked:
        assert best_answer(case.library, case.place, 0.9, "benchmarks of the card") is None
        answer = best_answer(case.library, case.place, 0.9)
        if answer is not None:
            assert answer.rung == "data sheet of the card"
            held.append(abs(answer.log_samples_per_s - case.truth) <= answer.half_width)
    assert np.mean(held) >= 0.85


@pytest.mark.parametrize("version", [1, 2])
def test_one_library_workload_on_the_own_card_makes_an_interval_that_holds(version: int) -> None:
    asked = list(own_cards(public(version), 7, benchmark=True))
    answers = [best_answer(c.library, c.place, 0.9, "benchmarks of the card") for c in asked]
    held = [
        abs(a.log_samples_per_s - c.truth) <= a.half_width
        for a, c in zip(answers, asked, strict=True)
        if a is not None
    ]
    assert len(held) == len(asked) > 20
    assert np.mean(held) >= 0.85


@each("name", OURS)
def test_on_six_later_cards_intervals_hold_nearly_as_often(name: str) -> None:
    assert 80.0 <= scores(2)[name].coverage <= 100.0


def test_one_machine_reports_another_of_its_kind_within_the_interval_of_a_measurement() -> None:
    """39 machines with one H100 each; of every pair one is measured and the other asked about."""
    table = public(2)
    card = np.array(table.card) == "H100_80GB_SXM5"
    kind = np.array([" ".join(k) for k in zip(table.workload, table.precision, strict=True)])
    log = np.log(table.samples_per_s)
    held = []
    for one in np.unique(kind):
        of_kind = log[card & (kind == one)]
        gap = np.abs(of_kind[:, None] - of_kind)[np.triu_indices(of_kind.size, 1)]
        held.append(float((gap <= measured_half_width(1, 0.0, 0.9)).mean()))
    print(f"\nmachine to machine: held {np.mean(held):.0%}, by workload {np.round(held, 2)}")
    assert 0.85 <= np.mean(held) <= 0.95


def test_cards_without_a_usable_data_sheet_are_reported() -> None:
    full = full_of(public(1))
    said = np.isfinite(full.sheets.sum(axis=-1))
    fp16 = np.array([precision == "fp16" for _, precision in full.workloads])
    lacking = [
        {card for card, known in zip(full.cards, said[row][0], strict=True) if not known}
        for row in (fp16, ~fp16)
    ]
    print(f"\nwithout data sheet: fp16 {sorted(lacking[0])}, fp32 {sorted(lacking[1])}")
    assert lacking[0] == {"Quadro RTX 8000", "RTX 6000 Ada", "RTX A6000"}
    assert lacking[1] == {"A10", "RTX 3090", "RTX 6000 Ada", "RTX A6000"}


# -- decisions ---------------------------------------------------------------------------------


def answered(library: Library, workload: tuple[str, str], card: str) -> Transferred:
    result = transfer(library, Cell(workload=workload[0], precision=workload[1], card=card))
    assert isinstance(result, Transferred)
    return result


def pairs_of_new_cards() -> Iterator[tuple[Transferred, Transferred, float]]:
    """Two cards of which only the data sheets are known, and the true log ratio."""
    table, full = public(1), full_of(public(1))
    for pair in itertools.combinations([s.card for s in table.sheets], 2):
        library = table.without({(w[0], card) for w in full.workloads for card in pair})
        for row, workload in enumerate(full.workloads):
            columns = [full.cards.index(card) for card in pair]
            if np.isfinite(full.sheets[row, columns]).all():
                truth = full.log_samples_per_s[row, columns]
                first, second = (answered(library, workload, card) for card in pair)
                yield first, second, float(truth[0] - truth[1])


def pairs_from_one_card() -> Iterator[tuple[Transferred, Transferred, float]]:
    """Two cards for a workload that was measured on an A100 only."""
    table, full = public(1), full_of(public(1))
    own = "A100 40GB PCIe"
    for row, workload in enumerate(full.workloads):
        keep = [
            w != workload[0] or (p == workload[1] and c == own)
            for w, p, c in zip(table.workload, table.precision, table.card, strict=True)
        ]
        library = table.library(keep)
        result = {c: answered(library, workload, c) for c in full.cards if c != own}
        for pair in itertools.combinations(result, 2):
            truth = full.log_samples_per_s[row, [full.cards.index(card) for card in pair]]
            yield result[pair[0]], result[pair[1]], float(truth[0] - truth[1])


@pytest.mark.parametrize("pairs", [pairs_of_new_cards, pairs_from_one_card])
def test_what_is_decided_is_right_and_what_is_close_is_not_decided(
    pairs: Callable[[], Iterator[tuple[Transferred, Transferred, float]]],
) -> None:
    rows = []
    for first, second, truth in pairs():
        result = ratio(first.estimate, second.estimate)
        right = (result.value > 1.0) == (truth > 0)
        rows.append((excludes_one(result), right, result.low <= np.exp(truth) <= result.high))
    decided, right, held = np.array(rows, dtype=bool).T
    print(
        f"\n{pairs.__name__}: {len(rows)} pairs, {decided.mean():.0%} decided, "
        f"{right[decided].mean():.1%} of these right (values alone: {right.mean():.1%} of all), "
        f"the interval of the ratio held {held.mean():.0%}"
    )
    assert right[decided].mean() >= 0.95
    assert right[decided].mean() > right.mean()
    assert 0.85 <= held.mean() <= 1.0
