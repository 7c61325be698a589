from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from runners.child.samples.datasets import (
    DataError,
    as_png_folder,
    augment,
    load,
)
from runners.machine.facts import storage_type
from runners.workloads import DATASETS
from tests.each import each
from tests.runners.networks import python

ROOT = Path(__file__).parents[4]
SYNTHETIC = [name for name, data in DATASETS.items() if data.synthetic]


# -- what a set holds ----------------------------------------------------------------------------


@each("name", ["digits", *SYNTHETIC])
def test_shapes_types_and_classes_are_the_catalogue_s(name: str) -> None:
    data = load(name, 40, 10, seed=1)
    about = DATASETS[name]
    targets = about.shape if about.task == "tokens" else ()
    assert data.train_x.shape == (40, *about.shape)
    assert data.validation_y.shape == (10, *targets)
    assert data.train_x.dtype == (np.int32 if about.task == "tokens" else np.uint8)
    assert data.train_y.dtype == np.int32
    assert 0 <= data.train_y.min() <= data.train_y.max() < about.classes
    assert data.synthetic == about.synthetic


@each("name", ["digits", *SYNTHETIC])
def test_a_seed_gives_the_same_bytes_and_another_seed_gives_others(name: str) -> None:
    assert load(name, 40, 10, seed=1).sha256 == load(name, 40, 10, seed=1).sha256
    assert load(name, 40, 10, seed=1).sha256 != load(name, 40, 10, seed=2).sha256


@each("name", ["digits", *SYNTHETIC])
def test_fewer_samples_are_the_first_of_more(name: str) -> None:
    few, many = load(name, 30, 10, seed=1), load(name, 45, 10, seed=1)
    assert np.array_equal(few.train_x, many.train_x[:30])
    assert np.array_equal(few.train_y, many.train_y[:30])
    assert np.array_equal(few.validation_x, many.validation_x)


def test_the_bytes_of_the_synthetic_sets_never_change() -> None:
    result = {name: load(name, 100, 20, seed=0).sha256[:16] for name in SYNTHETIC}
    assert result == {
        "synthetic-cifar10": "38c3a93f2c888a8a",
        "synthetic-cifar100": "1bf6c09943a48446",
        "synthetic-imagenet": "36722bd398c8de4b",
        "synthetic-tokens": "9f878a24ab4c4043",
        "synthetic-bert-tokens": "a1ccc90fbdae78c3",
        "synthetic-gpt2-tokens": "0af0de83d365225b",
    }


# -- real digits ---------------------------------------------------------------------------------


def test_the_digits_are_scikit_learn_s_each_once_over_both_splits() -> None:
    from sklearn.datasets import load_digits

    data = load("digits", 1_280, 517, seed=3)
    found = np.concatenate([data.train_x, data.validation_x])[..., 0]
    real = np.rint(load_digits().images * 255 / 16)
    assert sorted(found.reshape(1_797, -1).tolist()) == sorted(real.reshape(1_797, -1).tolist())


def test_more_digits_than_there_are_is_an_error_that_says_how_many_there_are() -> None:
    with pytest.raises(DataError, match=r"digits has 1,280 training samples; 2,000 are requested"):
        load("digits", 2_000, 517, seed=0)
    with pytest.raises(DataError, match=r"517 validation samples; 518 are requested.* synthetic"):
        load("digits", 1_280, 518, seed=0)


# -- what can be learnt --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["synthetic-cifar10", "synthetic-cifar100"])
def test_validation_images_are_recognised_by_the_training_images_mean_of_their_class(
    name: str,
) -> None:
    data = load(name, 2_000, 200, seed=0)
    x = data.train_x.reshape(2_000, -1).astype(np.float64)
    means = np.stack([x[data.train_y == c].mean(axis=0) for c in range(data.dataset.classes)])
    there = data.validation_x.reshape(200, -1).astype(np.float64)
    distance = ((there[:, None] - means[None]) ** 2).sum(axis=2)
    assert (distance.argmin(axis=1) == data.validation_y).mean() > 0.95


def test_a_token_s_target_is_the_token_after_it() -> None:
    data = load("synthetic-tokens", 50, 5, seed=0)
    assert np.array_equal(data.train_x[:, 1:], data.train_y[:, :-1])


def test_seven_in_eight_tokens_are_one_of_four_that_their_predecessor_allows() -> None:
    data = load("synthetic-tokens", 2_000, 500, seed=0)
    seen: dict[int, dict[int, int]] = {}
    for before, after in zip(data.train_x.flat, data.train_y.flat, strict=True):
        counts = seen.setdefault(int(before), {})
        counts[int(after)] = counts.get(int(after), 0) + 1
    four = {token: sorted(c, key=c.__getitem__)[-4:] for token, c in seen.items()}
    pairs = zip(data.validation_x.flat, data.validation_y.flat, strict=True)
    allowed = [int(after) in four.get(int(before), ()) for before, after in pairs]
    assert 0.8 < np.mean(allowed) < 0.9


