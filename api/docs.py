"""docs/api.md, made from the description: `python -m api > docs/api.md`."""

from __future__ import annotations

from typing import Final

from api.openapi import ADDRESSES, PATH, Address, table_of
from api.routes import AT_ONCE, MOST_WAITING
from planner.core import LONGEST_QUERY, LONGEST_VALUE, MOST_GIVEN

_BEGINNING: Final = f"""# The HTTP interface

Made from `api/openapi.py` by `python -m api`. The app answers programs too, wherever it is started
(`make app`, `streamlit run app.py`, `uvicorn app:app`), from the same store as its pages:

```
curl 'http://127.0.0.1:8501/api/v1/compare?epochs=2000&deadline=72'
curl 'http://127.0.0.1:8501/api/v1/projection?epochs=100'
curl 'http://127.0.0.1:8501/api/v1/curve?batch=256&batch=1024'
curl 'http://127.0.0.1:8501/api/v1/results?basis=measured&limit=100'
```

- **A page's link is a question.** The names of a query are those of the pages' links: put what
  stands behind the `?` of a link behind an address below. `python -m planner how-long|compare|curve
  --link URL --json` prints the same body.
- **The same numbers** as on the pages, to the last digit. `_s` are seconds; `_low` and `_high` the
  ends of 90 % intervals; `null` is not known, never 0. A refused answer has `refused` and
  `measure_next`, and is an answer (200).
- **Errors** are `application/problem+json` (RFC 9457). A question that does not fit the data is
  refused (400) with everything that is wrong with it in `errors`; nothing is guessed.
- **Read-only**: GET and HEAD. Every answer has an `ETag`: send it back as `If-None-Match` and get
  304 while nothing has changed.
- **Limits**: {LONGEST_QUERY:,} bytes a query (414), {MOST_GIVEN} values, {LONGEST_VALUE} letters a
  value, {AT_ONCE} questions worked on at once, {MOST_WAITING} more wait; further ones get 503 with
  `Retry-After`. Answers that are kept are sent at once.
- **Who may ask**: whoever may open the pages, under `localhost` or the names of
  `server.allowedHosts` ([settings](settings.md)); others get 403. Scripts of other web sites may
  not: no answer allows other origins. Paths of the machine are never shown.
- **Addresses** begin at the root of the server, whatever `server.baseUrlPath` says of the pages.
- `{PATH}` describes all of it (OpenAPI 3.1).
"""


def api_page() -> str:
    """The whole page."""
    return "\n".join([_BEGINNING, *(_address(a) for a in ADDRESSES)])


def _address(one: Address) -> str:
    lines = [f"## GET {one.path}", "", f"{one.summary}. {one.about}", ""]
    if one.name == "options":
        lines += ["Parameters: those of `/api/v1/compare`.", ""]
    elif one.parameters:
        lines += [*table_of(one.parameters), ""]
    return "\n".join(lines)
