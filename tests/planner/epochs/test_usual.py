"""Which systems are shown before anyone chooses."""

from __future__ import annotations

from dataclasses import replace

from planner.core import Estimate
from planner.core.slugs import slugs
from planner.epochs import EPOCHS, offered, options_of, total_time, usual_options, with_sizes
from planner.epochs.epoch_size import epoch_size
from tests.planner.epochs.test_how_long import RUN

SPEEDS = {8: 100.0, 64: 900.0, 256: 2_000.0, 512: 5_000.0, 1_024: 3_000.0, 2_048: 1_500.0}


def test_the_fastest_run_is_shown_wherever_its_batch_lies() -> None:
    runs = [
        replace(
            RUN,
            run_id=f"{system}{batch:031d}",
            system=f"System {system}",
            global_batch_size=batch,
            samples_per_s=speed * (1 + system),
            train_samples=50_000,
            pre_train_s=None,
            first_epoch_s=None,
            until_first_epoch_end_s=None,
            later_epoch_mean_s=None,
            samples_per_epoch=None,
            steps_per_epoch=None,
            epochs_measured=None,
        )
        for system in range(3)
        for batch, speed in SPEEDS.items()
    ]
    options = options_of(runs, {})
    size = epoch_size(runs)
    by_slug = dict(zip(slugs([o.label for o in options]), options, strict=True))
    chosen = usual_options(by_slug, size)
    sized = dict(zip(by_slug, with_sizes(options, size), strict=True))
    totals = {s: total_time(o, EPOCHS) for s, o in sized.items()}
    times = {s: float(t.value) for s, t in totals.items() if isinstance(t, Estimate)}
    assert len(times) == len(runs)
    assert min(times, key=times.__getitem__) in chosen
    for system in range(3):
        of = [s for s in times if by_slug[s].run.system == f"System {system}"]
        assert min(of, key=times.__getitem__) in chosen


def test_systems_come_by_their_accelerator_count_and_not_as_text() -> None:
    names = ["1024 × H100 on 128 nodes", "128 × H100 on 16 nodes", "8 × H100", "A100", "TPU v2-8"]
    runs = [replace(RUN, run_id=f"{k:032d}", system=name) for k, name in enumerate(names)]
    found = [o.run.system for o in offered(runs, lambda _: {})]
    assert found == ["A100", "TPU v2-8", "8 × H100", names[1], names[0]]
