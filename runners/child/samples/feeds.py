"""Feeds: how samples reach the training loop; all feeds use the same samples.

An epoch visits every training sample once, in a new random order. Its last batch is smaller if
the batch size does not divide the samples, unless `drop_remainder` drops it; `samples_of` returns
the number of processed samples.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import keras
import numpy as np

from runners.child.samples.datasets import Data, PngFolder, augment
from runners.plan.cases import PLACED, Case

if TYPE_CHECKING:
    import tensorflow as tf

Batch = tuple[np.ndarray, np.ndarray]


def steps_of(case: Case) -> tuple[int, int]:
    """Return the full batches of an epoch, and the samples of a smaller last one (0: none)."""
    full, rest = divmod(case.train_samples, case.batch)
    return full, 0 if case.drop_remainder else rest


def samples_of(case: Case) -> int:
    """Return the number of training samples processed in an epoch."""
    full, rest = steps_of(case)
    return full * case.batch + rest


# -- for the loop engine: endless TensorFlow iterators with static shapes ------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """Endless iterators: over full batches, and over each epoch's smaller last batch."""

    full: Iterator[Any]
    last: Iterator[Any] | None
    steps: int
    """Full batches in an epoch."""
    rest: int
    """Samples of the last batch; 0 if none."""


def for_loop(case: Case, data: Data, images: PngFolder | None) -> Batches:
    """Return tf.data iterators over memory or PNG files; static shapes avoid retracing."""
    steps, rest = steps_of(case)
    whole = _Part(skip=0, count=steps, size=case.batch)
    remainder = _Part(skip=steps * case.batch, count=1, size=rest)
    full = _tf_batches(case, data, images, whole) if steps else iter(())
    last = _tf_batches(case, data, images, remainder) if rest else None
    return Batches(full=full, last=last, steps=steps, rest=rest)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A part of each epoch's shuffled samples: `count` batches of `size` after `skip` samples."""

    skip: int
    count: int
    size: int


def _tf_batches(case: Case, data: Data, images: PngFolder | None, part: _Part) -> Iterator[Any]:
    """Return an endless iterator over the batches of one part of every epoch."""
    import tensorflow as tf

    samples = case.train_samples
    skip, count, size = part.skip, part.count, part.size

    def epoch(number: tf.Tensor) -> tf.data.Dataset:
        seed = tf.stack([tf.constant(case.seed, tf.int64), number])
        order = tf.random.experimental.stateless_shuffle(tf.range(samples), seed=seed)
        chosen = order[skip : skip + count * size]
        return tf.data.Dataset.from_tensor_slices(tf.reshape(chosen, (count, size)))

    places = tf.data.Dataset.range(2**62).flat_map(epoch)
    batches = _gathered(case, data, images, places, size)
    if case.strategy not in {"none", *PLACED}:  # an equal part of each batch for each replica
        strategy = tf.distribute.get_strategy()
        return iter(strategy.experimental_distribute_dataset(batches))
    return iter(batches.prefetch(tf.data.AUTOTUNE))


def _gathered(
    case: Case, data: Data, images: PngFolder | None, places: tf.data.Dataset, size: int | None
) -> tf.data.Dataset:
    """Return batches of samples from batches of indices into the training split."""
    import tensorflow as tf

    parallel = case.workers or tf.data.AUTOTUNE
    take = _from_storage(images, data) if images else _from_memory(data)
    batches = places.map(take, num_parallel_calls=parallel)
    if case.augmentation:
        batches = batches.map(_augmenting(case, data, size), num_parallel_calls=parallel)
    return batches


def _from_memory(data: Data) -> Callable[[Any], Any]:
    import tensorflow as tf

    with tf.device("/CPU:0"):  # on a GPU they would count as the network's memory
        x, y = tf.constant(data.train_x), tf.constant(data.train_y)
    return lambda places: (tf.gather(x, places), tf.gather(y, places))


