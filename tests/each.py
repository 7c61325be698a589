"""One test for many values: pytest takes 5 ms of a test that takes none, in every worker."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any


def each(
    name: str, values: Iterable[object]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Call a test with each value of a parameter, and report every value that it fails with.

    For tests without fixtures that differ between values, of tables with hundreds of rows.
    """
    known = list(values)

    def one_test(test: Callable[..., None]) -> Callable[..., None]:
        def looped(**fixtures: Any) -> None:  # noqa: ANN401 - of any test
            wrong: list[str] = []
            for value in known:
                try:
                    test(**{name: value}, **fixtures)
                except Exception as error:  # noqa: BLE001 - told with the value
                    wrong.append(f"{name} = {value!r}: {type(error).__name__}: {error}")
            assert known
            assert not wrong, "\n".join([f"{len(wrong)} of {len(known)} values:", *wrong[:20]])

        given = inspect.signature(test)
        others = [p for p in given.parameters.values() if p.name != name]
        looped.__signature__ = given.replace(parameters=others)  # type: ignore[attr-defined]
        looped.__name__, looped.__doc__ = test.__name__, test.__doc__
        looped.__module__, looped.__qualname__ = test.__module__, test.__qualname__
        return looped

    return one_test
