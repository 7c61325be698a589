"""The command `scaling-out`: whether more devices pay."""

import argparse

from planner.answers import (
    count_rows,
    crossover_rows,
    cut_rows,
    parameters,
    plain,
    profiled_rows,
    scaling_out,
    scaling_out_answered,
    scaling_out_workloads,
    series_by_slug,
    total_rows,
    worker_rows,
)
from planner.answers.records import ScalingOut
from planner.commands import words
from planner.commands.words import print_answer, print_records, print_table
from planner.store import Store


def run_scaling_out(arguments: argparse.Namespace) -> int:
    """Print whether more devices pay; return the exit code."""
    store = words.open_store(arguments)
    if arguments.list:
        words.refuse(arguments.strange)
        return _list(store)
    question = words.texts_of(arguments, [p.name for p in parameters.SCALING_OUT])
    answer = scaling_out_answered(store, question, words.open_catalog(arguments))
    words.refuse((*arguments.strange, *answer.problems))
    if answer.answer is None:
        return words.REFUSED
    record = scaling_out(answer, store.sets)
    if arguments.json:
        words.print_json(plain(record))
    else:
        _print(record)
    return words.ANSWERED if any(r.refused is None for r in record.rows) else words.REFUSED


def _list(store: Store) -> int:
    """Print the workloads with runs on several device counts, and their series."""
    names = scaling_out_workloads(store)
    lines = [[short, name, ", ".join(series_by_slug(store, name))] for short, name in names.items()]
    print_table(["workload", "name", "series"], lines)
    return words.ANSWERED if lines else words.REFUSED


def _print(record: ScalingOut) -> None:
    print_answer(record.sentences)
    for rows in (count_rows, crossover_rows, total_rows, worker_rows, profiled_rows):
        print_records(rows(record))
    if record.split is not None:
        print_answer(record.split.sentences)
        print_records(cut_rows(record))
