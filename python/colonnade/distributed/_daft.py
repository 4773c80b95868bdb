# pyright: reportMissingImports=false
"""`daft_frame`.

Daft names the needed columns in any order, and takes those of a task by their number in the order of the schema. It
pushes a limit also if the filter before it stays outside; then the limit is not applied.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from daft.io.source import DataSource, DataSourceTask
from daft.recordbatch import RecordBatch
from daft.schema import Schema

from colonnade._errors import NotSupportedError
from colonnade._frames.gaps import refuse
from colonnade._plan.part import Part
from colonnade._plan.plan import Plan

from ._fit import fitted, plain_schema

if TYPE_CHECKING:
    import daft
    from daft.io.pushdowns import Pushdowns


def frame(plan: Plan) -> daft.DataFrame:
    """The frame. Its source keeps the plan alive in this process."""
    return ColonnadeSource(plan).read()


class ColonnadeSource(DataSource):
    """The parts of a plan as scan tasks."""

    def __init__(self, plan: Plan) -> None:
        self._parts = tuple(plan.parts)
        self._columns = plain_schema(plan.schema)
        for field in self._columns:
            _require_type(field.type, field.name)

    @property
    def name(self) -> str:
        return "colonnade"

    @property
    def schema(self) -> Schema:
        return Schema.from_pyarrow_schema(self._columns)

    async def get_tasks(self, pushdowns: Pushdowns) -> AsyncIterator[DataSourceTask]:
        columns = None
        if pushdowns.columns is not None:
            # Daft filters and counts the rows of the task itself, for which it needs these columns, or any. It takes
            # columns by their number, in the order of the schema, whatever the order in which it names them.
            needed = {*pushdowns.columns, *pushdowns.filter_required_column_names()}
            columns = [name for name in self._columns.names if name in needed] or self._columns.names[:1]
        # The limit is one of the rows that the filter leaves.
        limit = pushdowns.limit if pushdowns.filters is None and pushdowns.partition_filters is None else None
        for part in self._parts:
            yield _Task(part, self._columns, columns, limit)


class _Task(DataSourceTask):
    """Reads one part."""

    def __init__(self, part: Part, schema: pa.Schema, columns: list[str] | None, limit: int | None) -> None:
        self._part = part
        self._columns = columns
        self._limit = limit
        self._schema = schema if columns is None else pa.schema([schema.field(name) for name in columns])

    @property
    def schema(self) -> Schema:
        return Schema.from_pyarrow_schema(self._schema)

    async def read(self) -> AsyncIterator[RecordBatch]:
        # Waiting for the database must not stop Daft's event loop, on which other parts are read.
        batches = await asyncio.to_thread(self._batches)
        while (batch := await asyncio.to_thread(next, batches, None)) is not None:
            yield RecordBatch.from_arrow_record_batches([batch], self._schema)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        return fitted(_checked(self._part.batches(self._columns, limit=self._limit)), self._schema, "Daft")


def _checked(batches: Any) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        refuse(batch, "Daft", "cast the column to text in the query", midnight=True)
        yield batch


def _require_type(kind: pa.DataType, column: str) -> None:
    """Refuses a type that Daft would make Python objects of."""
    if pa.types.is_map(kind):
        _require_type(kind.key_type, column)
        _require_type(kind.item_type, column)
    elif pa.types.is_struct(kind):
        for field in kind:
            _require_type(field.type, column)
    elif pa.types.is_nested(kind) and hasattr(kind, "value_type"):
        _require_type(kind.value_type, column)
    elif Schema.from_pyarrow_schema(pa.schema([(column, kind)]))[column].dtype.is_python():
        raise NotSupportedError(
            f"column {column!r} has the type {kind}, for which Daft has none",
            hint="cast it to text in the query",
        )
