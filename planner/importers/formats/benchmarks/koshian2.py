"""koshian2/TPU-Benchmark: pickles of article 002, read with two names allowed; command line only.

A pickle is a program. `find_class` knows `numpy.dtype` and `numpy.core.multiarray.scalar`, and both
are stand-ins of this module: no other function can be named, and no numpy object is made.
"""

import io
import pickle
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from planner.core import Text
from planner.importers.formats.source import Row, Source, Stated, later, number, whole
from planner.importers.formats.source_files import SourceError, SourceFiles

URL: Final = "https://github.com/koshian2/TPU-Benchmark"
MODEL: Final = "WideResNet 7x7 103M"
TRAIN, VALIDATION = 50_000, 10_000
_FLOW_BATCH: Final = 32
"""Images of a validation batch that Keras' generator in memory takes where none is stated."""
_FORMS: Final = {"f8": "d", "f4": "f", "i8": "q", "i4": "i"}
_CASE: Final = (
    "device_kind", "global_batch_size", "validation", "augmentation", "storage", "workers", "feed",
)  # fmt: skip
_PATTERNS: Final = ("use_validation", "use_augmentation", "from_storage")


class _Type:
    """Stands for numpy.dtype."""

    def __init__(self, name: object = "", *_: object) -> None:
        self.form = _FORMS.get(str(name).lstrip("<>|="), "")

    def __setstate__(self, state: object) -> None:
        """Ignore byte order and flags: all files are little-endian."""


def _number(kind: object = None, data: object = b"") -> float | int:
    """Return the number of a numpy scalar: its type and its bytes."""
    if isinstance(data, str):
        data = data.encode("latin-1")
    if not isinstance(kind, _Type) or not isinstance(data, bytes) or not kind.form:
        raise pickle.UnpicklingError("a scalar of another type")
    [value] = struct.unpack(f"<{kind.form}", data)
    return float(value) if kind.form in "df" else int(value)


_ALLOWED: Final = {("numpy", "dtype"): _Type, ("numpy.core.multiarray", "scalar"): _number}


