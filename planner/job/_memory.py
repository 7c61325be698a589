"""Whether the job fits into a device's memory, and what to do if not.

    bytes on one device = a + c * (samples on it)                fitted to measurements
    bytes on one device = state / devices + activations          estimated otherwise

A module with several devices (K80, MI250, a chip of TPU v3) has separate memories. Under plain data
parallelism every device keeps weights, gradients and optimiser state (the state). Where that is too
much, the state is sharded over all devices (ZeRO stages 1 to 3, FSDP); activations stay per device.
`planner.networks` estimates both.

Where that is too much too, the job is offered with a condition if a smaller state of it fits, one
sample at a time and recomputed: 8-bit moments without master weights (`_smaller_states`). It is
refused if none fits into the memory of all devices together, or if one measured sample exceeds what
the state leaves of a device. A state in host memory has no estimate of the time: it is advice.
Above `TIGHT` of a card it is offered with a warning, since activations are estimates.

Bytes per parameter: 4 for float32 weights, 4 for gradients, 4 for each moment of the optimiser.
Mixed precision adds a half-size copy of the weights (Rajbhandari et al. 2020, ZeRO, section 3.1).
`MOMENTS` has the optimisers, as in Keras and PyTorch; Adafactor keeps a row and a column of each
matrix (Shazeer and Stern 2018), which count as none. A name is read by its words: "SGD momentum
0.9" has one, and those of "AdamW 8-bit" take one byte each. For an unknown or missing name Adam's
two are assumed, and the sentence says so.
"""

import difflib
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Final

import numpy as np

from planner.catalog import Accelerator
from planner.core import GIGA, Text, paragraph, plain
from planner.job._records import Hardware, Job, MemoryFit
from planner.networks import (
    STAGES,
    Activations,
    State,
    Training,
    activations_of,
    networks,
    state_of,
)

MOMENTS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "SGD": 0, "Adafactor": 0, "momentum": 1, "Nesterov": 1, "LARS": 1, "Lion": 1, "Muon": 1,
        "Adagrad": 1, "RMSprop": 1, "NovoGrad": 1, "SGDM": 1,
        "Adam": 2, "AdamW": 2, "Adamax": 2, "NAdam": 2, "RAdam": 2,
        "LAMB": 2, "Yogi": 2, "AdaBelief": 2, "Adadelta": 2, "FTRL": 2, "AMSGrad": 3,
    }
)  # fmt: skip
"""Word of an optimiser's name -> copies of the weights."""
UNKNOWN_MOMENTS: Final = 2
_BY_WORD: Final = MappingProxyType({name.casefold(): many for name, many in MOMENTS.items()})


@lru_cache(maxsize=1_024)
def moments_of(optimizer: str) -> int | None:
    """Return the moments it keeps of each weight; None for an unknown name."""
    moments = [_BY_WORD[w] for w in _words(optimizer) if w in _BY_WORD]
    return max(moments, default=None)


def has_small_moments(optimizer: str) -> bool:
    """Return whether its moments have 8 bits; master weights are then not kept."""
    return _EIGHT_BIT.search(optimizer.casefold()) is not None


def moments_sentence(optimizer: str) -> str:
    """Return that two moments are assumed and why; "" for a known optimiser."""
    if moments_of(optimizer) is not None:
        return ""
    why = (
        Text("The state of {optimizer} is unknown", optimizer=optimizer[:40])
        if optimizer.strip()
        else _NOT_STATED
    )
    return Text("{why}: Adam's two moments are assumed.", why=why)


def unknown_optimizer(optimizer: str) -> str:
    """Return the advice for an unknown name, as sentences; "" for a known one."""
    if not optimizer.strip() or moments_of(optimizer) is not None:
        return ""
    near = [n for w in _words(optimizer) for n in difflib.get_close_matches(w, _BY_WORD, n=2)]
    names = {name.casefold(): name for name in MOMENTS}
    some = [names[n] for n in dict.fromkeys(near)] or ["SGD", "SGD momentum", "Adam", "Lion"]
    return Text(
        "The memory of {optimizer!r} is unknown. Write {some}, or leave it empty: "
        "Adam's two moments are assumed then.",
        optimizer=optimizer[:40],
        some=" or ".join(some),
    )


