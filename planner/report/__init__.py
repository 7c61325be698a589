"""Answers to hand out: one page that opens and prints anywhere, offline and without scripts."""

from planner.report.compare_report import compare_page
from planner.report.logo import MOST_BYTES as MOST_LOGO_BYTES
from planner.report.logo import logo_uri

__all__ = ["MOST_LOGO_BYTES", "compare_page", "logo_uri"]