class _Reader(pickle.Unpickler):
    """Reads numbers, texts, lists and dictionaries."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:  # noqa: ANN401
        """Return one of two stand-ins; UnpicklingError for every other name."""
        allowed = _ALLOWED.get((module_name, global_name))
        if allowed is None:
            shown = f"{module_name}.{global_name}"[:80]
            raise pickle.UnpicklingError(
                Text("it names {shown}, which is not allowed", shown=shown)
            )
        return allowed

    def persistent_load(self, pid: object) -> Any:  # noqa: ANN401
        """Refuse objects outside the file."""
        raise pickle.UnpicklingError(Text("it names an outside object {pid!r}", pid=str(pid)[:40]))


def _read(files: SourceFiles, stated: Stated) -> Sequence[Row]:
    rows: list[dict[str, Any]] = []
    problems: list[str] = []
    repeats: Counter[tuple[object, ...]] = Counter()
    for name in sorted(files.data):
        try:
            trials = _trials(_loaded(files.data[name]), name)
            made = [_row(trial, name, stated) for trial in trials]
        except (pickle.UnpicklingError, SourceError) as error:
            problems.append(
                Text("{name}: {error}. Restore it from its repository.", name=name, error=error)
            )
            continue
        except Exception as error:  # noqa: BLE001 - any damage ends here
            problems.append(
                Text(
                    "{name}: is damaged ({error}). Restore it.",
                    name=name,
                    error=type(error).__name__,
                )
            )
            continue
        for row in made:
            case = tuple(row[n] for n in _CASE)
            row["repeat"] = repeats[case]
            repeats[case] += 1
        rows += made
    if problems:
        raise SourceError(files.name, problems)
    return rows


def _loaded(data: bytes) -> Any:  # noqa: ANN401 - what a pickle holds
    return _Reader(io.BytesIO(data)).load()


def _trials(body: object, name: str) -> list[Mapping[str, Any]]:
    """Return the trials of the main files, one or several, and of the appendix in the same form."""
    if isinstance(body, dict) and "result" in body:
        return [body]
    if isinstance(body, list):
        return [t for t in body if isinstance(t, dict)]
    if isinstance(body, dict) and all(isinstance(v, dict) for v in body.values()):
        device = "tpu" if "tpu" in name.lower() else "gpu"
        batch = next((w for part in reversed(name.replace(".", "_").split("_")[:-1])
                      if (w := whole(part)) and w >= 64), None)  # fmt: skip
        return [
            {"device": device, "batch_size": batch, "mode": mode, "num_workers": 1, "result": r}
            for mode, r in body.items()
        ]
    raise SourceError(name, ["it holds neither trials nor modes"])


def _row(trial: Mapping[str, Any], name: str, stated: Stated) -> dict[str, Any]:
    result = trial.get("result")
    times = [number(t) for t in result.get("times", [])] if isinstance(result, dict) else []
    batch, start = whole(trial.get("batch_size")), None
    if isinstance(result, dict):
        start = number(result.get("initial_time"))
    epochs = [t for t in times if t is not None and t > 0.0]
    if batch is None or start is None or len(epochs) != len(times) or len(epochs) < 2:
        raise SourceError(name, ["a trial has no batch, no start or no two epochs"])
    device, mode = str(trial.get("device")), trial.get("mode")
    check, augment, storage = (bool(trial.get(n)) for n in _PATTERNS)
    floored = mode in {1, 2} or augment or storage
    checked = _checked(batch, augment=augment, storage=storage) if check else None
    return {
        "model": MODEL, "dataset": "CIFAR-100", "optimizer": "Adam", "precision": "float32",
        "synthetic_data": False, "input_shape": "32x32x3", "framework": "TensorFlow",
        "framework_version": "1.x", "device_kind": device,
        "system_name": f"{device.upper()} (Colab, 2018)",
        "accelerators_per_node": stated.facts.get("accelerators_per_node"),
        "global_batch_size": batch, "validation": check, "augmentation": augment,
        "storage": "storage" if storage else "memory", "workers": int(trial.get("num_workers", 1)),
        "feed": ("fit", "fit truncated", "generator")[mode] if isinstance(mode, int)
        and mode in range(3) else ("generator" if floored else "fit"),
        "train_samples": TRAIN, "validation_samples": VALIDATION if check else None,
        "validation_samples_per_epoch": checked,
        "samples_per_epoch": TRAIN // batch * batch if floored else TRAIN,
        "pre_train_s": start, **later(epochs), "total_s": start + sum(epochs),
        "epochs": [
            {"epoch": i, "epoch_s": t, "validation_s": None, "samples": None, "loss": None,
             "metric": None} for i, t in enumerate(epochs, 1)
        ],
        "source": "koshian2/TPU-Benchmark", "source_path": name, "licence": "MIT",
        "source_url": URL,
    }  # fmt: skip


def _checked(batch: int, *, augment: bool, storage: bool) -> int:
    """Return the images of one validation, as the script of the repository feeds them.

    `fit` takes all. Generators take 10,000 // batch batches: of the run's size from storage, of
    Keras' default size in memory.
    """
    if not (augment or storage):
        return VALIDATION
    return VALIDATION // batch * (batch if storage else _FLOW_BATCH)


SOURCE: Final = Source(
    name="koshian2",
    title="koshian2/TPU-Benchmark (pickles of article 002)",
    files="raw_result of a checkout: *.dat",
    reads="time before training and of each epoch, batch, input pattern",
    derives="images of an epoch and of a validation: all for fit, whole batches for generators",
    refuses="every name in a pickle but numpy's dtype and scalar; it is for the command line only",
    read=_read,
    needs=("system_name", "device_kind"),
    basis="published",
    endings=(".dat",),
    on_page=False,
    url=URL,
    citation=f"koshian2: TPU-Benchmark, 2018, {URL}",
)
