"""The networks and optimisers of sweeps, built with Keras; imported only in the child process.

Each network of `runners.workloads.CATALOGUE` is a function of the same name.
"""

import inspect
from typing import Any, Final, Protocol

import keras
from keras import layers

from planner.core import Text
from runners.workloads import DataSet


def images(data: DataSet, *, least: int = 1) -> tuple[keras.KerasTensor, keras.KerasTensor]:
    """Return the input (batch, height, width, channels) uint8, and the same scaled to 0..1.

    ValueError if the images are smaller than `least` [pixels], the minimum for the network's
    poolings.
    """
    if data.task != "images":
        raise ValueError(
            Text(
                "{title} holds {task}, not images. Choose an image data set.",
                title=data.title,
                task=data.task,
            )
        )
    if min(data.shape[:2]) < least:
        raise ValueError(
            Text(
                "images of {title} are {height}x{width}; this network needs at least "
                "{least}x{least}. Choose another data set.",
                title=data.title,
                height=data.shape[0],
                width=data.shape[1],
                least=least,
            )
        )
    inputs = keras.Input(data.shape, dtype="uint8", name="images")
    return inputs, layers.Rescaling(1 / 255, name="scaled")(inputs)


def rows(data: DataSet) -> tuple[keras.KerasTensor, keras.KerasTensor]:
    """Return the input as `images` does, and its rows scaled to 0..1, (batch, height, values)."""
    inputs, x = images(data)
    height, width, channels = data.shape
    return inputs, layers.Reshape((height, width * channels), name="rows")(x)


def tokens(data: DataSet) -> keras.KerasTensor:
    """Return the input (batch, length) int32; ValueError if the data set holds images."""
    if data.task != "tokens":
        raise ValueError(
            Text(
                "{title} holds {task}, not tokens. Choose a token data set.",
                title=data.title,
                task=data.task,
            )
        )
    return keras.Input(data.shape, dtype="int32", name="tokens")


def logits(x: keras.KerasTensor, classes: int) -> keras.KerasTensor:
    """Return the dense layer to the classes, always float32: 16-bit logits cost accuracy."""
    return layers.Dense(classes, dtype="float32", name="logits")(x)


def in_float32(x: keras.KerasTensor) -> keras.KerasTensor:
    """Return logits of a head that computes in the policy's precision, for a loss in float32."""
    return layers.Activation("linear", dtype="float32")(x)


def convolution(
    x: keras.KerasTensor, filters: int, kernel: int = 3, strides: int = 1
) -> keras.KerasTensor:
    """Return convolution and batch normalisation, as in ResNet and VGG; no activation.

    He initialisation suits ReLU; the normalisation has the bias.
    """
    x = layers.Conv2D(
        filters, kernel, strides, "same", use_bias=False, kernel_initializer="he_normal"
    )(x)
    return layers.BatchNormalization()(x)


def biased_convolution(
    x: keras.KerasTensor, filters: int, kernel: int = 3, strides: int = 1
) -> keras.KerasTensor:
    """Return a convolution with bias and no normalisation; He initialisation suits ReLU."""
    return layers.Conv2D(filters, kernel, strides, "same", kernel_initializer="he_normal")(x)


def mlp(data: DataSet, *, units: int) -> keras.Model:
    """Return a flatten layer, two hidden layers of `units`, logits: (batch, classes).

    It computes so little that the host's work per step dominates.
    """
    inputs, x = images(data)
    x = layers.Flatten()(x)
    for _ in range(2):
        x = layers.Dense(units, activation="relu")(x)
    return keras.Model(inputs, logits(x, data.classes), name="mlp")


HIDDEN = 128
"""Units of the dense layer before the logits."""


def simple_cnn(data: DataSet, *, width: int) -> keras.Model:
    """Return 3x3 convolutions of `width` and 2 `width` filters, each halved by pooling; logits.

    From article 001's model families.
    """
    inputs, x = images(data, least=4)
    for filters in (width, 2 * width):
        x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Dense(HIDDEN, activation="relu")(layers.Flatten()(x))
    return keras.Model(inputs, logits(x, data.classes), name="simple_cnn")