_NOT_STATED: Final = "Optimiser not stated"


_EIGHT_BIT: Final = re.compile(r"(?<!\d)8[\W_]?bit")
"""As in "AdamW 8-bit" and "adamw8bit"; 32-bit moments are the usual ones."""
_PAGED: Final = "paged"
"""Prefix of names in bitsandbytes, as in PagedAdamW8bit."""


def _words(optimizer: str) -> list[str]:
    name = _EIGHT_BIT.sub(" ", optimizer.casefold()).replace(_PAGED, " ")
    return re.findall(r"[^\W\d_]+", name)


MOST_SHARDS: Final = 1024
"""A state that needs more accelerators is taken for a typing error."""
USABLE: Final = 0.94
"""Share of the memory a framework gets: driver, context and fragments take the rest.

Sentences state both: '16 GB (15.0 GB of it for the job)'.
"""
TIGHT: Final = 0.8
"""Share of a card's memory above which a job fits tightly: it is offered with a warning. The state
of MPT-30B fills 75 % of 8 x 80 GB, and it is trained there (LLM Foundry's tables)."""
BARELY: Final = 0.9
"""Share from which a job barely fits: there is little room for activations."""


def fit_of(job: Job, hardware: Hardware, batch: float | None) -> MemoryFit:
    """Return whether the job at a global batch [samples] fits on each device of the hardware."""
    have = usable_bytes(hardware)
    if have is None and hardware.accelerator is not None and hardware.accelerator.kind == "cpu":
        return _of_the_machine(job, hardware, batch)
    if have is None:
        return MemoryFit(
            fits=None,
            need_bytes=None,
            have_bytes=None,
            at_least=True,
            sentence="The memory of this hardware is unknown.",
        )
    line = _line(job)
    if line is not None and batch is not None:
        return _by_line(job, line, batch, have, hardware)
    return _by_parameters(job, have, hardware)


def _of_the_machine(job: Job, hardware: Hardware, batch: float | None) -> MemoryFit:
    """Return the fit on a processor, whose memory is not in the catalogue."""
    line = _line(job) if batch is not None else None
    need = None if job.params is None else whole_state(job).total
    if line is not None and batch is not None:
        need = line[0] + line[1] * batch / hardware.nodes
    way_out: str = "Check that it is enough."
    if need is not None:
        room = gigabytes(need)
        if line is None:
            room = Text("{need} and room for activations", need=room)
        check = Text("Check that {room} are available.", room=room)
        if hardware.nodes > 1:
            check = Text(
                "Check that {room} are available in each of {nodes:,} machines.",
                room=room,
                nodes=hardware.nodes,
            )
        way_out = paragraph(check, "" if line is not None else moments_sentence(job.optimizer))
    return MemoryFit(
        fits=None, need_bytes=need, have_bytes=None, at_least=line is None,
        sentence="It uses the machine's memory, which is not in the catalogue.", way_out=way_out,
    )  # fmt: skip


def whole_state(job: Job, *, small_moments: bool | None = None) -> State:
    """Return weights, gradients and optimiser state of the whole network.

    Args:
        job: what is trained.
        small_moments: whether moments have 8 bits; None takes the job's optimiser.
    """
    moments = moments_of(job.optimizer)
    return state_of(
        job.params or 0.0,
        UNKNOWN_MOMENTS if moments is None else moments,
        half=_half(job),
        training=job.training,
        small_moments=has_small_moments(job.optimizer) if small_moments is None else small_moments,
    )


