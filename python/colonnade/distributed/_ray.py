# pyright: reportMissingImports=false
"""`ray_dataset`.

A task that runs again gives some of its blocks from the second attempt, so each attempt must give its rows in one
order. Parts of a spool do. Others are sorted by all columns (`_order.py`), by keys that also distinguish 0.0 from -0.0
and one NaN from another. Their limit is not sent to the database, because another attempt could get other rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
import ray.data
from ray.data.block import BlockMetadata
from ray.data.datasource import Datasource, ReadTask

from colonnade._plan.part import Part
from colonnade._plan.plan import Plan

from ._fit import fitted, plain_schema
from ._order import in_order


def dataset(plan: Plan, concurrency: int | None, ray_remote_args: dict[str, Any] | None) -> ray.data.Dataset:
    """The dataset. Its source keeps the plan alive in this process."""
    source = ColonnadeDatasource(plan)
    return ray.data.read_datasource(
        source,
        override_num_blocks=len(plan.parts),
        concurrency=concurrency,
        ray_remote_args=ray_remote_args,
    )


class ColonnadeDatasource(Datasource):
    """The parts of a plan as read tasks."""

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self._parts = list(plan.parts)
        self._schema = plain_schema(plan.schema)
        self._bytes = plan.bytes
        #: Which columns Ray needs, by name; None is all.
        self._projection_map: dict[str, str] | None = None

    def estimate_inmemory_data_size(self) -> int | None:
        """The size of all columns in bytes, exact for a spool, as Ray expects it."""
        return self._bytes

    def supports_projection_pushdown(self) -> bool:
        """Whether Ray may choose columns."""
        return True

    def get_read_tasks(
        self, parallelism: int, per_task_row_limit: int | None = None, data_context: object = None
    ) -> list[ReadTask]:
        """A task for each part, whatever the parallelism: the parts are what there is."""
        # Ray's blocks have no rows without a column.
        columns = None if self._projection_map is None else list(self._projection_map) or self._schema.names[:1]
        schema = self._schema if columns is None else pa.schema([self._schema.field(name) for name in columns])
        return [
            ReadTask(
                _reader(part, columns, per_task_row_limit),
                # Ray takes the rows before reading for exact, for example in count().
                BlockMetadata(
                    num_rows=part.rows if part.exact else None,
                    size_bytes=part.bytes,
                    input_files=None,
                    exec_stats=None,
                ),
                schema=schema,
                per_task_row_limit=per_task_row_limit,
            )
            for part in self._parts
        ]


def _reader(part: Part, columns: list[str] | None, limit: int | None) -> Callable[[], Iterable[pa.Table]]:
    def read_part() -> Iterator[pa.Table]:
        is_in_order = part.kind == "spool"
        batches = part.batches(columns, limit=limit if is_in_order else None)
        schema = plain_schema(batches.schema)
        table = pa.Table.from_batches(list(fitted(batches, schema, "Ray")), schema)
        if not is_in_order:
            table = in_order(table)
        # Ray cuts the table by its size, which must not depend on the batches in which the rows arrived.
        yield (table if limit is None else table.slice(0, limit)).combine_chunks()

    return read_part
