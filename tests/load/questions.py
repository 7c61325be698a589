"""What people click: links to five pages, half of them with a new number."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

EPOCHS: Final = (10, 50, 90, 100, 200, 500, 1000, 2000)
BUSY: Final = "wideresnet-2m-synthetic-cifar-100-adam-float32"
"""Gets new runs while people look at it (`tests.load.writer`)."""
WORKLOADS: Final = (
    BUSY,
    "wideresnet-103m-cifar-100-adam-float32",
    "simple-cnn-32-64-synthetic-cifar-10-sgd-momentum-0.9-float32",
    "mlp-512-512-synthetic-cifar-10-sgd-momentum-0.9-float32",
    "simple-cnn-32-64-synthetic-cifar-10-sgd-float32",
    "resnet-8-synthetic-cifar-10-sgd-momentum-0.9-float32",
    "vgg-11-width-16-synthetic-cifar-10-sgd-momentum-0.9-float32",
    "lstm-1x128-synthetic-tokens-sgd-momentum-0.9-float32",
)
PAGES: Final = ("how-long", "throughput", "compare", "steps-to-target", "results")
Parameters = dict[str, str | int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Click:
    """A link that is opened; with `epochs`, that number is then typed on the page it opened."""

    page: str
    query: str
    epochs: int | None = None


def clicks(user: int) -> Iterator[Click]:
    """The endless walk of a user: the same for the same number."""
    drawn = random.Random(user)
    page = drawn.choice(PAGES)
    while True:
        given = _parameters(page, drawn)
        link = urlencode(given)
        yield Click(page=page, query=link)
        # What was chosen when a link was opened stays chosen, whatever runs come later: so there
        # is no typing where they come.
        if page == "how-long" and given["workload"] != BUSY:
            yield Click(page=page, query=link, epochs=drawn.randint(1, 3000))
        page = drawn.choice([p for p in PAGES if p != page])


def _parameters(page: str, drawn: random.Random) -> Parameters:
    """Never nothing: without parameters a page is shown as it was left."""
    if page == "steps-to-target":
        return {"target": drawn.choice(("0.025", "0.05", "0.1", "0.2"))}
    workload = drawn.choice(WORKLOADS)
    if page == "results":
        filters = ("status", "ok"), ("workload", workload), ("mode", "inference")
        return dict([drawn.choice(filters)])
    found: Parameters = {"workload": workload}
    if page in {"how-long", "compare"}:
        found["epochs"] = drawn.choice([drawn.choice(EPOCHS), drawn.randint(1, 3000)])
    if page == "compare" and drawn.random() < 0.5:
        found["deadline"] = drawn.choice((24, 72, 168))
        found["budget"] = drawn.choice((100, 500))
    return found
