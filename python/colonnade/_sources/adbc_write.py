"""Writes rows into a table by an ADBC driver's own ingestion.

Only what is known to be exact and atomic is written. Others lose values in silence: SQLite's driver makes NULL of NaN,
and PostgreSQL's wraps uint64, makes numeric of decimal(15,2), and finite dates of infinite ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._errors import DatabaseError, InterfaceError, NotSupportedError
from colonnade._libraries import require

from .names import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from colonnade._core import Stream
    from colonnade._options.write import WriteTarget

#: The names by which drivers call themselves.
OWN, POSTGRESQL = "ADBC driver of Colonnade", "ADBC PostgreSQL Driver"
#: Drivers whose databases this package writes to without them.
_BETTER = {"ADBC SQLite Driver": "sqlite:///file.db", "duckdb": "duckdb:///file.duckdb"}
#: ADBC's modes.
_MODES = {"fail": "create", "append": "append", "replace": "replace", "create_append": "create_append"}
#: The types that PostgreSQL's driver stores and reads as themselves, by Arrow's names of the types that become them.
_EXACT = {
    "bool": "bool",
    "int8": "int16",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "uint8": "int16",
    "uint16": "int32",
    "uint32": "int64",
    "halffloat": "float",
    "float": "float",
    "double": "double",
    "string": "string",
    "large_string": "string",
    "string_view": "string",
    "binary": "binary",
    "large_binary": "binary",
    "binary_view": "binary",
}


class AdbcWriter:
    """One write by the driver of a connection. The caller begins and ends the transaction."""

    def __init__(self, adbc: Any, connection: Any, driver: str, source: str, target: WriteTarget) -> None:
        self._adbc = adbc
        self._connection = connection
        self._driver = driver
        self._source = source
        self._target = target
        self._rows: Stream | None = None
        self._pa = require("pyarrow", "writing by an ADBC driver", "adbc")

    def refuse(self, *, in_transaction: bool) -> None:
        """Raises an error if the driver cannot write to the target exactly and atomically."""
        mode = self._target["if_exists"]
        if self._driver in _BETTER:
            raise self._refused(
                f"the driver {self._driver!r} does not store every value exactly", _BETTER[self._driver]
            )
        if self._driver not in (OWN, POSTGRESQL):
            raise self._refused(
                f"it is not known whether the driver {self._driver!r} stores rows exactly and in one transaction",
                "the database's own loader",
            )
        if mode not in _MODES:
            raise self._refused(f"ADBC has no if_exists={mode!r}", "the database's own URI, such as postgresql://…")
        if self._driver == OWN:
            return
        if mode not in ("fail", "replace"):
            # Its columns may round: char(n), timestamp(0). The driver does not tell.
            raise self._refused(
                "this driver does not report the types of an existing table, so exact writes cannot be checked",
                "postgresql://…",
            )
        if in_transaction:
            raise InterfaceError(
                "a transaction is open, and this driver could not take back a part of it",
                hint="commit it or roll it back first, or write to postgresql://…",
                source=self._source,
            )

    def write(self, rows: Stream, begun: Callable[[Any], None]) -> int:
        """Ingests all rows. Returns their number. `begun` is called with the statement, which can be cancelled."""
        if self._driver == OWN:
            return self._ingest(rows, begun)
        schema = self._pa.schema(rows)
        types = [self._exact(field) for field in schema]
        targets = self._pa.schema([(field.name, kind) for field, kind in zip(schema, types, strict=True)])
        ingested = self._ingest(rows.fitted(targets, list(map(str, types))), begun)
        self._compare_types(targets)
        self._compare_count(ingested)
        return ingested

    def interrupt(self) -> None:
        """Ends the rows with an error. It may be called from any thread."""
        if (rows := self._rows) is not None:
            rows.interrupt()

    def _exact(self, field: pa.Field) -> pa.DataType:
        name = _EXACT.get(str(field.type))
        if name is None:
            raise NotSupportedError(
                f'column "{field.name}": this driver does not store {field.type} exactly',
                sqlstate="0A000",
                hint="write to postgresql://…, or convert the column: dtype={…: …}",
                source=self._source,
            )
        return self._pa.type_for_alias(name)

    def _ingest(self, rows: Stream, begun: Callable[[Any], None]) -> int:
        target, self._rows = self._target, rows
        statement = self._adbc.AdbcStatement(self._connection)
        begun(statement)
        options = {
            "adbc.ingest.target_table": target["table"],
            "adbc.ingest.mode": f"adbc.ingest.mode.{_MODES[target['if_exists']]}",
        }
        if target["schema"] is not None:
            options["adbc.ingest.target_db_schema"] = target["schema"]
        if target["temporary"]:
            options["adbc.ingest.temporary"] = "true"
        statement.set_options(**options)
        statement.bind_stream(rows)
        try:
            told = statement.execute_update()
        except BaseException as error:
            if (failure := rows.failure(self._source)) is not None:
                raise failure from error
            raise
        ours = rows.stats()["rows"]
        if told != ours:
            raise self._other_count(ours, told)
        return ours

    def _compare_types(self, written: pa.Schema) -> None:
        """Whether the table's columns are read with the types in which they were written."""
        target = self._target
        schema = target["schema"]
        found = self._pa.schema(self._connection.get_table_schema(None, schema, target["table"]))
        for field in written:
            read = found.field(field.name).type
            if read != field.type:
                raise NotSupportedError(
                    f'column "{field.name}": it was written as {field.type}, and the table has {read}',
                    sqlstate="0A000",
                    hint="write to postgresql://…",
                    source=self._source,
                )

    def _compare_count(self, ours: int) -> None:
        statement = self._adbc.AdbcStatement(self._connection)
        try:
            table = quoted("postgresql", self._target["schema"], self._target["table"])
            statement.set_sql_query(f"SELECT count(*) FROM {table}")
            stream, _ = statement.execute_query()
            stored = self._pa.RecordBatchReader.from_stream(stream).read_all()[0][0].as_py()
        finally:
            statement.close()
        if stored != ours:
            raise self._other_count(ours, stored)

    def _other_count(self, ours: int, stored: int) -> DatabaseError:
        message = f"the database stored {stored} of {ours} rows, so the transaction was rolled back"
        return DatabaseError(message, sqlstate="44000", source=self._source)

    def _refused(self, message: str, instead: str) -> NotSupportedError:
        return NotSupportedError(message, sqlstate="0A000", hint=f"write to {instead}", source=self._source)
