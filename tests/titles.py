"""The pages of the app, for tests with and without a browser."""

from __future__ import annotations

from typing import Final

PAGES: Final = {
    "": "Epochwise",
    "how-long": "How long?",
    "compare": "Compare hardware",
    "capacity": "Capacity",
    "throughput": "Throughput",
    "scaling-out": "Scaling out",
    "steps-to-target": "Steps to target",
    "explore": "Explore",
    "results": "Results",
    "add-results": "Add results",
    "measure": "Measure",
    "method": "Method & accuracy",
}
"""Every address of the app, with its title."""
