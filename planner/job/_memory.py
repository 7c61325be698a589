"""Does the job fit into a device's memory, and what to do where it does not?

    bytes on one device = a + c * (samples on it)                fitted where it was measured
    bytes on one device = state / devices + activations          estimated where it was not

A module that holds several devices (K80, MI250, a chip of TPU v3) has so many memories: none sees
the others'. Weights, gradients and optimiser state (the state) stand on every device under plain
data parallelism; where that is too much they are sharded over all devices of the option (ZeRO
stages 1 to 3, FSDP), and activations stay per device. `planner.networks` estimates both: the state
by what is trained (all weights, LoRA, QLoRA), the activations of a sample by the network's family.

A job is refused only where its state exceeds the memory of all devices together, where one sample
even recomputed does, or where one measured sample exceeds what the state leaves of a device. Above
`TIGHT` of a card it is offered with a warning: activations are estimates, and what was only
described can be refused, never promised. Bytes per parameter: 4 for float32 weights, 4 for their
gradients, 4 for each moment the optimiser keeps (`planner.job._optimizers`; Adam's two where
none is stated, and the sentence says so); mixed precision adds a half-size copy of the weights
(Rajbhandari et al. 2020, ZeRO, section 3.1: 16 for Adam in mixed precision, counting half-size
gradients).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from planner.catalog import Accelerator
from planner.core import plain
from planner.job._optimizers import UNKNOWN_MOMENTS, moments_of, moments_told
from planner.job._records import Fit, Hardware, Job
from planner.networks import STAGES, Activations, State, activations_of, networks, state_of

MOST_SHARDS: Final = 1024
"""A state that needs more accelerators than these is a slip of the keyboard."""
USABLE: Final = 0.94
"""Share of the memory a framework gets: driver, context and fragments take the rest. Every sentence
that names a memory tells both: '16 GB (15.0 GB of it for the job)'."""
TIGHT: Final = 0.8
"""Share of a card's memory above which a job fits tightly: it is offered with a warning. The state
of MPT-30B fills 75 % of 8 x 80 GB, and it is trained there (LLM Foundry's tables)."""
BARELY: Final = 0.9
"""Share of it from which on it fits barely: hardly a sample's activations have room."""
SMALLEST_STATE: Final = 6.0
"""Bytes a parameter with half-size weights and gradients and two 8-bit moments (Dettmers et al.
2022): the least that trains all weights."""
GIGA: Final = 1e9


def fit_of(job: Job, hardware: Hardware, batch: float | None) -> Fit:
    """Whether the job at a global batch [samples] fits on each device of the hardware."""
    have = usable_bytes(hardware)
    if have is None and hardware.accelerator is not None and hardware.accelerator.kind == "cpu":
        return _of_the_machine(job, hardware, batch)
    if have is None:
        return Fit(
            fits=None,
            need_bytes=None,
            have_bytes=None,
            at_least=True,
            sentence="How much memory this hardware has is not known.",
        )
    line = _line(job)
    if line is not None and batch is not None:
        return _by_line(job, line, batch, have, hardware)
    return _by_parameters(job, have, hardware)


def _of_the_machine(job: Job, hardware: Hardware, batch: float | None) -> Fit:
    """A processor uses the machine's memory, of which the catalogue knows nothing."""
    line = _line(job) if batch is not None else None
    need = None if job.params is None else _whole_state(job).total
    if line is not None and batch is not None:
        need = line[0] + line[1] * batch / hardware.nodes
    more = "" if line is not None else " and room for activations"
    each = "" if hardware.nodes == 1 else f" in each of {hardware.nodes:,} machines"
    way_out = "Check that there is enough of it."
    if need is not None:
        told = "" if line is not None else moments_told(job.optimizer)
        way_out = f"Check that {gigabytes(need)}{more} are there{each}. {told}".rstrip()
    return Fit(
        fits=None, need_bytes=need, have_bytes=None, at_least=line is None,
        sentence="It uses the machine's memory, which is not in the catalogue.", way_out=way_out,
    )  # fmt: skip


def _each_parameter(job: Job) -> float:
    """Bytes of the state per parameter of the network."""
    return _whole_state(job).total / (job.params or 1.0)


def _whole_state(job: Job) -> State:
    """Weights, gradients and optimiser state of the whole network."""
    moments = moments_of(job.optimizer)
    return state_of(
        job.params or 0.0,
        UNKNOWN_MOMENTS if moments is None else moments,
        half=_half(job.precision),
        training=job.training,
    )


def activations_on(job: Job) -> Activations | None:
    """Return the activations of one sample of a described job [bytes]; None where not known."""
    named = networks().get(job.network)
    return activations_of(
        job.family,
        train_flops_per_sample=job.train_flops_per_sample,
        tokens=job.tokens_per_sample,
        active_params=job.active_params,
        layers_width=job.layers_width,
        vocabulary=None if named is None else float(named.vocabulary or 0),
        half=_half(job.precision),
    )


def samples_at_once(job: Job, hardware: Hardware) -> int | None:
    """Return about how many samples one device works on at once; None where it is not known."""
    have, one = usable_bytes(hardware), activations_on(job)
    if have is None or one is None or job.params is None:
        return None
    state = _whole_state(job).on_each(hardware.devices, 3)
    each = one.recomputed if job.recompute else one.kept
    return max(math.floor((have - state) / each), 0)


def _half(precision: str) -> bool:
    return "mixed" in precision or precision in {"float16", "bfloat16", "float8"}


def largest_batch(job: Job, hardware: Hardware) -> float | None:
    """Largest global batch [samples] that fits; None where the memory was not measured."""
    line, have = _line(job), usable_bytes(hardware)
    if line is None or have is None:
        return None
    intercept, slope = line
    room = (have - intercept) / slope
    return math.floor(room) * hardware.devices if room >= 1.0 else 0.0


def has_room(job: Job, hardware: Hardware, batch: float | None) -> bool:
    """Whether nothing says that the job fits on the hardware tightly at best."""
    have, fit = usable_bytes(hardware), fit_of(job, hardware, batch)
    if fit.fits is False:
        return False
    return have is None or not fit.at_least or _shards(job, have) <= hardware.devices


def least_count(job: Job, accelerator: Accelerator, batch: float | None) -> int | None:
    """Fewest of an accelerator that the job fits on; 1 where not known, None where on no number."""
    one = Hardware(label=f"1 x {accelerator.name}", accelerator=accelerator)
    have = usable_bytes(one)
    if have is None or fit_of(job, one, batch).fits is not False:
        return 1
    line = _line(job)
    if line is None or batch is None:
        return _accelerators(_shards(job, have), one)
    found = _devices_of(line, batch, have) or _devices_sharded(job, line, batch, have)
    return None if found is None else _accelerators(found, one)


def usable_bytes(hardware: Hardware) -> float | None:
    """Memory of one device that a framework gets [bytes]; None where it is not published."""
    one = hardware.accelerator
    if one is None or one.memory_bytes is None:
        return None
    return one.memory_bytes / one.devices * USABLE


def bytes_per_parameter(optimizer: str, precision: str) -> float:
    """Weights, gradients and optimiser state [bytes per parameter]; see the module's text."""
    moments = moments_of(optimizer)
    return state_of(
        1.0, UNKNOWN_MOMENTS if moments is None else moments, half=_half(precision)
    ).total


def _line(job: Job) -> tuple[float, float] | None:
    """Bytes without a sample and bytes a sample, from two batches or more; None from fewer."""
    if len({size for size, _ in job.memory}) < 2:
        return None
    size, used = (np.array(x, dtype=np.float64) for x in zip(*job.memory, strict=True))
    slope, intercept = np.polyfit(size, used, 1)
    return (float(intercept), float(slope)) if slope > 0.0 else None


def _by_line(
    job: Job, line: tuple[float, float], batch: float, have: float, hardware: Hardware
) -> Fit:
    each = batch / hardware.devices
    need = line[0] + line[1] * each
    shared = need - _saved(job, line, hardware.devices)
    fits = True if need <= have else None if shared <= have < need and shared < need else False
    where = f" of {_devices(hardware)}" if _several_in_one(hardware) else ""
    told = f"{gigabytes(need)} of {_room(have)} at {each:,.0f} samples on each{where}"
    sentence = f"{'Fits' if fits else 'Does not fit'}: {told}."
    way_out = "" if fits else _ways_out(line, batch, have, hardware)
    if fits is None:
        sentence = (
            f"Only sharded over all {_devices(hardware)}: {gigabytes(shared)} of {_room(have)} on "
            f"each at {each:,.0f} samples, where {gigabytes(need)} were needed otherwise."
        )
        way_out = _SHARD
    return Fit(
        fits=fits,
        need_bytes=shared if fits is None else need,
        have_bytes=have,
        at_least=fits is None,
        sentence=sentence,
        way_out=way_out,
    )


def _saved(job: Job, line: tuple[float, float], devices: int) -> float:
    """Bytes of a device that sharding saves, of a job whose memory was measured."""
    return _state(job, line) * (1.0 - 1.0 / devices)


def _state(job: Job, line: tuple[float, float]) -> float:
    """Weights, gradients and optimiser state [bytes], at most what it takes without a sample."""
    if job.params is None:
        return 0.0
    return max(min(_whole_state(job).total, line[0]), 0.0)


def _devices_of(line: tuple[float, float], batch: float, have: float) -> int | None:
    """Devices whose part of the batch fits on each; None where not one sample does."""
    room = math.floor((have - line[0]) / line[1])
    return None if room < 1 else math.ceil(batch / room)


def _devices_sharded(job: Job, line: tuple[float, float], batch: float, have: float) -> int | None:
    """The same with the state sharded over them; None where a sample alone is too large."""
    state = _state(job, line)
    left = have - (line[0] - state)
    if left <= line[1] or not state:
        return None
    shards, samples = state / (left - line[1]), (state + line[1] * batch) / left
    return math.ceil(max(shards, samples))


def _ways_out(line: tuple[float, float], batch: float, have: float, hardware: Hardware) -> str:
    more = _devices_of(line, batch, have)
    if more is None:
        return f"Not one sample fits: shard over several (FSDP, ZeRO). {_SPLIT}"
    room = math.floor((have - line[0]) / line[1])
    return (
        f"A batch of at most {room * hardware.devices:,} fits, or {_accelerators(more, hardware):,}"
        " accelerators at this batch; or accumulate gradients over smaller batches."
    )


def _by_parameters(job: Job, have: float, hardware: Hardware) -> Fit:
    if job.params is None:
        return Fit(
            fits=None,
            need_bytes=None,
            have_bytes=have,
            at_least=True,
            sentence="What the job needs of memory was not measured.",
            way_out="Measure its peak memory at two batch sizes.",
        )
    state, one = _whole_state(job), activations_on(job)
    taken = f"{_what(job)} take {gigabytes(state.total)}"
    sample = 0.0 if one is None else min(one.recomputed, one.kept)
    memory = have / USABLE
    fits, way_out = None, "Measure its peak memory at two batch sizes."
    need = state.total
    if state.total <= have:
        where = f" on each of {_devices(hardware)}" if _several_in_one(hardware) else ""
        sentence = f"{taken[:1].upper()}{taken[1:]} of {_room(have)}{where}; {_sample(job, one)}."
        if state.total + sample > TIGHT * memory:
            left = f"only {gigabytes(max(have - state.total, 0.0))} are left for activations"
            how = "Barely fits" if state.total + sample > BARELY * memory else "Fits tightly"
            sentence = f"{how}: {left}; {taken} of {_room(have)}{where}."
            way_out = _MORE_ROOM
        elif one is not None and not job.recompute and state.total + one.kept > have:
            way_out = f"{_RECOMPUTE} A sample's take about {gigabytes(one.kept)} otherwise."
    elif state.total + sample <= memory * hardware.devices and hardware.devices > 1:
        need = state.on_each(hardware.devices, 3)
        sentence, way_out = _sharded(job, taken, need, have, hardware), _SHARD
    elif state.total + sample <= memory:
        how = f"Barely fits: {taken} of {_room(have)}"
        sentence, way_out = f"{how}; no room is left for activations.", _MORE_ROOM
    else:
        bytes_each = f"{plain(_each_parameter(job), 3)} bytes a parameter"
        beside = f" and a sample's activations about {gigabytes(sample)}" if sample else ""
        fits = False
        sentence = f"Does not fit: {taken} ({bytes_each}){beside}, {_has(hardware, have)}."
        least = math.ceil((state.total + sample) / memory)
        least = max(_accelerators(least, hardware), hardware.count + 1)
        more = max(_accelerators(_shards(job, have), hardware), least)
        roomy = f" ({more:,} leave more room for activations)" if more > least else ""
        way_out = f"Take {least:,} or more{roomy} and shard over them (FSDP, ZeRO). {_SPLIT}"
        if job.training == "full" and SMALLEST_STATE * job.params <= memory * hardware.devices:
            way_out = f"{way_out} {_ADAPTERS}"
        if least > MOST_SHARDS:
            sentence = f"{sentence} {_hopeless(least)}"
            way_out = _SMALLER
    return Fit(
        fits=fits, need_bytes=need, have_bytes=have, at_least=True,
        sentence=f"{sentence} {moments_told(job.optimizer)}".rstrip(), way_out=way_out,
    )  # fmt: skip


def _what(job: Job) -> str:
    """What the state consists of, in words."""
    if job.training == "full":
        return "weights, gradients and optimiser state"
    bits = "in 4 bits " if job.training == "qlora" else ""
    return f"frozen weights {bits}and their adapters' state"


def _sample(job: Job, one: Activations | None) -> str:
    """What one sample's activations take, in words."""
    if one is None:
        return "activations were not measured"
    each = one.recomputed if job.recompute else one.kept
    how = "recomputed " if job.recompute else ""
    return f"{how}activations take about {gigabytes(each)} a sample (estimated)"


def _sharded(job: Job, taken: str, each: float, have: float, hardware: Hardware) -> str:
    """That it fits only sharded over all devices, how tightly, and what that assumes."""
    one, memory = activations_on(job), have / USABLE
    sample = 0.0 if one is None else min(one.recomputed, one.kept)
    left = f"only {gigabytes(max(have - each, 0.0))} are left for activations"
    tight = f" {left[:1].upper()}{left[1:]}." if each + sample > TIGHT * memory else ""
    barely = each + sample > BARELY * memory
    how = "" if not tight else "Barely fits: only" if barely else "Fits tightly: only"
    recompute = one is not None and not job.recompute and each + one.kept > have
    more = ""
    if one is not None and recompute:
        more = f" Recompute activations: they take about {gigabytes(one.kept)} a sample otherwise."
    return (
        f"{how or 'Only'} sharded: {taken} ({plain(_each_parameter(job), 3)} bytes a parameter), "
        f"{gigabytes(each)} on each of {_devices(hardware)} of {_room(have)}."
        f"{_less_sharding(job, sample, memory, hardware)}{tight}{more}"
    )


def _less_sharding(job: Job, sample: float, memory: float, hardware: Hardware) -> str:
    """That a lower stage of ZeRO is enough, as a sentence; "" where all has to be sharded."""
    state = _whole_state(job)
    for stage in STAGES[1:3]:
        need = state.on_each(hardware.devices, stage)
        if need + sample <= TIGHT * memory:
            return f" ZeRO stage {stage} is enough, with {gigabytes(need)} on each."
    return ""


def _hopeless(count: int) -> str:
    """That so many are more than anybody compares, and what to look at first."""
    many = f"{count:,}" if count < _COUNTABLE else f"more than {_COUNTABLE / 1e6:g} million"
    return f"Check the number of parameters: it would take {many} of them."


def _shards(job: Job, have: float) -> int:
    """Devices that hold weights, gradients and optimiser state between them, with room left."""
    return math.ceil(_whole_state(job).total / (have / USABLE * TIGHT))


_RECOMPUTE: Final = "Recompute activations (gradient checkpointing)."
_SHARD: Final = "Shard weights, gradients and optimiser state over all accelerators (FSDP, ZeRO)."
_COUNTABLE: Final = 10_000_000
_SMALLER: Final = "Take a smaller network, or train only a part of it (LoRA)."
_MORE_ROOM: Final = (
    "Take a smaller batch, recompute activations (gradient checkpointing), or shard over 2 or more "
    "(FSDP, ZeRO)."
)
_ADAPTERS: Final = "Or keep 8-bit moments without master weights, or train adapters (LoRA)."
_SPLIT: Final = (
    "Or cut the network into stages (model parallelism), or take an accelerator with more memory."
)


def _several_in_one(hardware: Hardware) -> bool:
    return hardware.devices > hardware.count


def _devices(hardware: Hardware) -> str:
    """'8 H100 SXM', or '2 devices' where one accelerator holds several."""
    if _several_in_one(hardware):
        return f"{hardware.devices} devices"
    name = hardware.accelerator.name if hardware.accelerator else hardware.label
    return f"{hardware.count} {name}"


def _has(hardware: Hardware, have: float) -> str:
    """'the T4 has 16 GB (15.0 GB of it for the job)'; of several 'all 8 H100 have ...'."""
    name = hardware.accelerator.name if hardware.accelerator else hardware.label
    if hardware.devices == 1:
        return f"the {name} has {_room(have)}"
    return f"all {_devices(hardware)} have {_room(have * hardware.devices)} together"


def _room(have: float) -> str:
    """The memory as its maker names it, and what of it a framework gets."""
    return f"{have / USABLE / GIGA:,.4g} GB ({gigabytes(have)} of it for the job)"


def _accelerators(devices: int, hardware: Hardware) -> int:
    """Accelerators that hold so many devices."""
    return math.ceil(devices * hardware.count / hardware.devices)


def gigabytes(size: float) -> str:
    """A size in words: 3.1 MB, 12.3 GB, 640 GB."""
    if size < 0.1 * GIGA:
        return f"{plain(size / 1e6, 3)} MB"
    return f"{size / GIGA:,.1f} GB" if size < 100 * GIGA else f"{size / GIGA:,.0f} GB"
