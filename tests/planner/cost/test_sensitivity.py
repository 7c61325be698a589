from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np
import pytest

from planner.core import Floats
from planner.cost import (
    Owned,
    Range,
    break_even_utilisation,
    draw_range,
    quantiles,
    ranges_of,
    sensitivity,
)
from planner.cost._draws import MIDDLES, order

NODE: Final = Owned(
    price_usd=Range(213_258, 250_000, 286_742),  # 6 % standard deviation
    life_years=4,
    residual_share=Range(0.0, 0.1, 0.2),
    rate_of_capital=0.08,
    upkeep_usd_per_year=Range(15_000, 30_000, 45_000),
    power_watts=Range(7_650, 8_500, 9_350),
    pue=Range(1.2, 1.4, 1.6),
    tariff_usd_per_kwh=Range(0.10, 0.15, 0.22),
)
CLOUD_PER_HOUR: Final = Range(8 * 1.9, 8 * 2.8, 8 * 4.0)


def node_inputs() -> dict[str, Floats]:
    """A node of eight cards against the cloud; its life is 3, 4 or 5 years."""
    drawn = {name: draw_range(amount, name) for name, amount in ranges_of(NODE).items()}
    years = np.floor(3 + 3 * MIDDLES)[order("life")]
    return {"cloud": draw_range(CLOUD_PER_HOUR, "cloud"), "life_years": years, **drawn}


def needed(inputs: Mapping[str, Floats]) -> Floats:
    own = {name: draws for name, draws in inputs.items() if name != "cloud"}
    return break_even_utilisation(replace(NODE, **own), inputs["cloud"])


def test_what_decides_between_a_node_and_the_cloud() -> None:
    """The illustration that 0019-money.md tells: utilisation 0.54 [0.37, 0.80], 66 % below 0.6."""
    result = quantiles(needed(node_inputs()))
    ends = [float(end) for end in (result.value, result.low, result.high)]
    np.testing.assert_allclose(ends, [0.54, 0.37, 0.80], atol=0.02)
    assert (needed(node_inputs()) < 0.6).mean() == pytest.approx(0.66, abs=0.03)


def test_cloud_price_and_life_matter_and_power_pue_and_tariff_hardly_do() -> None:
    result = sensitivity(needed, node_inputs())
    names = [influence.name for influence in result]
    assert names[:5] == [
        "cloud",
        "life_years",
        "upkeep_usd_per_year",
        "price_usd",
        "residual_share",
    ]
    found = [influence.rank_correlation for influence in result[:5]]
    np.testing.assert_allclose(found, [-0.73, -0.52, 0.31, 0.18, -0.13], atol=0.06)
    assert all(abs(influence.rank_correlation) < 0.1 for influence in result[5:])


def test_the_swing_of_a_sum_is_that_of_each_part() -> None:
    inputs = {"small": draw_range(Range(0, 1, 2), "s"), "large": draw_range(Range(0, 5, 10), "l")}
    large, small = sensitivity(lambda x: x["small"] - x["large"], inputs)
    ends = 2 * np.sqrt(0.05 / 2)  # of a triangle from 0 to 2
    assert (large.name, small.name) == ("large", "small")
    assert small.swing == pytest.approx(2 - 2 * ends, rel=1e-3)
    assert large.swing == pytest.approx(5 * small.swing, rel=1e-6)
    assert large.high < large.low
    assert small.high > small.low
    assert large.rank_correlation < -0.95


def test_the_order_of_the_inputs_changes_nothing() -> None:
    inputs = node_inputs()
    turned = dict(reversed(inputs.items()))
    assert sensitivity(needed, turned) == sensitivity(needed, inputs)


def test_an_input_that_does_nothing_has_no_swing_and_no_correlation() -> None:
    inputs = {"a": draw_range(Range(0, 1, 2), "a"), "b": np.full(4096, 3.0)}
    first, second = sensitivity(lambda x: x["a"] + 0 * x["b"], inputs)
    assert (first.name, second.name) == ("a", "b")
    assert (second.swing, second.rank_correlation) == (0, 0)
    (alone,) = sensitivity(lambda x: np.full(np.shape(x["a"]), np.inf), {"a": inputs["a"]})
    assert (alone.swing, alone.rank_correlation) == (0, 0)


def test_rank_correlation_shares_ties() -> None:
    drawn = {"a": np.array([1.0, 2.0, 3.0, 4.0])}
    (influence,) = sensitivity(lambda of: np.minimum(of["a"], 3.0), drawn)
    assert influence.rank_correlation == pytest.approx(0.9486832980505138)  # as spearmanr


def test_inputs_must_be_there_of_one_length_and_finite() -> None:
    with pytest.raises(ValueError, match="Inputs have shapes none"):
        sensitivity(needed, {})
    with pytest.raises(ValueError, match=r"\(2,\), \(3,\)"):
        sensitivity(needed, {"a": np.ones(2), "b": np.ones(3)})
    with pytest.raises(ValueError, match="a has draws that are not finite"):
        sensitivity(needed, {"a": np.array([1.0, np.inf])})
