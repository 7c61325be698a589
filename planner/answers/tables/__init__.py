"""Answers of How long? and Throughput as rows and sentences, for page, CSV, report and command."""

from planner.answers.tables._how_long import (
    answer_rows,
    epochs_rows,
    half_width,
    ratio_rows,
    run_sources,
    total_in_words,
)
from planner.answers.tables._throughput import answer_sentences, batch_rows, curve_sources