TOWER: Final = "tower_"
"""Beginning of the name of each tower's last layer."""
TOWER_HIDDEN: Final = 128
"""Units of each tower's dense layer."""


def towers(data: DataSet, *, towers: int, width: int) -> keras.Model:
    """Return `towers` simple CNNs of `width` filters, joined; logits: (batch, classes).

    The towers share no values, so each may be on a device of its own (strategy `branch`).
    """
    inputs, scaled = images(data, least=4)
    ends = []
    for place in range(towers):
        x = scaled
        for filters in (width, 2 * width):
            x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
            x = layers.MaxPooling2D()(x)
        hidden = layers.Dense(TOWER_HIDDEN, activation="relu", name=f"{TOWER}{place}")
        ends.append(hidden(layers.Flatten()(x)))
    joined = layers.Concatenate()(ends) if towers > 1 else ends[0]
    return keras.Model(inputs, logits(joined, data.classes), name="towers")


STAGES = ((1,), (2,), (4, 4), (8, 8), (8, 8))
"""Filters of each convolution, in multiples of the width; a pooling after each stage."""


def vgg11(data: DataSet, *, width: int) -> keras.Model:
    """Return the eight 3x3 convolutions of `width` to 8 `width` filters, five poolings; logits.

    Configuration A of Simonyan and Zisserman, arXiv 1409.1556. Batch normalisation and a single
    dense layer are usual on 32x32 images: without them training barely starts.
    """
    inputs, x = images(data, least=32)
    for stage in STAGES:
        for times in stage:
            x = layers.ReLU()(convolution(x, times * width))
        x = layers.MaxPooling2D()(x)
    return keras.Model(inputs, logits(layers.Flatten()(x), data.classes), name="vgg11")


def vgg5(data: DataSet, *, width: int) -> keras.Model:
    """Return two 3x3 convolutions of `width` and two of 2 `width`, each pair pooled; logits.

    Two stages of VGG (arXiv 1409.1556), for images from 8x8 on.
    """
    inputs, x = images(data, least=4)
    for filters in (width, 2 * width):
        for _ in range(2):
            x = layers.ReLU()(biased_convolution(x, filters))
        x = layers.MaxPooling2D()(x)
    return keras.Model(inputs, logits(layers.Flatten()(x), data.classes), name="vgg5")


class Convolution(Protocol):
    """A convolution with what follows it before the activation."""

    def __call__(
        self, x: keras.KerasTensor, filters: int, kernel: int = 3, strides: int = 1
    ) -> keras.KerasTensor:
        """Return the output (batch, height / strides, width / strides, filters)."""


def resnet8(data: DataSet, *, width: int) -> keras.Model:
    """Return the three residual blocks of `width`, 2 `width`, 4 `width` filters; logits.

    The CIFAR networks of He et al., arXiv 1512.03385, section 4.2, with n=1 (6n+2).
    """
    return residual(data, width, convolution, name="resnet8")


def residual(data: DataSet, width: int, convolve: Convolution, *, name: str) -> keras.Model:
    """Return ResNet-8 with these convolutions; logits: (batch, classes)."""
    inputs, x = images(data, least=4)
    x = layers.ReLU()(convolve(x, width))
    for filters, strides in ((width, 1), (2 * width, 2), (4 * width, 2)):
        x = _residual_block(x, filters, strides, convolve)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, logits(x, data.classes), name=name)


def _residual_block(
    x: keras.KerasTensor, filters: int, strides: int, convolve: Convolution
) -> keras.KerasTensor:
    """Two convolutions beside a shortcut, which is a 1x1 convolution where the shape changes."""
    same = x.shape[-1] == filters and strides == 1
    shortcut = x if same else convolve(x, filters, 1, strides)
    x = layers.ReLU()(convolve(x, filters, 3, strides))
    return layers.ReLU()(layers.Add()([shortcut, convolve(x, filters)]))


