"""Golden answers: 44 questions by command, HTTP interface, page and report, as they were recorded.

`python -m tests.golden` records them anew; names behind it record only those questions.
"""