def _smaller_states(job: Job) -> Iterator[tuple[State, str, str]]:
    """Yield smaller states of the job, each with its condition and the advice, mildest first.

    The operations of a step are those of the job. Only the state in host memory, the last, takes
    transfers of unknown time.
    """
    whole = whole_state(job)
    if job.training == "lora":
        yield whole_state(replace(job, training="qlora")), _IN_FOUR_BITS, _TAKE_QLORA
    if job.training != "full":
        return
    small = whole_state(job, small_moments=True)
    if small.total < whole.total and moments_of(job.optimizer) == 0:
        yield small, "without master weights", "Train without master weights."
    elif small.total < whole.total:
        with_moments = (
            "with 8-bit moments and no master weights" if _half(job) else "with 8-bit moments"
        )
        yield small, with_moments, _TAKE_EIGHT_BIT
    advice = _OFFLOAD.format(memory=gigabytes(whole.gradients + whole.optimizer))
    yield replace(whole, gradients=0.0, optimizer=0.0), _ON_HOST, advice


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
        half=_half(job),
    )


def _half(job: Job) -> bool:
    """Return whether weights are in half precision, as those beside adapters usually are."""
    if not job.precision_stated and job.training != "full":
        return True
    return "mixed" in job.precision or job.precision in {"float16", "bfloat16", "float8"}


def has_room(job: Job, hardware: Hardware, batch: float | None) -> bool:
    """Return whether the job fits with room to spare, or nothing contradicts it."""
    have, fit = usable_bytes(hardware), fit_of(job, hardware, batch)
    if not fit.as_described:
        return False
    return have is None or not fit.at_least or _shards(job, have) <= hardware.devices


def least_count(job: Job, accelerator: Accelerator, batch: float | None) -> int | None:
    """Return the smallest count that the job fits on as described; 1 where unknown.

    None is a job that fits on no count.
    """
    single = Hardware(label=f"1 x {accelerator.name}", accelerator=accelerator)
    have = usable_bytes(single)
    if have is None or fit_of(job, single, batch).as_described:
        return 1
    line = _line(job)
    if line is None or batch is None:
        return _accelerators(_shards(job, have), single)
    devices = _devices_of(line, batch, have) or _devices_sharded(job, line, batch, have)
    return None if devices is None else _accelerators(devices, single)


def usable_bytes(hardware: Hardware) -> float | None:
    """Return the memory of one device for a framework [bytes]; None where unpublished."""
    each = hardware.memory_bytes
    return None if each is None else each * USABLE


def bytes_per_parameter(job: Job, state: State | None = None) -> float:
    """Return the bytes of a state per parameter of the network; None takes the job's state."""
    return (state or whole_state(job)).total / (job.params or 1.0)


def _line(job: Job) -> tuple[float, float] | None:
    """Return bytes at 0 samples and bytes per sample; None from fewer than two batches."""
    if len({size for size, _ in job.memory}) < 2:
        return None
    size, used = (np.array(x, dtype=np.float64) for x in zip(*job.memory, strict=True))
    slope, intercept = np.polyfit(size, used, 1)
    return (float(intercept), float(slope)) if slope > 0.0 else None


def _by_line(
    job: Job, line: tuple[float, float], batch: float, have: float, hardware: Hardware
) -> MemoryFit:
    each = batch / hardware.devices
    need = line[0] + line[1] * each
    shared = need - _state(job, line) * (1.0 - 1.0 / hardware.devices)
    fits = True if need <= have else None if shared <= have < need and shared < need else False
    where = f" of {_devices(hardware)}" if _several_in_one(hardware) else ""
    used = Text(
        "{need} of {room} at {each:,.0f} samples on each{where}",
        need=gigabytes(need),
        room=_room(have),
        each=each,
        where=where,
    )
    sentence = (
        Text("Fits: {used}.", used=used) if fits else Text("Does not fit: {used}.", used=used)
    )
    way_out = "" if fits else _ways_out(line, batch, have, hardware)
    if fits is None:
        sentence = Text(
            "Only sharded over all {devices}: {shared} of {room} on each at "
            "{each:,.0f} samples; {need} without sharding.",
            devices=_devices(hardware),
            shared=gigabytes(shared),
            room=_room(have),
            each=each,
            need=gigabytes(need),
        )
        way_out = _SHARD
    return MemoryFit(
        fits=fits,
        need_bytes=shared if fits is None else need,
        have_bytes=have,
        at_least=fits is None,
        sentence=sentence,
        way_out=way_out,
    )


