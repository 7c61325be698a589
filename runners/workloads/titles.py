"""Titles that distinguish variants of a network by their options, without Keras."""

from __future__ import annotations

from collections.abc import Callable, Mapping

Value = int | float | str | bool
Options = Mapping[str, Value]


def unsized(options: Options) -> str:  # noqa: ARG001 - the others read them
    """Return "": the title needs no computed part."""
    return ""


def twice_the_width(options: Options) -> str:
    """Return the filters of the second layer, twice those of the first."""
    return str(2 * int(options["width"]))


def width_unless(published: int) -> Callable[[Options], str]:
    """Return a function that adds the width to the title unless it is the published one."""
    return lambda options: "" if options["width"] == published else f" width {options['width']}"


def wide_resnet_size(options: Options) -> str:
    """Return the millions of parameters, and options that differ from article 002's."""
    k, n, kernel = (int(options[name]) for name in ("k", "n", "kernel"))
    millions = wide_resnet_params(k, n, kernel, classes=100) / 1e6
    deeper = "" if n == 4 else f" N={n}"
    smaller = "" if kernel == 7 else f" {kernel}x{kernel}"
    return f"{millions:.0f}M{deeper}{smaller}"


def wide_resnet_params(k: int, n: int, kernel: int, *, classes: int, channels: int = 3) -> int:
    """Return the parameters of article 002's WideResNet; 103,465,028 for (7, 4, 7, classes=100).

    Each stage: a 1x1 convolution to its width w, then n blocks of two (w, w) convolutions with
    bias, each followed by batch normalisation (4 w: scale, shift, moving mean and variance).
    """
    total, before = 0, channels
    for width in (16 * k, 32 * k, 64 * k):
        convolution = kernel * kernel * width * width + width
        total += before * width + width + n * 2 * (convolution + 4 * width)
        before = width
    return total + before * classes + classes
