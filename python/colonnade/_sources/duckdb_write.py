"""Writes rows into a table of DuckDB: all of them, or none."""

from __future__ import annotations

import re
from secrets import token_hex
from typing import TYPE_CHECKING, Any, TypeAlias

from colonnade._errors import DatabaseError, DataError, Error, IntegrityError, NotSupportedError, ProgrammingError
from colonnade._libraries import require
from colonnade._sources.duckdb_types import arrow_scan
from colonnade._sources.duckdb_types.exact import literal, quoted
from colonnade._sources.duckdb_types.written import Received, created, received

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection
    from duckdb.sqltypes import DuckDBPyType

    from colonnade._core import Stream
    from colonnade._options.write import WriteTarget

    #: By name, in the order of the data: the table's column, and how it receives values.
    Columns: TypeAlias = "dict[str, tuple[DuckDBPyType, Received]]"

_ADVICE = "convert the data: dtype={…: …}; spec/TYPES.md lists what a column accepts"
#: The characters of a key that an error shows.
_SHOWN = 100
_TABLES = """
    select table_name, true from system.main.duckdb_tables() where database_name = $1 and schema_name = $2
    union all
    select view_name, false from system.main.duckdb_views() where database_name = $1 and schema_name = $2
"""
_KEYS = """
    select constraint_column_names from system.main.duckdb_constraints()
    where database_name = $1 and schema_name = $2 and table_name = $3 and constraint_type in ('PRIMARY KEY', 'UNIQUE')
"""
_GENERATED = """
    select column_name from system.main.duckdb_columns()
    where database_name = $1 and schema_name = $2 and table_name = $3 and is_generated
"""