def _state(job: Job, line: tuple[float, float]) -> float:
    """Return weights, gradients and optimiser state [bytes], at most those at 0 samples."""
    if job.params is None:
        return 0.0
    return max(min(whole_state(job).total, line[0]), 0.0)


def _devices_of(line: tuple[float, float], batch: float, have: float) -> int | None:
    """Return how many devices the batch needs; None where not one sample fits."""
    room = math.floor((have - line[0]) / line[1])
    return None if room < 1 else math.ceil(batch / room)


def _devices_sharded(job: Job, line: tuple[float, float], batch: float, have: float) -> int | None:
    """Return the same with a sharded state; None where one sample is too large."""
    state = _state(job, line)
    left = have - (line[0] - state)
    if left <= line[1] or not state:
        return None
    shards, samples = state / (left - line[1]), (state + line[1] * batch) / left
    return math.ceil(max(shards, samples))


def _ways_out(line: tuple[float, float], batch: float, have: float, hardware: Hardware) -> str:
    more = _devices_of(line, batch, have)
    if more is None:
        return Text("Not one sample fits: shard over several (FSDP, ZeRO). {split}", split=_SPLIT)
    room = math.floor((have - line[0]) / line[1])
    return Text(
        "A batch of at most {room:,} fits, or {accelerators:,} accelerators at this "
        "batch; or accumulate gradients over smaller batches.",
        room=room * hardware.devices,
        accelerators=_accelerators(more, hardware),
    )


def _by_parameters(job: Job, have: float, hardware: Hardware) -> MemoryFit:
    if job.params is None:
        return MemoryFit(
            fits=None,
            need_bytes=None,
            have_bytes=have,
            at_least=True,
            sentence="The memory of the job was not measured.",
            way_out="Measure its peak memory at two batch sizes.",
        )
    state, activations = whole_state(job), activations_on(job)
    take = f"take {_size(job, state)}"
    usage = f"{_what(job)} {take}"
    sample, memory, devices = _least_sample(activations), have / USABLE, hardware.devices
    kept = 0.0 if activations is None else sample if job.recompute else activations.kept
    if not _holds(hardware, memory, state, sample):
        return _too_large(job, sample, have, hardware)
    shards = devices > 1 and state.total + kept > TIGHT * memory
    need = state.on_each(devices, 3) if shards else state.total
    recompute = need + kept > have and kept > sample
    room = _room(have)
    if _several_in_one(hardware):
        room = Text("{room} on each of {devices}", room=room, devices=_devices(hardware))
    way_out, limited = "Measure its peak memory at two batch sizes.", True
    if shards:
        sentence, way_out = _sharded(job, usage, need, have, hardware), _SHARD
    elif need > have:
        sentence = Text(
            "Barely fits: {usage} of {room}; no room is left for activations.",
            usage=usage,
            room=_room(have),
        )
        way_out = _more_room(job)
    elif recompute:
        sentence = Text(
            "Fits only with recomputed activations: {usage} of {room}, and a "
            "sample's activations about {kept} otherwise.",
            usage=usage,
            room=room,
            kept=gigabytes(kept),
        )
        way_out = _RECOMPUTE
    elif state.total + kept > TIGHT * memory:
        left = Text("only {have} are left for activations", have=gigabytes(have - state.total))
        how = "Barely fits" if state.total + sample > BARELY * memory else "Fits tightly"
        sentence = Text(
            "{how}: {left}; {usage} of {room}.",
            how=how,
            left=left,
            usage=usage,
            room=room,
        )
        way_out = _more_room(job)
    else:
        what, limited = _what(job, first=True), False
        sentence = Text(
            "{what} {take} of {room}; {sample}.",
            what=what,
            take=take,
            room=room,
            sample=_sample(job, activations),
        )
    return MemoryFit(
        fits=None, need_bytes=need, have_bytes=have, at_least=True,
        sentence=paragraph(sentence, moments_sentence(job.optimizer)), way_out=way_out,
        condition=_NOTHING_LEFT if need > have else "", limited=limited,
    )  # fmt: skip


