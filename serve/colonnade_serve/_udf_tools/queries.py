"""`_conn` in local runs: queries on a read-only connection of the developer's, whose answers are recorded."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from colonnade._connection import connect
from colonnade._errors import Error

from colonnade_serve._core import column_type
from colonnade_serve._udf import inbound
from colonnade_serve._udf.failures import QueryError

from . import memory
from .at_rest import read_table, write_table

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import pyarrow as pa
    from colonnade._connection import Connection

#: The key of the columns' types in the schema's metadata.
TYPES = b"colonnade.types"


class RecordedQueries:
    """What functions have as `_conn`. With a database, queries run there and are recorded; without one, the answers are
    those that were recorded. With a key, recorded answers are encrypted."""

    Error = QueryError

    def __init__(self, folder: Path, uri: str | None, key: bytes | None = None) -> None:
        self._folder = folder
        self._uri = uri
        self._key = key
        self._connection: Connection | None = None

    def execute(self, sql: str) -> dict[str, np.ndarray]:
        """The rows of a query: an array for each column, by its name."""
        if not isinstance(sql, str):
            raise TypeError(f"execute() takes a str, not {type(sql).__name__}")
        file = self._folder / f"{hashlib.sha256(sql.encode()).hexdigest()[:32]}.arrow"
        table = self._recorded(file, sql) if self._uri is None else self._answer(file, sql)
        types = json.loads(table.schema.metadata[TYPES])
        found = {}
        ring = memory.LocalRing()
        for index, (name, type_) in enumerate(types):
            ring.begin()
            column = table.column(index).combine_chunks()
            memory.write(ring, column, json.loads(column_type(type_)))
            values = memory.read_values(ring, json.loads(column_type(type_)), ring.columns)
            found[name] = inbound.argument(values)
        return found

    def close(self) -> None:
        """End the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _answer(self, file: Path, sql: str) -> pa.Table:
        try:
            if self._connection is None:
                assert self._uri is not None
                self._connection = connect(self._uri)
            self._connection.execute("BEGIN READ ONLY")
            try:
                described = self._connection.query(f"DESCRIBE {sql}").to_arrow().to_pylist()
                table = self._connection.query(sql).to_arrow()
            finally:
                self._connection.execute("ROLLBACK")
        except Error as error:
            raise QueryError(error.sqlstate or "", error.message, "", error.hint or "", "", sql) from None
        types = [(row["column_name"], row["column_type"]) for row in described]
        table = table.replace_schema_metadata({TYPES: json.dumps(types).encode()})
        # The folder is one of a project: `.colonnade/queries`, or beside a function's file.
        write_table(file, table, self._key, self._folder.parents[1])
        return table

    def _recorded(self, file: Path, sql: str) -> pa.Table:
        if not file.is_file():
            raise ValueError(f"this query was not recorded: run the function without --offline first: {sql}")
        return read_table(file, self._key, "a query's answer")
