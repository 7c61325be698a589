"""Named networks, and the operations of a sample.

`network_named` finds a network by its name in text or published tables; `networks` lists all of
them. `operations_of` and similar functions count the operations of a sample: forward and backward,
with and without recomputation, fully trained or through adapters (LoRA, QLoRA). `state_of` and
`activations_of` estimate the memory that training takes. docs/decisions/0034-named-networks.md has
the reasons.
"""

from planner.networks._memory import (
    STAGES,
    Activations,
    Stage,
    State,
    activations_of,
    attention_flops,
    image_operations,
    layers_width_of,
    operations_of,
    state_of,
    transformer_operations,
)
from planner.networks._table import (
    FAMILIES,
    KINDS,
    OF_TOKENS,
    TRAININGS,
    Kind,
    Network,
    Training,
    kind_of,
    network_named,
    network_or_none,
    networks,
    states_no_size,
)
