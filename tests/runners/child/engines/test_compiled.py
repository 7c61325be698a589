"""Bytes that a compiled step sends, and how weight matrices are divided over devices."""

from __future__ import annotations

import pytest

from runners.child.engines.compiled import traffic
from runners.child.engines.jax_distribution import divided_axis
from tests.each import each

PROGRAM = """
%all-reduce.3 = f32[8,128,256]{2,1,0} all-reduce(%bitcast.57), channel_id=5, to_apply=%add
%all-reduce.22 = (f32[8,128]{1,0}, bf16[8,128]{1,0}) all-reduce(%a, %b), channel_id=15
%all-gather = s32[8,128,4]{1,0,2} all-gather(%bitcast.127), dimensions={2}
%all-gather-start = (f32[2,16]{1,0}, f32[8,16]{1,0}) all-gather-start(%c), dimensions={0}
%all-gather-done = f32[8,16]{1,0} all-gather-done(%all-gather-start)
%reduce-scatter.1 = f32[32]{0} reduce-scatter(%d), dimensions={0}
%collective-permute = pred[64]{0} collective-permute(%e), source_target_pairs={{0,1},{1,0}}
%fusion = f32[8,16]{1,0} fusion(%all-reduce.3), kind=kLoop, calls=%all-reduce-like
"""


def test_the_bytes_of_a_ring_are_those_of_each_operation() -> None:
    sent, counts = traffic(PROGRAM, 4)
    reduced = 4 * 8 * 128 * 256 + (4 + 2) * 8 * 128
    gathered = 4 * 8 * 128 * 4 + 4 * 8 * 16
    assert sent == pytest.approx(1.5 * reduced + 0.75 * gathered + 3 * 4 * 32 + 64)
    assert counts == {
        "all-gather": 2, "all-reduce": 3, "collective-permute": 1, "reduce-scatter": 1,
    }  # fmt: skip
    assert traffic(PROGRAM, 1)[0] == 0.0
    assert traffic("%add = f32[8]{0} add(%a, %b)", 4) == (0.0, {})


@each(
    ("path", "shape", "axis"),
    [
        ("joint_attention/query/kernel", (256, 4, 64), -2),
        ("joint_attention/attention_output/kernel", (4, 64, 256), -3),
        ("dense/kernel", (256, 1024), -1),
        ("dense_1/kernel", (1024, 256), -2),
        ("embedding/embeddings", (8192, 256), -2),
        ("conv2d/kernel", (3, 3, 3, 32), -1),
        ("logits/kernel", (16, 10), -2),
        ("odd/kernel", (9, 7), None),
        ("joint_attention/query/kernel", (256, 6, 64), None),
        ("places/table", (128, 256), None),
        ("layer_normalization/gamma", (256,), None),
    ],
)
def test_a_matrix_is_divided_as_by_megatron(
    path: str, shape: tuple[int, ...], axis: int | None
) -> None:
    assert divided_axis(path, shape, 4) == axis