# -- sets that must be downloaded ----------------------------------------------------------------

OFFLINE = """
import json, os
from keras.src.backend import config
config._KERAS_DIR = os.environ["KERAS_HOME"]  # read when Keras was imported
from runners.child.samples.datasets import DataError, load
try:
    load("cifar100", 10, 10, seed=0)
except DataError as error:
    print(json.dumps(str(error)))
"""


def test_without_a_network_cifar_is_an_error_that_names_the_synthetic_set(tmp_path: Path) -> None:
    nowhere = dict.fromkeys(["https_proxy", "HTTPS_PROXY", "http_proxy"], "http://127.0.0.1:9")
    environment = {**os.environ, **nowhere, "no_proxy": "", "KERAS_HOME": str(tmp_path),
                   "KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}  # fmt: skip
    done = subprocess.run(
        [python("tensorflow"), "-c", OFFLINE], cwd=ROOT, env=environment,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result.startswith("CIFAR-100 is not in Keras's cache and could not be downloaded (")
    assert "use the data set synthetic-cifar100" in result


# -- augmentation --------------------------------------------------------------------------------


def test_an_augmented_image_is_a_crop_of_the_padded_one_mirrored_or_not() -> None:
    batch = load("synthetic-cifar10", 30, 1, seed=0).train_x
    padded = np.pad(batch, ((0, 0), (4, 4), (4, 4), (0, 0)))
    found = augment(batch, np.random.default_rng(0))
    for image, around in zip(found, padded, strict=True):
        crops = [around[i : i + 32, j : j + 32] for i in range(9) for j in range(9)]
        assert any(np.array_equal(image, c) or np.array_equal(image, c[:, ::-1]) for c in crops)


def test_every_shift_and_both_directions_occur() -> None:
    batch = np.zeros((4_000, 8, 8, 1), np.uint8)
    batch[:, 4, 4] = 255
    at = np.argwhere(augment(batch, np.random.default_rng(0))[..., 0])
    assert set(at[:, 1]) == set(range(8))
    assert set(at[:, 2]) == set(range(8))
    batch[:] = np.arange(8, dtype=np.uint8)[:, None] + 1
    rows = augment(batch, np.random.default_rng(0))[:, 4, :, 0]
    rising = np.diff(rows[:, 3:5].astype(int)) > 0
    assert 0.4 < rising.mean() < 0.6


def test_augmenting_leaves_the_batch_as_it_was_and_a_seed_repeats_it() -> None:
    batch = load("digits", 20, 1, seed=0).train_x
    before = batch.copy()
    first, second = (augment(batch, np.random.default_rng(5)) for _ in range(2))
    assert np.array_equal(first, second)
    assert np.array_equal(batch, before)
    assert first.dtype == np.uint8


# -- PNG folders ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["digits", "synthetic-cifar10"])
def test_png_files_hold_exactly_the_training_images(name: str, tmp_path: Path) -> None:
    data = load(name, 25, 5, seed=0)
    made = as_png_folder(data, tmp_path / "cache", 0)
    read = np.stack([np.asarray(Image.open(path)) for path in made.paths])
    assert np.array_equal(read.reshape(data.train_x.shape), data.train_x)
    assert np.array_equal(made.labels, data.train_y)
    assert [int(Path(p).parent.name) for p in made.paths] == data.train_y.tolist()
    assert made.folder.name == f"{name}-seed-0-{data.sha256[:16]}"


def test_classes_without_images_have_a_subfolder_so_that_numbering_stays_right(
    tmp_path: Path,
) -> None:
    made = as_png_folder(load("synthetic-cifar100", 3, 1, seed=0), tmp_path, 0)
    assert sorted(p.name for p in made.folder.iterdir()) == [f"{c:04d}" for c in range(100)]


def test_the_same_samples_are_written_once(tmp_path: Path) -> None:
    data = load("digits", 5, 1, seed=0)
    first = as_png_folder(data, tmp_path, 0)
    written = Path(first.paths[0]).stat().st_mtime_ns
    second = as_png_folder(data, tmp_path, 0)
    assert second.paths == first.paths
    assert Path(second.paths[0]).stat().st_mtime_ns == written
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.skipif(not Path("/proc/mounts").exists(), reason="this system lists no mounts")
def test_the_folder_s_file_system_is_reported(tmp_path: Path) -> None:
    made = as_png_folder(load("digits", 2, 1, seed=0), tmp_path, 0)
    kinds = {line.split()[2] for line in Path("/proc/mounts").read_text().splitlines()}
    assert storage_type(made.folder) in kinds


def test_tokens_are_not_written_as_png_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no images"):
        as_png_folder(load("synthetic-tokens", 2, 1, seed=0), tmp_path, 0)
    assert list(tmp_path.iterdir()) == []
