"""The 44 questions whose answers no move of code may change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

Kind = Literal[
    "how-long", "curve", "compare", "scaling-out", "steps-to-target", "options", "results", "method"
]
Asked = Mapping[str, str | list[str]]

WIDERESNET: Final = "wideresnet-103m-cifar-100-adam-float32"
FROM_STORAGE: Final = "validation-augmentation-from-storage-4-workers-processes-fed-by-generator"
CNN: Final = "simple-cnn-32-64-synthetic-cifar-10-sgd-momentum-0.9-float32"
COMPILED: Final = "no-validation-no-augmentation-from-memory-fed-by-numpy-compiled-engine-fit"
LSTM: Final = "lstm-1x128-synthetic-tokens-sgd-momentum-0.9-float32"
DIGITS: Final = "mlp-64-64-digits-sgd-nesterov-0.9-float32"
PARAMETER_SERVER: Final = (
    "replica-on-a-2-core-intel-xeon-parameter-server-whole-batches-only-1-thread"
)
LLAMA: Final[Asked] = {"network": "llama-3-8b", "total_tokens": "100M", "precision": "bf16",
                       "network_optimizer": "AdamW"}  # fmt: skip
EUR: Final[Asked] = {"currency": "EUR", "rate": "0.86", "rate_as_of": "2026-11-01", "tax": "20"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)  # kept by what it is
class Question:
    """A question: `kind` is its command or page, `asked` its parameters as in a link."""

    kind: Kind
    asked: Asked


def _all(kind: Kind, questions: Mapping[str, Asked]) -> dict[str, Question]:
    return {name: Question(kind=kind, asked=asked) for name, asked in questions.items()}


_HOW_LONG: Final[Mapping[str, Asked]] = {
    "long-nothing-chosen": {},
    "long-article-baseline": {
        "workload": WIDERESNET, "pattern": FROM_STORAGE, "epochs": "137", "session": "on",
        "baseline": "tpu-v2-8-batch-512",
        "systems": ["gpu-batch-256", "tpu-v2-8-batch-512", "tpu-v2-8-batch-4-096"],
    },
    "long-two-gpus": {"workload": "unnamed-model", "epochs": "50", "samples_per_epoch": "1000000"},
    "long-family-compiled": {"workload": CNN, "pattern": COMPILED, "epochs": "30"},
    "long-family-lstm": {"workload": LSTM, "epochs": "500", "without_suspects": "on"},
    "long-digits-three-epochs": {"workload": DIGITS, "epochs": "3", "rest_like_last": "on"},
    "long-published-bert": {"workload": "bert-large-mlperf-wikipedia", "epochs": "3",
                            "samples_per_epoch": "156725653"},
    "long-published-resnet": {"workload": "resnet-50", "epochs": "90",
                              "samples_per_epoch": "1281167"},
    "long-published-lora": {"workload": "llama-2-70b-lora-mlperf-govreport", "epochs": "2",
                            "samples_per_epoch": "3901"},
}  # fmt: skip
_CURVE: Final[Mapping[str, Asked]] = {
    "curve-nothing-chosen": {},
    "curve-at-batches": {"workload": DIGITS, "batch": ["24", "300", "1e6"],
                         "without_suspects": "on"},
    "curve-beside": {"beside": "unnamed-model", "systems": "gpu"},
    "curve-family-systems": {"workload": CNN, "patterns": COMPILED},
    "curve-published": {"workload": "retinanet-resnext-50-mlperf-open-images",
                        "samples_per_epoch": "1170301"},
}  # fmt: skip
_COMPARE: Final[Mapping[str, Asked]] = {
    "compare-opening": {},
    "compare-measured-limits": {"workload": WIDERESNET, "deadline": "72", "budget": "120",
                                "country": "DE", "runs_per_month": "9.5"},
    "compare-measured-batch": {"workload": WIDERESNET, "batch": "256", "epochs": "40",
                               "order": "time"},
    "compare-target": {"workload": DIGITS, "goal": "target", "target": "0.03"},
    "compare-published": {"workload": "bert-large-mlperf-wikipedia", "epochs": "1",
                          "samples_per_epoch": "156725653", "order": "time"},
    "compare-network-images": {"network": "ResNet 50", "samples": "1281167", "epochs": "90",
                               "precision": "float16", "batch": "1024"},
    "compare-network-diffusion": {"network": "SDXL", "samples": "1M", "epochs": "5",
                                  "recompute": "on"},
    "compare-mixture": {"network": "mixtral-8x7b", "total_tokens": "2B"},
    "compare-lora": {"network": "llama-3-70b", "total_tokens": "50M", "training": "lora"},
    "compare-by-hand": {"workload": "described", "name": "Our model", "samples": "1e6",
                        "params": "7e9", "tokens": "2048", "precision": "bfloat16",
                        "epochs": "1", "network_optimizer": "AdamW"},
    "compare-operations": {"workload": "described", "samples": "300k", "params": "60M",
                           "flops": "70e9", "family": "detection", "epochs": "12",
                           "precision": "float16"},
    "compare-by-date-in-euro": {**LLAMA, **EUR, "by": "2026-11-27T09:00+09:00",
                                "budget": "1200"},
    "compare-buy-or-rent": {
        **LLAMA, "own": ["rent|h100-sxm|8|30", "buy|h100-sxm|8|31250", "own|rtx-4090|2|0"],
        "options": ["buy-1x-rtx-5090"], "runs_per_month": "60", "deadline": "48",
    },
    "compare-own-electricity": {
        **LLAMA, "own": "buy|h100-sxm|8|31250|EUR|0.86", "tariff_usd_per_kwh": "0.31",
        "kg_co2_per_kwh": "0.4", "pue": "1.1", "life_years": "5", "other_hours_per_month": "200",
    },
    "compare-cost-limit-in-yen": {"workload": WIDERESNET, "currency": "JPY", "rate": "151.5",
                                  "rate_as_of": "2026-11-01", "tax": "10",
                                  "cost_limit": "9000", "interruptions_per_hour": "0.5"},
    "compare-assumed-efficiency": {**LLAMA, "assumed_mfu": "40"},
    "compare-timed-step": {**LLAMA, "step_s": "19", "step_batch": "16",
                           "step_accelerator": "H100 SXM", "batch": "64"},
}  # fmt: skip
_STEPS: Final[Mapping[str, Asked]] = {
    "steps-digits-strict": {"workload": "mlp-64-64-digits-validation-error", "target": "0.02"},
    "steps-published": {"workload": "resnet-50-mlperf-imagenet-top-1-accuracy-mlperf-training"},
}
_SCALING_OUT: Final[Mapping[str, Asked]] = {
    "scaling-opening": {},
    "scaling-published-law": {"workload": "unnamed-model", "batch": ["8", "64", "512"],
                              "server_gbit_per_s": "10", "params": "25M"},
    "scaling-library": {"workload": "internlm-7b-2048-tokens", "devices": "2048",
                        "samples_per_epoch": "1000000", "price": "2", "deadline": "24",
                        "budget": "5000"},
    "scaling-workers": {"series": PARAMETER_SERVER, "slow": "25", "spread": "10",
                        "critical_batch": "300", "startup_s": "120", "epochs": "50"},
}  # fmt: skip
_WRONG_COMPARE: Final[Mapping[str, Asked]] = {
    "wrong-network-typo": {"network": "lama 3 8b", "total_tokens": "100M", "deadlin": "72",
                           "precision": "int8"},
    "wrong-network-ambiguous": {"network": "llama", "total_tokens": "100 tokens",
                                "currency": "XQQ"},
}  # fmt: skip
QUESTIONS: Final[Mapping[str, Question]] = MappingProxyType(
    {
        **_all("how-long", _HOW_LONG),
        **_all("curve", _CURVE),
        **_all("compare", _COMPARE),
        **_all("scaling-out", _SCALING_OUT),
        **_all("steps-to-target", _STEPS),
        **_all("compare", _WRONG_COMPARE),
        **_all("how-long", {"wrong-workload-ambiguous": {"workload": "wideresnet",
                                                         "epochs": "ten", "sistems": "gpu"}}),
        **_all("curve", {"wrong-batch": {"workload": DIGITS, "batch": "-1", "systems": "gpuu"}}),
        **_all("options", {"list-options": LLAMA}),
        **_all("results", {"results-published": {"family": "moe", "limit": "5"}}),
        **_all("method", {"method-accuracy": {}}),
    }
)  # fmt: skip
