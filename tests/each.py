"""One test for many values: pytest takes 5 ms of a test that takes none, in every worker."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

Test = Callable[..., None]


def each(names: str | tuple[str, ...], values: Iterable[Any]) -> Callable[[Test], Test]:
    """Call a test with each value of a parameter, and report every value that it fails with.

    As `pytest.mark.parametrize`, for tests of tables and formulas, which need no fixture of their
    own for each value.
    """
    parameters = (names,) if isinstance(names, str) else names
    cases = [(value,) if isinstance(names, str) else tuple(value) for value in values]

    def one_test(test: Test) -> Test:
        def looped(**fixtures: Any) -> None:  # noqa: ANN401 - of any test
            wrong: list[str] = []
            for value in cases:
                arguments = dict(zip(parameters, value, strict=True))
                try:
                    test(**arguments, **fixtures)
                except Exception as error:  # noqa: BLE001 - reported with its values
                    wrong.append(f"{arguments}: {type(error).__name__}: {error}")
            assert cases
            assert not wrong, "\n".join([f"{len(wrong)} of {len(cases)} values:", *wrong[:20]])

        signature = inspect.signature(test)
        others = [p for p in signature.parameters.values() if p.name not in parameters]
        looped.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        looped.__name__, looped.__doc__ = test.__name__, test.__doc__
        looped.__module__, looped.__qualname__ = test.__module__, test.__qualname__
        return looped

    return one_test
