"""Errors by RFC 9457 (application/problem+json), with all problems at once."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Final

from msgspec import UNSET
from msgspec.json import encode
from starlette.responses import Response

from planner.answers import NO_RUN, records
from planner.core import ParameterProblem, plain_text

MEDIA_TYPE: Final = "application/problem+json"
HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
"""Headers of every response of this interface."""
PARAMETERS: Final = "urn:epochwise:problem:parameters"
NO_DATA: Final = "urn:epochwise:problem:no-data"


def problem(
    status: HTTPStatus,
    detail: str,
    *,
    kind: str = "about:blank",
    errors: Sequence[ParameterProblem] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return a response with the problem and what to do.

    Args:
        status: HTTP status.
        detail: sentence for the user.
        kind: URI of the kind of problem; "about:blank" for a plain HTTP status.
        errors: problems of the parameters.
        headers: further headers.
    """
    title = "The question is invalid" if errors else status.phrase
    body = records.Problem(
        type=kind, title=title, status=int(status), detail=detail,
        errors=tuple(map(_error, errors)) or UNSET,
    )  # fmt: skip
    sent = {**HEADERS, "Cache-Control": "no-store", **(headers or {})}
    return Response(
        encode(body, enc_hook=plain_text),
        status_code=int(status),
        headers=sent,
        media_type=MEDIA_TYPE,
    )


def of_parameters(errors: Sequence[ParameterProblem]) -> Response:
    """Return the response to a question with problems."""
    if NO_RUN in errors:
        return problem(HTTPStatus.NOT_FOUND, NO_RUN.message, kind=NO_DATA)
    return problem(
        HTTPStatus.BAD_REQUEST, " ".join(str(e) for e in errors), kind=PARAMETERS, errors=errors
    )


def _error(error: ParameterProblem) -> records.Fault:
    return records.Fault(detail=error.message, parameter=error.parameter or UNSET)