def resnet8_unnormalised(data: DataSet, *, width: int) -> keras.Model:
    """Return ResNet-8 with biases instead of normalisation; logits: (batch, classes).

    It has no state beside its weights.
    """
    return residual(data, width, biased_convolution, name="resnet8_unnormalised")


def coloured(data: DataSet, network: str) -> tuple[keras.KerasTensor, keras.KerasTensor]:
    """Return what `images` does; ValueError if the images are grey or smaller than 32x32."""
    both = images(data, least=32)
    if data.shape[-1] != 3:
        raise ValueError(
            Text(
                "{title} is grey; {network} needs colours. Choose another data set.",
                title=data.title,
                network=network,
            )
        )
    return both


def keras_application(data: DataSet, *, network: str) -> keras.Model:
    """Return a network of keras.applications with its own head, logits: (batch, classes).

    From random weights. A network that scales pixels itself gets them from 0 to 255, others from
    -1 to 1. ConvNeXt and MobileNetV3 have a switch for it, EfficientNet always does it.
    """
    builder = getattr(keras.applications, network)
    switched = "include_preprocessing" in inspect.signature(builder).parameters
    itself = switched or network.startswith("EfficientNet")
    inputs, _ = coloured(data, network)
    scaled = layers.Rescaling(1.0) if itself else layers.Rescaling(1 / 127.5, offset=-1.0)
    whole = builder(
        weights=None, input_tensor=scaled(inputs), classes=data.classes, classifier_activation=None
    )
    return keras.Model(inputs, in_float32(whole.output), name=network)


MEAN_BGR = (103.939, 116.779, 123.68)
"""ImageNet's mean colours, as keras.applications.resnet.preprocess_input subtracts them."""


def resnet50(data: DataSet) -> keras.Model:
    """Return preprocessing, 49 convolutions, logits: (batch, classes).

    From random weights, on images of 32x32 and more. The preprocessing uses layers, because
    `preprocess_input` would compute in uint8 here.
    """
    inputs, _ = coloured(data, "ResNet-50")
    shifted = layers.Rescaling(1.0, offset=[-mean for mean in MEAN_BGR])(inputs[..., ::-1])
    base = keras.applications.ResNet50(
        include_top=False, weights=None, input_tensor=shifted, pooling="avg"
    )
    return keras.Model(inputs, logits(base.output, data.classes), name="resnet50")


def wide_resnet(data: DataSet, *, k: int, n: int, kernel: int) -> keras.Model:
    """Return stages of 16 k, 32 k and 64 k filters with n blocks each; logits: (batch, classes).

    Article 002's, after Zagoruyko and Komodakis, arXiv 1605.07146, with 7x7 instead of 3x3
    convolutions; the softmax is part of the loss here.
    """
    inputs, x = images(data, least=4)
    x = layers.Conv2D(16 * k, 1)(x)
    x = _stage(x, 16 * k, n, kernel)
    for filters in (32 * k, 64 * k):
        x = layers.AveragePooling2D(2)(x)
        x = layers.Conv2D(filters, 1)(x)
        x = _stage(x, filters, n, kernel)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, logits(x, data.classes), name="wide_resnet")


def _stage(x: keras.KerasTensor, filters: int, n: int, kernel: int) -> keras.KerasTensor:
    """Return the residual blocks whose sum comes after the last ReLU."""
    for _ in range(n):
        start = x
        for _ in range(2):
            x = layers.Conv2D(filters, kernel, padding="same")(x)
            x = layers.ReLU()(layers.BatchNormalization()(x))
        x = layers.Add()([start, x])
    return x


def lstm(data: DataSet, *, layers: int, units: int) -> keras.Model:
    """Return embedding, recurrent layers of `units`, logits: (batch, length, vocabulary)."""
    inputs = tokens(data)
    x = keras.layers.Embedding(data.classes, units)(inputs)
    for _ in range(layers):
        x = keras.layers.LSTM(units, return_sequences=True)(x)
    return keras.Model(inputs, logits(x, data.classes), name="lstm")


