"""The queries of one call of `read_sql`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from colonnade._errors import DatabaseError, InterfaceError
from colonnade._frames.shape import Shape, resliced
from colonnade._libraries import require

from . import partition

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    import pyarrow as pa

    from colonnade._connection import Connection
    from colonnade._frames.result import Result
    from colonnade._options.query import Params


@dataclass(frozen=True)
class Reading:
    """Queries with the same columns on one connection, and the shape of their result."""

    connection: Connection
    queries: list[str]
    shape: Shape
    params: Params | None
    split: partition.Split
    owns_connection: bool

    def whole(self) -> Any:
        """The rows as one object."""
        try:
            result = self._parts()
            if result is not None:
                return self.shape.of_result(self.shape.prepare(result))
        except DatabaseError as error:
            # A query calls a function that writes. The parts can only read, so nothing has happened.
            if len(self.queries) == 1 or error.sqlstate != "25006":
                raise
        pa = require("pyarrow", "a list of queries")
        tables: list[pa.Table] = []
        for sql in self.queries:
            tables.append(self._query(sql).to_arrow())
            _same_columns(tables[0].schema, tables[-1].schema)
        held = [pa.concat_tables(tables)]
        tables.clear()
        return self.shape.of_table(held)

    def stream(self) -> pa.RecordBatchReader | Iterator[pd.DataFrame]:
        """The rows as they arrive, in the order of the queries."""
        parts = self._parts() if len(self.queries) == 1 else None
        first = self._query(self.queries[0]) if parts is None else self.shape.prepare(parts)

        def batches() -> Iterator[pa.RecordBatch]:
            try:
                yield from first
                for sql in self.queries[1:]:
                    result = self._query(sql)
                    _same_columns(first.schema, result.schema)
                    yield from result
            finally:
                first.close()
                self.close()

        if self.shape.chunksize is not None:
            return self.shape.frames(batches(), first.schema)
        pa = require("pyarrow", "return_type 'arrow_stream'")
        made = batches() if self.shape.batch_size is None else resliced(batches(), self.shape.batch_size)
        return pa.RecordBatchReader.from_batches(first.schema, made)

    def close(self) -> None:
        """Closes the connection, unless it belongs to the caller."""
        if self.owns_connection:
            self.connection.close()

    def _query(self, sql: str) -> Result:
        whole = replace(self.split, key=None, number=None)
        return self.shape.prepare(
            partition.start(self.connection._source, sql, self.params, self.shape.query_options, whole)
        )

    def _parts(self) -> Result | None:
        """One result of all queries; None if they can only run one after another."""
        source = self.connection._source
        if len(self.queries) == 1:
            return partition.start(source, self.queries[0], self.params, self.shape.query_options, self.split)
        return partition.start_each(source, self.queries, self.params, self.shape.query_options, self.split)


def _same_columns(first: pa.Schema, other: pa.Schema) -> None:
    if not first.equals(other):
        raise InterfaceError(f"the queries have different columns:\n{first}\nand\n{other}")