def _too_large(job: Job, sample: float, have: float, hardware: Hardware) -> MemoryFit:
    """Return the fit of a state that exceeds all devices: under a condition, or refused.

    Args:
        job: what is trained.
        sample: smallest memory of a sample's activations [bytes].
        have: memory of one device for the job [bytes].
        hardware: all devices.
    """
    state, memory, devices = whole_state(job), have / USABLE, hardware.devices
    smaller = list(_smaller_states(job))
    holding = [option for option in smaller if _holds(hardware, memory, option[0], sample)]
    enough = [option for option in holding if option[1] != _ON_HOST]
    least = math.ceil((state.total + sample) / have)
    least = max(_accelerators(least, hardware), hardware.count + 1)
    more = max(_accelerators(_shards(job, have), hardware), least)
    count = f"{least:,}"
    if more > least:
        larger = Text(
            "{count} or more ({roomy:,} leave more room for activations)", count=count, roomy=more
        )
    else:
        larger = Text("{count} or more", count=count)
    larger = (
        Text("Or take {count} and shard over them (FSDP, ZeRO).", count=larger)
        if enough
        else Text("Take {count} and shard over them (FSDP, ZeRO).", count=larger)
    )
    adapters, condition = _adapters(job, sample, memory, hardware), ""
    ways: tuple[str, ...]
    if enough:
        small, condition, advice = enough[0]
        need = small.on_each(devices, 3)
        sentence = _only(job, small, condition, have, hardware)
        shard = _SHARD if devices > 1 else ""
        ways = (advice, shard, larger if least <= MOST_SHARDS else "", adapters)
    else:
        need = state.total
        usage = f"{_what(job)} take {_size(job, state)}"
        if sample:
            usage = Text(
                "{usage} and a sample's activations about {sample}",
                usage=usage,
                sample=gigabytes(sample),
            )
        even = [
            Text("Even {how} it takes {size}.", how=how, size=_size(job, s))
            for s, how, _ in smaller[-1:]
            if not holding
        ]
        offload = "".join(text for _, _, text in holding)
        hopeless = _hopeless(least) if least > MOST_SHARDS else ""
        missing = Text("Does not fit: {usage}, {has}.", usage=usage, has=_has(hardware, have))
        sentence = paragraph(missing, *even, hopeless)
        ways = (offload or _SMALLER,) if hopeless else (larger, _SPLIT, offload, adapters)
    return MemoryFit(
        fits=None if enough else False, need_bytes=need, have_bytes=have, at_least=True,
        sentence=paragraph(sentence, moments_sentence(job.optimizer)),
        way_out=" ".join(way for way in ways if way), condition=condition, limited=bool(enough),
    )  # fmt: skip


def _adapters(job: Job, sample: float, memory: float, hardware: Hardware) -> str:
    """Return the advice to train adapters instead of all weights, where they fit."""
    if job.training != "full":
        return ""
    ways: tuple[tuple[Training, str], ...] = (
        ("lora", "Or train adapters (LoRA)."),
        ("qlora", "Or train adapters beside weights in 4 bits (QLoRA)."),
    )
    states = ((whole_state(replace(job, training=training)), text) for training, text in ways)
    return next((text for state, text in states if _holds(hardware, memory, state, sample)), "")


def _holds(hardware: Hardware, memory: float, state: State, sample: float) -> bool:
    """Return whether all devices together hold a state and a sample, with `memory` bytes each.

    The state has to fit into the nominal memory; a sample may use all that the card has, since
    makers of accelerators write GB for GiB.
    """
    room = memory * hardware.devices
    return state.total <= room and state.total + sample <= 2**30 / GIGA * room


def _size(job: Job, state: State) -> str:
    """Return '128 GB (16 bytes a parameter)'."""
    return Text(
        "{total} ({bytes_per_parameter} bytes a parameter)",
        total=gigabytes(state.total),
        bytes_per_parameter=plain(bytes_per_parameter(job, state), 3),
    )


