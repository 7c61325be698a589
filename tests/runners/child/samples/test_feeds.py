"""Every feed hands over every sample once an epoch, and what is recorded is what arrived."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.runners.networks import answer

SEEN: str = """
import json, sys, warnings
import numpy as np
from dataclasses import asdict, replace
from pathlib import Path
from runners.plan.cases import Case
from runners.child.samples import datasets, feeds
warnings.simplefilter("ignore")
base = Case(sweep="t", workload="mlp", dataset="synthetic-cifar10", train_samples=50,
            validation_samples=0, batch=16, epochs=2, engine="fit", feed="numpy")
data = datasets.load(base.dataset, 50, 0, 0)
images = datasets.as_png_folder(data, Path({cache!r}), 0)
names = [x.tobytes() for x in data.train_x]
def told(batches):
    sizes, labels, found = [], 0, []
    for x, y in batches:
        x, y = np.asarray(x), np.asarray(y)
        sizes.append(len(x))
        if x.dtype != np.uint8:
            x = np.rint(x).astype(np.uint8)
        found += [names.index(i.tobytes()) if i.tobytes() in names else -1 for i in x]
        labels += int(sum(data.train_y[p] == l for p, l in zip(found[-len(y):], y)))
    return {{"sizes": sizes, "found": sorted(found), "labels": labels, "order": found}}
def epoch(case, images):
    fed = feeds.for_fit(case, data, images)
    if case.feed == "numpy":
        steps = range(0, len(fed.x), case.batch)
        return told((fed.x[i:i + case.batch], fed.y[i:i + case.batch]) for i in steps)
    if case.feed == "generator":
        return told(next(fed.x) for _ in range(fed.keywords["steps_per_epoch"]))
    if case.feed == "PyDataset":
        return told(fed.x[i] for i in range(len(fed.x)))
    return told(fed.x.as_numpy_iterator())
out = {{}}
for feed in {feeds!r}:
    for drop in (False, True):
        for stored in (False, True):
            if (feed == "numpy" and stored) or (feed == "directory" and not stored):
                continue
            case = replace(base, feed=feed, drop_remainder=drop,
                           storage="storage" if stored else "memory")
            key = f"{{feed}}, {{'whole batches' if drop else 'all'}}, {{case.storage}}"
            out[key] = epoch(case, images if stored else None)
            out[key]["recorded"] = feeds.samples_of(case)
if "tf.data" in {feeds!r}:
    for drop in (False, True):
        case = replace(base, engine="loop", feed="tf.data", drop_remainder=drop)
        made = feeds.for_loop(case, data, None)
        epochs = []
        for _ in range(2):
            batches = [next(made.full) for _ in range(made.steps)]
            epochs.append(told(batches + ([next(made.last)] if made.last is not None else [])))
        out[f"loop, {{'whole batches' if drop else 'all'}}"] = epochs[0] | {{
            "recorded": feeds.samples_of(case), "second": epochs[1]["order"]}}
changed = replace(base, feed="PyDataset", augmentation=True)
x, y = feeds.for_fit(changed, data, None).x[0]
out["augmented"] = {{"shape": list(x.shape), "same": int(sum(i.tobytes() in names for i in x))}}
print(json.dumps(out))
"""
TENSORFLOW = ("numpy", "generator", "PyDataset", "tf.data", "directory")
JAX = ("numpy", "generator", "PyDataset")


def _seen(backend: str, feeds: tuple[str, ...], cache: Path) -> dict[str, Any]:
    result: dict[str, Any] = answer(SEEN.format(cache=str(cache), feeds=feeds), backend)
    return result


@pytest.fixture(scope="module", params=["tensorflow", "jax"])
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:  # noqa: ANN401
    """One epoch of every feed on a backend: 50 samples in batches of 16."""
    feeds = TENSORFLOW if request.param == "tensorflow" else JAX
    return _seen(request.param, feeds, tmp_path_factory.mktemp("cache"))


def test_every_sample_comes_once_an_epoch_with_its_own_label(seen: dict[str, Any]) -> None:
    for key, result in seen.items():
        if ", all" in key:
            assert result["found"] == list(range(50)), key
            assert result["labels"] == 50, key
            assert result["sizes"] == [16, 16, 16, 2], key


def test_whole_batches_leave_out_the_rest_and_nothing_else(seen: dict[str, Any]) -> None:
    for key, result in seen.items():
        if "whole batches" in key:
            assert result["sizes"] == [16, 16, 16], key
            assert len(set(result["found"])) == 48, key
            assert -1 not in result["found"], key


def test_the_samples_recorded_are_those_that_arrived(seen: dict[str, Any]) -> None:
    for key, result in seen.items():
        if key != "augmented":
            assert result["recorded"] == sum(result["sizes"]), key


def test_the_loop_draws_a_new_order_for_each_epoch(seen: dict[str, Any]) -> None:
    if "loop, all" not in seen:
        pytest.skip("engine loop trains on TensorFlow only")
    result = seen["loop, all"]
    assert result["order"] != result["second"]
    assert sorted(result["second"]) == list(range(50))


def test_augmented_images_keep_their_shape_and_mostly_change(seen: dict[str, Any]) -> None:
    assert seen["augmented"]["shape"] == [16, 32, 32, 3]
    assert seen["augmented"]["same"] < 8
