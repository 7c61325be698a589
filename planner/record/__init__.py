"""Record a training of your own: three lines in its script write a sealed run.

    from planner.record import EpochTimes

    times = EpochTimes("results/mine", model="ViT-B/16", global_batch_size=256,
                       samples_per_epoch=50_000)
    model.fit(x, y, batch_size=256, epochs=5, callbacks=[times])

The same object times any loop: `for epoch in times.epochs(5): ...`. It needs pyarrow only; the
framework's name, version and device are read from the module that the script has imported.
"""

from planner.record._epoch_times import EpochTimes
