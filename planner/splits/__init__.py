"""Model parallelism: does a network fit, over how many stages, and what does it cost?

`_splits` cuts a network over tensor, pipeline and data parallelism: memory of a device, bubble,
communication and the predicted step.
"""

from planner.splits._splits import (
    SPLIT_EFFICIENCY,
    Cut,
    Split,
    advice,
    batched_cuts,
    cut_of,
    cuts_of,
    data_bytes,
    split_sentences,
    splits,
    state_on_device,
    tensor_bytes,
)
