"""`python -m api` prints docs/api.md, made from the description of the interface."""

import sys
from typing import Final

from api.openapi import ADDRESSES, PATH, PUSH, ApiAddress, table_of
from api.push import BURST, PER_SECOND
from api.routes import AT_ONCE, MOST_WAITING
from planner.core import LONGEST_QUERY, LONGEST_VALUE, MOST_QUERY_VALUES, Text
from planner.store.pushed import MOST_BYTES, MOST_RUNS

_BEGINNING: Final = f"""# The HTTP interface

Made from `api/openapi.py` by `python -m api`. The app serves this interface however it is started
(`make app`, `streamlit run app.py`, `uvicorn app:app`), from the same store as its pages:

```
curl 'http://127.0.0.1:8501/api/v1/compare?epochs=2000&deadline=72'
curl 'http://127.0.0.1:8501/api/v1/projection?epochs=100'
curl 'http://127.0.0.1:8501/api/v1/curve?batch=256&batch=1024'
curl 'http://127.0.0.1:8501/api/v1/results?basis=measured&limit=100'
```

- **A page's link is a question.** A query has the names of the pages' links: append the part after
  the `?` of a link to an address below. `python -m planner
  how-long|compare|capacity|curve|scaling-out|explore --link URL --json` prints the same body.
- **The same numbers** as on the pages, to the last digit. `_s` are seconds; `_low` and `_high` the
  ends of 90 % intervals; `null` is unknown, never 0. A refused answer has `refused` and
  `measure_next`, and is an answer (200).
- **Errors** are `application/problem+json` (RFC 9457). A question that does not fit the data is
  refused (400) with all its problems in `errors`; nothing is guessed.
- **Read-only**: GET and HEAD, but for `POST /api/v1/runs`. Every answer has an `ETag`; sent back as
  `If-None-Match` it returns 304 while nothing has changed.
- **Limits**: {LONGEST_QUERY:,} bytes a query (414), {MOST_QUERY_VALUES} values,
  {LONGEST_VALUE} letters a value, {AT_ONCE} questions at a time, {MOST_WAITING} more wait; further
  ones get 503 with `Retry-After`. Cached answers are sent immediately.
- **Access**: as for the pages, under `localhost` or the names of `server.allowedHosts`
  ([settings](settings.md)); others get 403. Scripts of other web sites have no access: no answer
  allows other origins. Paths of the machine are never shown.
- **Addresses** begin at the root of the server, independent of `server.baseUrlPath`.
- `{PATH}` describes all of it (OpenAPI 3.1).
"""


def api_page() -> str:
    """Return the text of docs/api.md."""
    return "\n".join([_BEGINNING, *(_address(a) for a in ADDRESSES), _PUSH])


EXAMPLE: Final = """{
  "set": {"slug": "mine", "title": "My runs", "licence": "CC0"},
  "runs": [
    {
      "result_set": "mine", "status": "ok", "basis": "measured", "mode": "training",
      "model": "ResNet-50", "dataset": "CIFAR-10", "system_name": "RTX 4090", "device_kind": "gpu",
      "global_batch_size": 256, "train_samples": 50000, "samples_per_epoch": 50000,
      "first_epoch_s": 21.9, "later_epoch_mean_s": 18.2, "epochs_measured": 5
    }
  ]
}"""
"""A body with the columns that a run needs, and those of its times."""
_PUSH: Final = f"""## POST {PUSH}

Add runs that another machine measured. `python -m runners push` is its client
([measure.md](measure.md#send-runs-to-a-server)).

```
curl -H "Authorization: Bearer $EPOCHWISE_TOKEN" -d @runs.json http://127.0.0.1:8501{PUSH}
```

The body is JSON, with the columns of [records.md](records.md):

```json
{EXAMPLE}
```

200 means that every run is on disk. The same request
may be sent again: a run has one `run_id`, the hash of its identity, and is stored once. Other
numbers under the same `run_id` are refused (409). A set that a push makes is unofficial, unless the
token was made with `--official`; a checked set takes runs from such a token only (403). Each run
names the set that it is sent to, or the request is refused (400). So is a run dated more than a day
after the server's clock.

Limits: {MOST_BYTES:,} bytes and {MOST_RUNS:,} runs a request; {PER_SECOND:g} requests a second and
token, {BURST:g} at once (429).
"""


def _address(address: ApiAddress) -> str:
    lines = [
        f"## GET {address.path}",
        "",
        Text("{summary}. {about}", summary=address.summary, about=address.about),
        "",
    ]
    if address.name == "options":
        lines += ["Parameters: those of `/api/v1/compare`.", ""]
    elif address.parameters:
        lines += [*table_of(address.parameters), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(api_page())
