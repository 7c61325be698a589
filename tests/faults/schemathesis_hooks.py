"""What schemathesis is not to send: more than the web server itself takes.

Above 64 kB of request line uvicorn answers 400 and closes the connection, which a client that still
sends sees as a broken one. Queries from 8 kB up to there are answered with 414, and are sent.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlencode

import schemathesis

LONGEST: Final = 60_000
"""Letters of a query."""


@schemathesis.hook
def filter_query(_: object, query: dict[str, Any] | None) -> bool:
    """Whether the query is short enough for the server to answer."""
    return len(urlencode(query or {}, doseq=True)) <= LONGEST