def _from_storage(images: PngFolder, data: Data) -> Callable[[Any], Any]:
    import tensorflow as tf

    paths, labels = tf.constant(list(images.paths)), tf.constant(images.labels)
    shape = data.train_x.shape[1:]

    def read(path: tf.Tensor) -> tf.Tensor:
        image = tf.io.decode_png(tf.io.read_file(path), channels=shape[-1])
        return tf.ensure_shape(image, shape)

    def take(places: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        signature = tf.TensorSpec(shape, tf.uint8)
        read_all = tf.map_fn(read, tf.gather(paths, places), fn_output_signature=signature)
        return read_all, tf.gather(labels, places)

    return take


def _augmenting(case: Case, data: Data, size: int | None) -> Callable[[Any, Any], Any]:
    import tensorflow as tf

    rng = np.random.default_rng(case.seed)
    shape = (size, *data.train_x.shape[1:])

    def change(x: tf.Tensor, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        changed = tf.numpy_function(lambda images: augment(images, rng), [x], tf.uint8)
        return tf.ensure_shape(changed, shape), y

    return change


# -- for model.fit: what Keras takes -------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Fed:
    """Arguments of `model.fit` that hand over the training samples."""

    x: Any
    y: Any = None
    keywords: dict[str, Any] = field(default_factory=dict)


_SHUFFLED: Final = {"shuffle": False}
"""These feeds shuffle themselves; Keras must not shuffle again."""


def for_fit(case: Case, data: Data, images: PngFolder | None) -> Fed:
    """Return the case's feed as arguments of `model.fit`."""
    if case.feed == "numpy":
        kept = samples_of(case)
        return Fed(
            x=data.train_x[:kept], y=data.train_y[:kept], keywords={"batch_size": case.batch}
        )
    if case.feed == "generator":
        steps = Samples(case, data, images)
        return Fed(x=_for_ever(steps), keywords={"steps_per_epoch": len(steps), **_SHUFFLED})
    if case.feed == "PyDataset":
        return Fed(x=Samples(case, data, images), keywords=_SHUFFLED)
    if case.feed == "tf.data":
        return Fed(x=_tf_epoch(case, data, images), keywords=_SHUFFLED)
    return Fed(x=_directory(case, images), keywords=_SHUFFLED)


def _for_ever(samples: Samples) -> Iterator[Batch]:
    while True:
        for step in range(len(samples)):
            yield samples[step]
        samples.on_epoch_end()


def _tf_epoch(case: Case, data: Data, images: PngFolder | None) -> tf.data.Dataset:
    """Return one epoch, shuffled each time Keras starts it."""
    import tensorflow as tf

    places = tf.data.Dataset.range(case.train_samples)
    shuffled = places.shuffle(case.train_samples, seed=case.seed)
    batches = shuffled.batch(case.batch, drop_remainder=case.drop_remainder)
    return _gathered(case, data, images, batches, None).prefetch(tf.data.AUTOTUNE)


def _directory(case: Case, images: PngFolder | None) -> Any:  # noqa: ANN401 - a tf.data.Dataset
    """Return `keras.utils.image_dataset_from_directory`: Keras's own reader of class subfolders."""
    assert images is not None  # noqa: S101 - the spec refuses this feed from memory
    size = keras.utils.load_img(images.paths[0]).size
    batches = keras.utils.image_dataset_from_directory(
        images.folder, batch_size=case.batch, image_size=size, seed=case.seed, verbose=False
    )
    return batches.take(case.train_samples // case.batch) if case.drop_remainder else batches


def share(case: Case) -> tuple[int, int]:
    """Return the place of this worker, and the number of workers that share each batch."""
    if case.strategy != "multi-worker mirrored":
        return 0, 1
    config = json.loads(os.environ["TF_CONFIG"])
    return int(config["task"]["index"]), len(config["cluster"]["worker"])


class Samples(keras.utils.PyDataset):  # type: ignore[misc] # Keras ships no types
    """Batches as items, from memory or PNG files, augmented if requested."""

    def __init__(self, case: Case, data: Data, images: PngFolder | None) -> None:
        super().__init__(
            workers=case.workers or 1,
            use_multiprocessing=bool(case.multiprocessing),
            max_queue_size=10,
        )
        self._case, self._images = case, images
        self._x = None if images else data.train_x
        self._y = images.labels if images else data.train_y
        self._rng = np.random.default_rng(case.seed)
        self._order = self._rng.permutation(case.train_samples)

    def __len__(self) -> int:
        """Return the number of steps in an epoch."""
        full, rest = steps_of(self._case)
        return full + bool(rest)

    def __getitem__(self, step: int) -> Batch:
        """Batch number `step` of this epoch's order."""
        size = self._case.batch
        place, count = share(self._case)
        whole = self._order[step * size : (step + 1) * size]
        places = np.split(whole, count)[place]  # each worker of a run reads its own part
        x = self._read(places) if self._x is None else self._x[places]
        if self._case.augmentation:
            # Workers may be processes: each step draws from a seed of its own.
            x = augment(x, np.random.default_rng([self._case.seed, int(places[0]), step]))
        return x, self._y[places]

    def on_epoch_end(self) -> None:
        """Shuffle the samples again."""
        self._order = self._rng.permutation(self._case.train_samples)

    def _read(self, places: np.ndarray) -> np.ndarray:
        assert self._images is not None  # noqa: S101 - one of the two is always there
        from PIL import Image

        paths = [self._images.paths[p] for p in places]
        return np.stack([_as_image(np.asarray(Image.open(path))) for path in paths])


def _as_image(pixels: np.ndarray) -> np.ndarray:
    """Return the pixels with a channel axis, which grey PNGs lack."""
    return pixels[..., None] if pixels.ndim == 2 else pixels