def _only(job: Job, state: State, condition: str, have: float, hardware: Hardware) -> str:
    """Return that the job fits only with a smaller state, and what it takes otherwise."""
    each, least = state.on_each(hardware.devices, 3), _size(job, state)
    if hardware.devices > 1:
        least = Text(
            "{size}, {each} on each of {devices}",
            size=least,
            each=gigabytes(each),
            devices=_devices(hardware),
        )
    fits = Text(
        "Fits only {condition}: {least} of {room}. {what} take {otherwise} otherwise.",
        condition=condition,
        least=least,
        room=_room(have),
        what=_what(job, first=True),
        otherwise=_size(job, whole_state(job)),
    )
    return paragraph(fits, _left(job, each, have), _recomputing(job, each, have))


_CONTENTS: Final[Mapping[Training, tuple[str, str]]] = MappingProxyType(
    {
        "full": (
            "weights, gradients and optimiser state", "Weights, gradients and optimiser state",
        ),
        "lora": (
            "frozen weights and their adapters' state", "Frozen weights and their adapters' state",
        ),
        "qlora": (
            "frozen weights in 4 bits and their adapters' state",
            "Frozen weights in 4 bits and their adapters' state",
        ),
    }
)  # fmt: skip
"""Contents of the state, inside a sentence and first in one."""


def _what(job: Job, *, first: bool = False) -> str:
    return _CONTENTS[job.training][first]


def _sample(job: Job, activations: Activations | None) -> str:
    """Return the memory of one sample's activations, in words."""
    if activations is None:
        return "activations were not measured"
    each = activations.recomputed if job.recompute else activations.kept
    how = "recomputed " if job.recompute else ""
    return Text(
        "{how}activations take about {each} a sample (estimated)", how=how, each=gigabytes(each)
    )


def _sharded(job: Job, usage: str, each: float, have: float, hardware: Hardware) -> str:
    """Return that it fits only sharded over all devices, how tightly, and the assumptions."""
    activations, memory = activations_on(job), have / USABLE
    sample, tight = _least_sample(activations), _left(job, each, have)
    barely = each + sample > BARELY * memory
    how = "" if not tight else "Barely fits: only" if barely else "Fits tightly: only"
    recompute = _recomputing(job, each, have)
    used = sample if activations is None or job.recompute or recompute else activations.kept
    sharded = Text(
        "{how} sharded: {usage}, {each} on each of {devices} of {room}.",
        how=how or "Only",
        usage=usage,
        each=gigabytes(each),
        devices=_devices(hardware),
        room=_room(have),
    )
    less = _less_sharding(job, used, sample, memory, hardware)
    return paragraph(sharded, less, tight, recompute)


def _least_sample(activations: Activations | None) -> float:
    """Return the smallest memory of a sample's activations [bytes]; 0 where unknown."""
    return 0.0 if activations is None else min(activations.recomputed, activations.kept)


def _left(job: Job, each: float, have: float) -> str:
    """Return what a state leaves of a device for activations; "" where it is enough."""
    if each + _least_sample(activations_on(job)) <= TIGHT * have / USABLE:
        return ""
    if each >= have:
        return "No room is left for activations."
    return Text("Only {have} are left for activations.", have=gigabytes(have - each))


def _more_room(job: Job) -> str:
    """Return how to leave more room on a device for activations."""
    if job.recompute:
        return "Shard over 2 or more (FSDP, ZeRO)."
    return "Recompute activations (gradient checkpointing), or shard over 2 or more (FSDP, ZeRO)."


def _recomputing(job: Job, each: float, have: float) -> str:
    """Return that activations have to be recomputed beside a state; "" otherwise."""
    activations = activations_on(job)
    if activations is None or job.recompute or each + activations.kept <= have:
        return ""
    kept = gigabytes(activations.kept)
    return Text("Recompute activations: they take about {kept} a sample otherwise.", kept=kept)


