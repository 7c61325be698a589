"""Kinds of workloads: by the family that a record states, else by the network's name."""

from __future__ import annotations

from planner.networks import KINDS, kind_of, networks
from planner.networks._table import BY_FAMILY
from tests.each import each


def test_every_named_network_is_of_the_kind_of_its_family() -> None:
    for network in networks().values():
        assert kind_of(network.name) == BY_FAMILY[network.family], network.name


@each(
    ("name", "kind"),
    [
        ("WideResNet-103M · CIFAR-100 · Adam · float32", "Vision"),
        ("Transformer 2x128, 4 heads · synthetic tokens · SGD", "Language model"),
        ("MLP 64-64 · digits · SGD · float32", "Vision"),
        ("ResNet-50 · synthetic ImageNet · Adam", "Vision"),
        ("ViT 12x768, 12 heads, patch 16 · synthetic ImageNet · Adam", "Vision"),
        ("encoder 12x768, 12 heads · synthetic BERT tokens · Adam", "Language model"),
        ("RNN-T · LibriSpeech", "Speech"),
        ("DLRM-DCNv2 · Criteo 1TB multi-hot", "Recommender"),
        ("R-GAT MLPerf · IGBH-Full", "Graph"),
        ("diffusion-single · float32", "Image generation"),
        ("unnamed model", "Other"),
    ],
)
def test_other_workloads_are_of_the_kind_their_names_say(name: str, kind: str) -> None:
    assert kind_of(name) == kind


def test_a_stated_family_counts_before_the_name() -> None:
    assert kind_of("brax", "graph") == "Graph"
    assert kind_of("focalnet", "cnn") == "Vision"
    assert kind_of("ResNet-50", "unheard of") == "Vision"


def test_families_lead_to_kinds_that_are_offered() -> None:
    assert set(BY_FAMILY.values()) <= set(KINDS)
