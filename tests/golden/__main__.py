"""Record the answers anew: `python -m tests.golden [NAME ...]`; `git diff` shows what changed."""

from __future__ import annotations

import sys

from tests.golden import answers
from tests.golden.questions import QUESTIONS
from tests.golden.record import edges, recorded


def main(names: list[str]) -> int:
    """Record the named questions, or all of them; 2 where there is no such question."""
    if strange := [name for name in names if name not in QUESTIONS]:
        print(f"There is no question {', '.join(strange)}. Choose from {', '.join(QUESTIONS)}.")
        return 2
    for name in names or QUESTIONS:
        question = QUESTIONS[name]
        answers.write(name, {edge: recorded(question, edge) for edge in edges(question)})
        print(name)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
