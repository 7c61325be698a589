"""Example jobs: questions that many ask, each with the product's own current answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from planner.answers._asking import compare_answered, how_long_answered
from planner.catalog import Catalog
from planner.core import Estimate, Refusal
from planner.store.reader import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A question as in a link: its page, and the parameters."""

    title: str
    about: str
    icon: str
    page: str
    parameters: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PresetAnswer:
    """The first option of a question: its time [s] and cost [USD]; or why there is none.

    `tied` says that another option may be as good.
    """

    preset: Preset
    option: str = ""
    time: Estimate | None = None
    cost: Estimate | None = None
    tied: bool = False
    why_not: str = ""


def _described(**parameters: str) -> dict[str, list[str]]:
    job = {"workload": "described", "precision": "bfloat16", "network_optimizer": "AdamW"}
    return {name: [value] for name, value in (job | parameters).items()}


PRESETS: Final = (
    Preset(
        title="Fine-tune a 7B LLM",
        about="Llama 2 7B · 100M tokens · within 24 h",
        icon="smart_toy",
        page="compare",
        parameters=_described(network="llama-2-7b", total_tokens="100M", deadline="24"),
    ),
    Preset(
        title="Pretrain a 1.3B LLM",
        about="26B tokens · sequences of 2,048 · within 72 h",
        icon="article",
        page="compare",
        parameters=_described(params="1.3B", tokens="2048", total_tokens="26B", deadline="72"),
    ),
    Preset(
        title="ResNet-50 on ImageNet",
        about="90 epochs · batch 1,024 · within 24 h",
        icon="image",
        page="compare",
        parameters=_described(
            network="resnet-50", samples="1281167", epochs="90", batch="1024", deadline="24",
            network_optimizer="SGD momentum",
        ),
    ),
    Preset(
        title="ViT-B on ImageNet",
        about="300 epochs · 224 px · within 72 h",
        icon="photo_library",
        page="compare",
        parameters=_described(
            network="vit-b-16", samples="1281167", epochs="300", batch="1024", deadline="72"
        ),
    ),
    Preset(
        title="SDXL LoRA",
        about="1,500 images of 1,024 px · within 2 h",
        icon="brush",
        page="compare",
        parameters=_described(
            network="sdxl", training="lora", samples="1500", epochs="1", batch="4", deadline="2"
        ),
    ),
    Preset(
        title="TPU against GPU",
        about="WideResNet-103M of the article · 2,000 epochs",
        icon="memory",
        page="how-long",
        parameters={
            "workload": ["wideresnet-103m-cifar-100-adam-float32"], "epochs": ["2000"],
        },
    ),
)  # fmt: skip
"""Six jobs of different kinds and sizes."""


def preset_answer(preset: Preset, store: Store, catalog: Catalog, today: date) -> PresetAnswer:
    """Return the current answer to one of `PRESETS`."""
    if preset.page == "how-long":
        return _total(preset, store)
    answer = compare_answered(store, catalog, preset.parameters, today)
    comparison = answer.answered.comparison
    leader = comparison.leader if comparison else None
    if answer.problems or leader is None:
        return PresetAnswer(preset=preset, why_not=_first(answer.problems))
    if isinstance(leader.time, Refusal):
        return PresetAnswer(
            preset=preset, option=leader.candidate.label, why_not=leader.time.reason
        )
    return PresetAnswer(
        preset=preset,
        option=leader.candidate.label,
        time=leader.time,
        cost=None if isinstance(leader.cost, Refusal) else leader.cost,
        tied=leader.tied,
    )


def _total(preset: Preset, store: Store) -> PresetAnswer:
    answer = how_long_answered(store, preset.parameters, flagged=False)
    if answer.problems or answer.result is None:
        return PresetAnswer(preset=preset, why_not=_first(answer.problems))
    first = answer.result.answers[0]
    if isinstance(first.total, Refusal):
        return PresetAnswer(preset=preset, option=first.option.label, why_not=first.total.reason)
    return PresetAnswer(
        preset=preset,
        option=first.option.label,
        time=first.total,
        tied=bool(answer.result.undecided),
    )


def _first(problems: Sequence[object]) -> str:
    return str(problems[0]) if problems else "There is no data for this job."
