"""A cluster on which no constant was chosen is scored where the data have it, and in no mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from backtest.choose.devices import device_choices
from backtest.questions.devices import CHECKS, CLUSTERS, clusters, devices_rows


def read_with(*names: str) -> Iterator[Mapping[str, str]]:
    for name in names:
        for batch in (8, 16, 32):
            for n in (1, 2, 4, 8):
                step = 0.1 + 0.001 * batch + 0.02 * n
                yield {
                    "cluster": name, "workload": "bert", "local_bsz": str(batch),
                    "num_gpus": str(n), "num_nodes": "1", "step_time_s": str(step),
                    "nonsync_time_s": str(0.9 * step),
                }  # fmt: skip


def test_the_check_cluster_is_scored_and_in_no_mean_and_in_no_choice() -> None:
    def read(path: str) -> list[Mapping[str, str]]:
        return list(read_with("aws", "rtx", "azure")) if "pollux" in path else []

    def without(path: str) -> list[Mapping[str, str]]:
        return list(read_with("aws", "rtx")) if "pollux" in path else []

    check = CHECKS["azure"]
    assert clusters(read)[check]
    assert check not in clusters(without)
    rows = devices_rows(read)
    assert {r.data_set for r in rows} > {check, CLUSTERS["aws"]}
    others = [r for r in rows if r.data_set != check]
    assert list(map(repr, others)) == list(map(repr, devices_rows(without)))
    assert device_choices(read) == device_choices(without)