def row_lstm(data: DataSet, *, units: int) -> keras.Model:
    """Return one layer of `units`, whose last output gives the logits: (batch, classes).

    The steps are unrolled: TensorFlow cannot vectorise a loop over trials.
    """
    inputs, x = rows(data)
    x = keras.layers.LSTM(units, unroll=True)(x)
    return keras.Model(inputs, logits(x, data.classes), name="row_lstm")


def transformer(data: DataSet, *, layers: int, width: int, heads: int, tied: bool) -> keras.Model:
    """Return embeddings, `layers` blocks, logits: (batch, length, vocabulary).

    Attention is causal and normalised before each part, as in GPT-2. There the logits have the
    weights of the embedding (`tied`).
    """
    require_multiple(width, heads)
    inputs = tokens(data)
    kind = keras.layers.ReversibleEmbedding if tied else keras.layers.Embedding
    embedding = kind(data.classes, width)
    x = Places()(embedding(inputs))
    for _ in range(layers):
        x = block(x, width, heads, causal=True)
    x = keras.layers.LayerNormalization()(x)
    out = in_float32(embedding(x, reverse=True)) if tied else logits(x, data.classes)
    return keras.Model(inputs, out, name="transformer")


def encoder(data: DataSet, *, layers: int, width: int, heads: int) -> keras.Model:
    """Return embeddings, `layers` blocks and a masked-language head: (batch, length, vocabulary).

    Attention is to all places. The head is that of BERT (arXiv 1810.04805): a dense layer, then
    the weights of the embedding. It gives logits of every place. The blocks are normalised before
    each part, and there are no token types.
    """
    require_multiple(width, heads)
    inputs = tokens(data)
    embedding = keras.layers.ReversibleEmbedding(data.classes, width)
    x = keras.layers.LayerNormalization()(Places()(embedding(inputs)))
    for _ in range(layers):
        x = block(x, width, heads, causal=False)
    x = keras.layers.Dense(width, activation="gelu")(x)
    x = keras.layers.LayerNormalization()(x)
    return keras.Model(inputs, in_float32(embedding(x, reverse=True)), name="encoder")


def vit(data: DataSet, *, layers: int, width: int, heads: int, patch: int) -> keras.Model:
    """Return patches, a class token, `layers` blocks, logits of the class token: (batch, classes).

    ViT of Dosovitskiy et al., arXiv 2010.11929; (12, 768, 12, 16) has 86,567,656 parameters.
    """
    require_multiple(width, heads)
    inputs, x = images(data, least=patch)
    x = keras.layers.Conv2D(width, patch, patch, name="patches")(x)
    x = Places()(ClassToken()(keras.layers.Reshape((-1, width))(x)))
    for _ in range(layers):
        x = block(x, width, heads, causal=False)
    x = keras.layers.LayerNormalization()(x)[:, 0]
    return keras.Model(inputs, logits(x, data.classes), name="vit")


def require_multiple(width: int, heads: int) -> None:
    """Raise ValueError if `width` cannot be divided among `heads`."""
    if width % heads:
        raise ValueError(
            Text(
                "width {width} is not a multiple of {heads} heads. Use a multiple.",
                width=width,
                heads=heads,
            )
        )