class DuckdbWriter:
    """One write. The caller begins and ends the transaction."""

    def __init__(self, connection: DuckDBPyConnection, source: str, target: WriteTarget) -> None:
        self._connection = connection
        self._source = source
        self._target = target
        self._pa = require("pyarrow", "writing to DuckDB", "duckdb")
        #: Marks the errors of `_checked`, and names what is registered.
        self._token = f"colonnade_{token_hex(8)}"
        self._place = ("", "")
        self._rows: Stream | None = None
        #: Whether the transaction has changed something.
        self.has_changed = False

    def write(self, rows: Stream) -> int:
        """Writes all rows. Returns their number."""
        schema = self._pa.schema(rows)
        self._refuse_read_only()
        if not arrow_scan.is_duckdbs(self._connection):
            raise self._refused(arrow_scan.MESSAGE, "55000", arrow_scan.HINT)
        self._prepare(schema)
        columns = self._columns(schema)
        fields = [self._pa.field(name, how.type, metadata=how.metadata) for name, (_, how) in columns.items()]
        targets = self._pa.schema(fields)
        fitted = rows.fitted(targets, [str(kind) for kind, _ in columns.values()])
        self._rows = fitted
        # `register` keeps the object: this one is emptied, so that nothing of the rows stays.
        held = _Held(fitted)
        self._connection.register(self._token, held)
        try:
            stored = self._insert(columns)
        except BaseException as error:
            if (failure := fitted.failure(self._source)) is not None:
                raise failure from error
            raise
        finally:
            held.stream = None
            fitted.close()
        ours = fitted.stats()["rows"]
        if stored != ours:
            raise DatabaseError(
                f"the database stored {stored} of {ours} rows, so the transaction was rolled back",
                sqlstate="44000",
                source=self._source,
            )
        return stored

    def interrupt(self) -> None:
        """Ends the rows with an error. It may be called from any thread."""
        if (rows := self._rows) is not None:
            rows.interrupt()

    def unregister(self) -> None:
        """Removes what `write` has registered."""
        self._connection.unregister(self._token)

    def translated(self, error: BaseException) -> Error | None:
        """The error of a value that a column's condition refuses; None for any other."""
        _, found, rest = str(error).partition(self._token)
        if not found:
            return None
        sqlstate, _, message = rest.removeprefix(":").partition(":")
        kind = IntegrityError if sqlstate.startswith("23") else DataError
        return kind(message, sqlstate=sqlstate, source=self._source)

    @property
    def _table(self) -> str:
        return ".".join(map(quoted, (*self._place, self._target["table"])))

    def _ask(self, sql: str, *values: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, list(values)).fetchall()

    def _refused(self, message: str, sqlstate: str, hint: str | None = None) -> ProgrammingError:
        return ProgrammingError(message, sqlstate=sqlstate, hint=hint, source=self._source)

    def _unsupported(self, column: str, what: str) -> NotSupportedError:
        return NotSupportedError(
            f"column {quoted(column)}: {what}", sqlstate="0A000", hint=_ADVICE, source=self._source
        )

    def _refuse_read_only(self) -> None:
        sql = "select readonly from system.main.duckdb_databases() where database_name = system.main.current_database()"
        if self._target["temporary"] or self._ask(sql) == [(False,)]:
            return
        raise DatabaseError(
            "the file is opened read-only",
            sqlstate="25006",
            hint="connect without ?access_mode=read_only, as a user who may write to the file",
            source=self._source,
        )

    def _prepare(self, schema: pa.Schema) -> None:
        """Makes the table ready."""
        mode, exists = self._target["if_exists"], self._find()
        shown = quoted(self._target["table"])
        if exists and mode == "fail":
            hint = 'if_exists="append" adds to it, "truncate" empties it before, "replace" makes a new one'
            raise self._refused(f"the table {shown} exists", "42P07", hint)
        if not exists and mode in ("append", "truncate"):
            hint = 'if_exists="create_append" creates it'
            raise self._refused(f"the table {shown} does not exist", "42P01", hint)
        if exists and mode != "replace":
            # A column that is refused must not fail a transaction of the user's.
            self._columns(schema)
            if mode == "upsert":
                self._require_key()
            if mode == "truncate":
                self._change(f"DELETE FROM {self._table}")
            return
        definition = self._definition(schema)
        if exists:
            self._change(f"DROP TABLE {self._table}")
        self._change(f"CREATE {'TEMPORARY ' if self._place[0] == 'temp' else ''}TABLE {self._table} ({definition})")

    def _change(self, sql: str) -> None:
        self.has_changed = True
        self._connection.execute(sql)

    def _find(self) -> bool:
        """Finds the table, or else the place of a new one. A temporary table is found before others, as in a query."""
        (current,) = self._ask("select system.main.current_database(), system.main.current_schema()")
        named = self._target["schema"]
        if self._target["temporary"]:
            if named is not None:
                raise self._refused("a temporary table has no schema of its own", "42P16", "leave schema out")
            places = [("temp", "main")]
        elif named is not None:
            sql = "select 1 from system.main.duckdb_schemas() where database_name = $1 and schema_name = $2"
            if not self._ask(sql, current[0], named):
                raise self._refused(f"the schema {quoted(named)} does not exist", "3F000")
            places = [(current[0], named)]
        else:
            places = [("temp", "main"), current]
        for place in places:
            self._place = place
            if self._is_here():
                break
        else:
            return False
        return True

    def _is_here(self) -> bool:
        name = self._target["table"]
        for found, is_table in self._ask(_TABLES, *self._place):
            if _folded(found) != _folded(name):
                continue
            if found != name:
                hint = "DuckDB takes both for one name: write it as the table has it"
                raise self._refused(f"the table is called {quoted(found)}, not {quoted(name)}", "42P07", hint)
            if not is_table:
                raise self._refused(f"{quoted(name)} is a view, which has no rows of its own", "42809")
            return True
        return False

    def _definition(self, schema: pa.Schema) -> str:
        """The columns of a new table."""
        parts: list[str] = []
        for field in schema:
            kind = created(self._pa, field)
            if kind is None:
                raise self._unsupported(field.name, f"DuckDB has no type that holds values of {field.type} exactly")
            parts.append(f"{quoted(field.name)} {kind}")
        if key := self._target["key"]:
            parts.append(f"PRIMARY KEY ({_listed(key)})")
        return ", ".join(parts)

    def _columns(self, schema: pa.Schema) -> Columns:
        """The table's column for each column of the data, and how it receives values."""
        relation = self._connection.sql(f"FROM {self._table}")
        known = dict(zip(relation.columns, relation.types, strict=True))
        generated = {name for (name,) in self._ask(_GENERATED, *self._place, self._target["table"])}
        columns: Columns = {}
        for field in schema:
            if field.name in generated:
                raise self._refused(f"column {quoted(field.name)} is generated", "428C9", "leave it out of the data")
            if field.name not in known:
                message = f"the table has no column {quoted(field.name)} that can be written to"
                raise self._refused(message, "42703", "names are compared exactly, with their case")
            kind = known[field.name]
            how = received(self._pa, field, kind)
            if how is None:
                what = f"the table's column of type {kind} cannot hold values of {field.type} exactly"
                raise self._unsupported(field.name, what)
            columns[field.name] = (kind, how)
        return columns

    def _insert(self, columns: Columns) -> int:
        select = self._select(columns)
        kinds = self._connection.sql(select).types
        for name, (kind, _), found in zip(columns, columns.values(), kinds, strict=True):
            if found != kind:
                raise self._unsupported(name, f"DuckDB reads it as {found}, and the table's column is {kind}")
        names = _listed(columns)
        if self._target["if_exists"] == "upsert":
            return self._upsert(columns, select)
        return self._count(f"INSERT INTO {self._table} ({names}) {select}")

    def _count(self, sql: str) -> int:
        """Runs a statement that changes rows. Returns their number."""
        self.has_changed = True
        done = self._connection.execute(sql)
        changed = done.rowcount
        # This drops the rows, so that the connection is free again.
        done.complete()
        return changed

    def _select(self, columns: Columns) -> str:
        """The rows in the columns' types, in the order of the data."""
        source, row = quoted(self._token), quoted(f"{self._token}_row")
        if any(how.condition for _, how in columns.values()):
            source = f"(SELECT *, system.main.row_number() OVER () AS {row} FROM {source})"
        parts = [f"{self._expression(name, *column, row)} AS {quoted(name)}" for name, column in columns.items()]
        return f"SELECT {', '.join(parts)} FROM {source}"

    def _expression(self, name: str, kind: DuckDBPyType, how: Received, row: str) -> str:
        value = quoted(name)
        expression = how.expression.replace("{}", value)
        if how.condition is None:
            return expression
        before = literal(f"{self._token}:22P02:column {quoted(name)}, row ")
        after = literal(f": a text that is no value of {kind}")
        is_right = how.condition.replace("{}", value)
        problem = f"system.main.error(system.main.concat({before}, {row}, {after}))"
        return f"CASE WHEN {value} IS NULL OR {is_right} THEN {expression} ELSE {problem} END"

    def _require_key(self) -> None:
        key = self._target["key"]
        found = self._ask(_KEYS, *self._place, self._target["table"])
        if not any(sorted(names) == sorted(key) for (names,) in found):
            raise self._refused(
                f"the table {self._table} has no primary key or unique constraint on exactly the key ({_listed(key)})",
                "42P10",
                "name the columns of one, or add it: ALTER TABLE … ADD PRIMARY KEY (…)",
            )

    def _upsert(self, columns: Columns, select: str) -> int:
        """Merges the rows by way of a temporary table, because DuckDB finds repeated keys only within a block."""
        key, stage = self._target["key"], f"temp.main.{quoted(f'{self._token}_stage')}"
        self._change(f"CREATE TEMPORARY TABLE {stage} AS {select}")
        for name in key:
            # Row ids are in the order of insertion, but do not begin with 0.
            first = f"SELECT system.main.min(rowid) FROM {stage} WHERE {quoted(name)} IS NULL"
            [(row,)] = self._ask(f"SELECT system.main.count(*) FROM {stage} WHERE rowid <= ({first})")
            if row:
                raise IntegrityError(
                    f"column {quoted(name)}, row {row}: NULL in the key", sqlstate="23502", source=self._source
                )
        keys = _listed(key)
        shown = ", ".join(f"CAST({quoted(name)} AS VARCHAR)" for name in key)
        repeated = self._ask(f"SELECT {shown} FROM {stage} GROUP BY {keys} HAVING system.main.count(*) > 1 LIMIT 1")
        for values in repeated:
            texts = [value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…" for value in values]
            raise DatabaseError(
                f"two rows of the data have the key ({keys}) = ({', '.join(texts)})",
                sqlstate="21000",
                source=self._source,
                hint="an upsert takes one row for each key: drop or aggregate the others before",
            )
        others = [name for name in columns if name not in key]
        update = f"UPDATE SET {', '.join(f'{quoted(name)} = EXCLUDED.{quoted(name)}' for name in others)}"
        changed = self._count(
            f"INSERT INTO {self._table} ({_listed(columns)}) SELECT {_listed(columns)} FROM {stage}"
            f" ON CONFLICT ({keys}) DO {update if others else 'NOTHING'}"
        )
        if not others:
            # Rows that are there stay as they are, and are not counted.
            [(changed,)] = self._ask(f"SELECT system.main.count(*) FROM {stage} SEMI JOIN {self._table} USING ({keys})")
        self._write_keys(columns, stage)
        self._connection.execute(f"DROP TABLE {stage}")
        return changed

    def _write_keys(self, columns: Columns, stage: str) -> None:
        """Replaces keys that are equal to those of the data and not the same: by a collation, or 0.0 and -0.0. ON
        CONFLICT does not, because DuckDB would delete and insert every row whose key is set."""
        key = self._target["key"]
        inexact = [name for name in key if columns[name][0].id in _EQUAL_AND_NOT_THE_SAME]
        if not inexact:
            return
        table, rows = self._table, quoted(f"{self._token}_rows")

        def bytes_of(side: str, name: str) -> str:
            return f"system.main.encode(CAST({side}.{quoted(name)} AS VARCHAR))"

        same = " AND ".join(f"{table}.{quoted(name)} = {rows}.{quoted(name)}" for name in key)
        differs = " OR ".join(f"{bytes_of(table, name)} <> {bytes_of(rows, name)}" for name in inexact)
        changes = ", ".join(f"{quoted(name)} = {rows}.{quoted(name)}" for name in inexact)
        self._connection.execute(f"UPDATE {table} SET {changes} FROM {stage} AS {rows} WHERE {same} AND ({differs})")


#: Types of DuckDB that have equal values that are not the same.
_EQUAL_AND_NOT_THE_SAME = ("varchar", "float", "double")


class _Held:
    """What is registered: a stream, until it is taken away."""

    def __init__(self, stream: Stream) -> None:
        self.stream: Stream | None = stream

    def __arrow_c_schema__(self) -> object:
        return self._stream().__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._stream().__arrow_c_stream__()

    def _stream(self) -> Stream:
        if self.stream is None:
            raise RuntimeError("the write has ended")
        return self.stream


def _listed(names: Any) -> str:
    return ", ".join(map(quoted, names))


def _folded(name: str) -> str:
    """DuckDB takes names for one that differ in the case of ASCII letters only."""
    return re.sub("[A-Z]+", lambda found: found[0].lower(), name)