def _less_sharding(
    job: Job, sample: float, recomputed: float, memory: float, hardware: Hardware
) -> str:
    """Return that a lower stage of ZeRO is enough; "" where all has to be sharded.

    `sample` is the memory of a sample's activations, `recomputed` the least that it can be [bytes].
    """
    state = whole_state(job)
    for activations in (sample, recomputed):
        for stage in STAGES[1:3]:
            need = state.on_each(hardware.devices, stage)
            if need + activations <= TIGHT * memory:
                on_each = gigabytes(need)
                if activations == sample:
                    return Text(
                        "ZeRO stage {stage} is enough, with {need} on each.",
                        stage=stage,
                        need=on_each,
                    )
                return Text(
                    "With recomputed activations ZeRO stage {stage} is enough, with {need} on "
                    "each.",
                    stage=stage,
                    need=on_each,
                )
    return ""


def _hopeless(count: int) -> str:
    """Return the advice to check the parameters where the count is absurd."""
    many = (
        f"{count:,}"
        if count < _COUNTABLE
        else Text("more than {countable:g} million", countable=_COUNTABLE / 1000000.0)
    )
    return Text("Check the number of parameters: it would take {many} of them.", many=many)


def _shards(job: Job, have: float) -> int:
    """Return how many devices hold the sharded state with room left."""
    return math.ceil(whole_state(job).total / (have / USABLE * TIGHT))


_RECOMPUTE: Final = (
    "Recompute activations (gradient checkpointing). The time is estimated from published runs, "
    "which do so where memory requires it."
)
_NOTHING_LEFT: Final = "without room for activations"
_SHARD: Final = "Shard weights, gradients and optimiser state over all accelerators (FSDP, ZeRO)."
_COUNTABLE: Final = 10_000_000
_SMALLER: Final = "Take a smaller network, or train only a part of it (LoRA)."
_TAKE_EIGHT_BIT: Final = "Choose an 8-bit optimiser (AdamW 8-bit)."
_ON_HOST: Final = "with gradients and optimiser state in host memory"
_OFFLOAD: Final = (
    "Offload gradients and optimiser state (ZeRO-Offload) to {memory} of host memory: no "
    "published run states that time."
)
_IN_FOUR_BITS: Final = "with frozen weights in 4 bits"
_TAKE_QLORA: Final = "Quantise the frozen weights (QLoRA)."
_SPLIT: Final = (
    "Or cut the network into stages (model parallelism), or take an accelerator with more memory."
)


def _several_in_one(hardware: Hardware) -> bool:
    return hardware.devices > hardware.count


def _devices(hardware: Hardware) -> str:
    """Return '8 H100 SXM', or '2 devices' where one accelerator holds several."""
    if _several_in_one(hardware):
        return f"{hardware.devices} devices"
    name = hardware.accelerator.name if hardware.accelerator else hardware.label
    return f"{hardware.count} {name}"


def _has(hardware: Hardware, have: float) -> str:
    """Return 'the T4 has 16 GB (15.0 GB of it for the job)' or 'all 8 H100 have ...'."""
    name = hardware.accelerator.name if hardware.accelerator else hardware.label
    if hardware.devices == 1:
        return Text("the {name} has {room}", name=name, room=_room(have))
    return Text(
        "all {devices} have {room} together",
        devices=_devices(hardware),
        room=_room(have * hardware.devices),
    )


def _room(have: float) -> str:
    """Return the nominal memory, and the part for the job."""
    return Text(
        "{have:,.4g} GB ({usable} of it for the job)",
        have=have / USABLE / GIGA,
        usable=gigabytes(have),
    )


def _accelerators(devices: int, hardware: Hardware) -> int:
    """Return how many accelerators have so many devices."""
    return math.ceil(devices * hardware.count / hardware.devices)


def gigabytes(size: float) -> str:
    """Return a size in words: 3.1 MB, 12.3 GB, 640 GB."""
    if size < 0.1 * GIGA:
        return f"{plain(size / 1e6, 3)} MB"
    return f"{size / GIGA:,.1f} GB" if size < 100 * GIGA else f"{size / GIGA:,.0f} GB"
