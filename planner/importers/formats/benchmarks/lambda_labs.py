"""Lambda's PyTorch benchmark: one CSV of samples/s by GPU (rows) and network (columns)."""

import re
from collections.abc import Sequence
from typing import Any, Final

from planner.core import Text
from planner.importers.formats.source import Row, Source, Stated, number
from planner.importers.formats.source_files import MOST_ROWS, SourceError, SourceFiles, table_of

_NAME: Final = "name_gpu"
_BESIDE: Final = frozenset({"name_gpu", "num_gpu", "watt", "price", "system"})
_COLUMN: Final = re.compile(r"(?P<model>.+?)_(?P<precision>fp16|fp32|tf32|amp|bf16)")
_PRECISIONS: Final = {"fp16": "mixed_float16", "amp": "mixed_float16", "bf16": "mixed_bfloat16",
                      "fp32": "float32", "tf32": "tf32"}  # fmt: skip


def _read(files: SourceFiles, stated: Stated) -> Sequence[Row]:
    table = table_of(files)
    if _NAME not in table[0] or "num_gpu" not in table[0]:
        raise SourceError(
            files.first, ["it has no columns name_gpu and num_gpu, as Lambda's table has."]
        )
    if len(table) * len(table[0].keys() - _BESIDE) > MOST_ROWS:
        many = Text("it has more than {most_rows:,} speeds. Split it.", most_rows=MOST_ROWS)
        raise SourceError(files.first, [many])
    precision = stated.options.get("precision")
    rows: list[dict[str, Any]] = []
    problems: list[str] = []
    for number_of, line in enumerate(table, 2):
        count = number(line["num_gpu"])
        if count is None or count < 1 or count != int(count):
            problems.append(
                Text(
                    "line {number_of}, num_gpu: is {num_gpu!r}.",
                    number_of=number_of,
                    num_gpu=line["num_gpu"],
                )
            )
            continue
        for column, cell in line.items():
            if column in _BESIDE:
                continue
            speed = number(cell)
            if speed is None or speed < 0.0:
                problems.append(
                    Text(
                        "line {number_of}, {column}: is {cell!r}; it must be a speed.",
                        number_of=number_of,
                        column=column,
                        cell=cell,
                    )
                )
            elif speed > 0.0:  # 0 stands for missing
                match = _COLUMN.fullmatch(column)
                kind = match["precision"] if match else precision
                rows.append(
                    {
                        "model": match["model"] if match else column,
                        "precision": _PRECISIONS.get(kind or "", kind),
                        "system_name": f"{int(count)} x {line[_NAME]}",
                        "device_kind": "gpu",
                        "accelerator_model_name": line[_NAME],
                        "accelerators_per_node": int(count),
                        "framework": "PyTorch",
                        "throughput": speed,
                        "source": "Lambda PyTorch benchmark",
                    }
                )
    if problems:
        raise SourceError(files.first, problems)
    return rows


SOURCE: Final = Source(
    name="lambda",
    title="Lambda's PyTorch benchmark",
    files="pytorch-train-throughput-*.csv",
    reads="samples/s by GPU and network",
    derives="the precision from the name of the column or the option",
    refuses="0 as a speed: it means missing and is left out",
    named=r"pytorch-train-throughput.*\.csv",
    read=_read,
    needs=("model", "system_name", "device_kind"),
    options={"precision": "of the whole table, as fp16, where columns do not name it"},
    basis="published",
    url="https://github.com/lambdal/deeplearning-benchmark",
    citation="Lambda: deeplearning-benchmark",
)