def block(x: keras.KerasTensor, width: int, heads: int, *, causal: bool) -> keras.KerasTensor:
    """Return attention, then two dense layers of 4 `width` and `width`.

    Attention is to all places, or with `causal` to earlier ones.
    """
    normed = keras.layers.LayerNormalization()(x)
    split = isinstance(keras.distribution.distribution(), keras.distribution.ModelParallel)
    attend = JointAttention if split else keras.layers.MultiHeadAttention
    attention = attend(heads, width // heads)
    x = keras.layers.Add()([x, attention(normed, normed, use_causal_mask=causal)])
    normed = keras.layers.LayerNormalization()(x)
    hidden = keras.layers.Dense(4 * width, activation="gelu")(normed)
    return keras.layers.Add()([x, keras.layers.Dense(width)(hidden)])


@keras.saving.register_keras_serializable("epochwise")
class JointAttention(keras.layers.MultiHeadAttention):  # type: ignore[misc] # Keras has no types
    """Self-attention with one product for queries, keys and values: the same weights and numbers.

    Where heads are divided over devices, the gradient of the input is one sum over devices, as in
    Megatron. XLA makes three sums of the three products of Keras.
    """

    def call(
        self,
        query: Any,  # noqa: ANN401 - tensors of any backend
        value: Any,  # noqa: ANN401, ARG002 - the same
        key: Any = None,  # noqa: ANN401, ARG002 - the same
        *,
        use_causal_mask: bool = False,
    ) -> Any:  # noqa: ANN401
        """Return the output, (batch, length, width) like the input."""
        parts = (self._query_dense, self._key_dense, self._value_dense)
        kernel = keras.ops.stack([part.kernel for part in parts], axis=1)
        bias = keras.ops.stack([part.bias for part in parts])[:, None, None]
        joint = keras.ops.einsum("btw,wchd->cbthd", query, kernel) + bias
        mask = self._compute_attention_mask(query, query, use_causal_mask=use_causal_mask)
        return self._output_dense(self._compute_attention(*joint, mask)[0])


@keras.saving.register_keras_serializable("epochwise")
class Places(keras.layers.Layer):  # type: ignore[misc] # Keras ships no types
    """Adds a learnt vector to each place in the sequence."""

    def build(self, shape: tuple[int | None, ...]) -> None:
        """Create one vector for each place of `shape`."""
        self.table = self.add_weight(shape=shape[1:], initializer="normal", name="table")

    def call(self, x: Any) -> Any:  # noqa: ANN401 - a tensor of any backend
        """Return the sum, (batch, length, width) like the input."""
        return x + keras.ops.cast(self.table, x.dtype)


@keras.saving.register_keras_serializable("epochwise")
class ClassToken(keras.layers.Layer):  # type: ignore[misc] # Keras ships no types
    """Puts a learnt vector in front of the sequence."""

    def build(self, shape: tuple[int | None, ...]) -> None:
        """Create a vector as wide as those of `shape`."""
        self.token = self.add_weight(shape=(1, 1, shape[-1]), initializer="zeros", name="token")

    def call(self, x: Any) -> Any:  # noqa: ANN401 - a tensor of any backend
        """Return (batch, 1 + length, width)."""
        token = keras.ops.broadcast_to(
            keras.ops.cast(self.token, x.dtype), (keras.ops.shape(x)[0], 1, x.shape[-1])
        )
        return keras.ops.concatenate([token, x], axis=1)


def row_transformer(data: DataSet, *, layers: int, width: int, heads: int) -> keras.Model:
    """Return `layers` blocks over the rows, the mean over places, logits: (batch, classes)."""
    require_multiple(width, heads)
    inputs, x = rows(data)
    x = Places()(keras.layers.Dense(width)(x))
    for _ in range(layers):
        x = block(x, width, heads, causal=False)
    x = keras.layers.GlobalAveragePooling1D()(keras.layers.LayerNormalization()(x))
    return keras.Model(inputs, logits(x, data.classes), name="row_transformer")


def optimizer(name: str, learning_rate: float) -> keras.optimizers.Optimizer:
    """Return the optimiser `name` of `runners.workloads.OPTIMIZERS`; ValueError for others."""
    if name == "sgd":
        return keras.optimizers.SGD(learning_rate)
    if name in {"momentum", "nesterov"}:
        return keras.optimizers.SGD(learning_rate, momentum=0.9, nesterov=name == "nesterov")
    if name == "adam":
        return keras.optimizers.Adam(learning_rate)
    raise ValueError(
        Text("optimiser {name!r} is unknown. Use sgd, momentum, nesterov or adam.", name=name)
    )
