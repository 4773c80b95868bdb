"""`scan_sql`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

from colonnade._connection import Connection, connect
from colonnade._errors import InterfaceError
from colonnade._frames import convert
from colonnade._frames.values import TYPE_KEY
from colonnade._libraries import require
from colonnade._options import expected
from colonnade._options.query import NAMES, Params, QueryOptions
from colonnade._read.description import described, differ_only_in_case
from colonnade._sources.pushed import around, column

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from colonnade._frames.result import Result

#: The major version of polars whose plans are known here.
_POLARS = 2
#: The dialect in which names that differ only in case are different columns of a query in FROM.
_CASE_SENSITIVE = "postgresql"
#: The word, wherever it stands. In a query around the query, its order would be lost.
_ORDER = re.compile(r"(?<![a-z_])order(?![a-z0-9_])", re.IGNORECASE)


def scan_sql(uri: str, query: str, params: Params | None = None, **options: Unpack[QueryOptions]) -> pl.LazyFrame:
    """Returns a query as a polars.LazyFrame, which reads from the database when it is collected.

    Each collection opens a connection, reads the rows in batches as they arrive, and closes the connection, also if
    polars needs only the first rows. A statement that changes data, such as INSERT … RETURNING, is refused (25006). Of
    what polars does with the frame, the database does:

    * the choice of columns;
    * filters, if the database certainly compares as polars does: `==`, `!=`, `<`, `<=`, `>`, `>=`, `is_between` and
      `is_in` of integers, decimals, dates, timestamps and booleans with literals, `==` and `is_in` of text,
      `is_null`, `is_not_null`, and `&`, `|` and `~` of these. polars filters again in any case;
    * the limit of `head`, without a filter.

    A query that contains the word ORDER is sent as it is, because a query around it would lose the order. The same
    holds for statements that cannot stand in FROM, for queries whose columns would have other names there (with
    `colonnade serve`, columns without a name), for names that differ only in case (except in PostgreSQL), and for ADBC
    and ODBC.

    Args:
        uri: A URI (see `connect`).
        query: A query whose columns have different names.
        params: Values for `$1`, `$2`, … or for `$name`, as for `Connection.query`.
        options: The options of `Connection.query`.

    Returns:
        A polars.LazyFrame. Its columns are already known: the database describes the query without running it. SQLite,
        ADBC and ODBC start it, and stop it when its columns are known. The other databases do this with statements that
        cannot stand in FROM, in a read-only transaction, so that nothing is changed.

    Raises:
        Error: As for `Connection.query`, now or when the frame is collected.
        NotSupportedError: polars has no type for a column.
        ImportError: polars or pyarrow is not installed, or polars is older than version 2.
    """
    expected.refuse_unknown("scan_sql", options, NAMES)
    expected.require(options)
    polars = require("polars", "scan_sql()")
    require("pyarrow", "scan_sql()")
    # Older ones do not check the schema of the frames that they get, and translate filters differently.
    if int(polars.__version__.partition(".")[0]) < _POLARS:
        message = f"scan_sql() needs polars {_POLARS}.0 or later, and this is {polars.__version__}"
        raise ImportError(f"{message}: pip install 'polars>={_POLARS}'", name="polars")
    from polars.io.plugins import register_io_source

    with connect(uri) as connection:
        scan = _described(connection, uri, query.rstrip("; \t\r\n"), params, options)
    return register_io_source(
        scan.frames,
        schema=scan.schema,
        validate_schema=True,
        explain_name="colonnade",
        explain_detail=connection.name,
    )


@dataclass(frozen=True)
class _Scan:
    """A query, and what the database can do of polars' plan."""

    uri: str
    query: str
    params: Params | None
    options: QueryOptions
    dialect: str
    #: The query in FROM with the name q; None if it must be sent as it is.
    source: str | None
    schema: pl.Schema
    #: The columns whose values the database has as polars has them.
    comparable: dict[str, pl.DataType]

    def frames(
        self, with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        """The rows, as `polars.io.plugins.register_io_source` asks for them."""
        wanted = list(self.schema) if with_columns is None else with_columns
        filtered: list[str] = [] if predicate is None else predicate.meta.root_names()
        needed = list(dict.fromkeys(wanted + filtered))
        sql = self._pushed(needed, predicate, n_rows)
        left = n_rows
        with connect(self.uri) as connection:
            result = connection.query(sql, self.params, **self.options)
            result._require_types("polars")
            for frame in self._typed(result, needed):
                made = frame if predicate is None else frame.filter(predicate)
                made = made.select(wanted) if made.columns != wanted else made
                if left is not None:
                    made = made.head(left)
                    left -= len(made)
                yield made
                if left == 0:
                    return

    def _pushed(self, columns: list[str], predicate: pl.Expr | None, n_rows: int | None) -> str:
        """The query with what the database does of the plan."""
        if self.source is None:
            return self.query
        from .predicate import translated

        condition = None if predicate is None else translated(predicate, self.dialect, self.comparable, self._column)
        limit = n_rows if predicate is None else None
        if columns == list(self.schema) and condition is None and limit is None:
            return self.query
        return around(self.dialect, self.source, columns, condition, limit)

    def _column(self, name: str) -> str:
        return column(self.dialect, name)

    def _typed(self, result: Result, columns: list[str]) -> Iterator[pl.DataFrame]:
        """The batches, with columns of the types that the frame has announced."""
        pa = require("pyarrow", "scan_sql()")
        pl = require("polars", "scan_sql()")
        schema = pl.Schema({name: self.schema[name] for name in columns})
        for batch in result:
            if not columns:
                yield pl.DataFrame(height=batch.num_rows)
                continue
            frame = convert.polars(pa.Table.from_batches([batch])).select(columns)
            yield frame if frame.schema == schema else _retyped(frame, schema)


def _retyped(frame: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    """The frame in the announced types. SQLite's depend on the values, which may have changed or been filtered."""
    made = frame.cast(schema, strict=True)
    for name, kind in frame.schema.items():
        if kind != schema[name] and not made[name].cast(kind).equals(frame[name]):
            raise InterfaceError(f"column {name!r} has the type {kind}, and had {schema[name]} when it was scanned")
    return made


def _described(connection: Connection, uri: str, query: str, params: Params | None, options: QueryOptions) -> _Scan:
    """Asks for the columns of a query."""
    dialect = connection._source.dialect

    def columns(result: Result) -> tuple[pa.Schema, frozenset[str] | None]:
        result._require_types("polars")
        return result.schema, result._requested

    (schema, retyped), source = described(connection, query, params, options, columns)
    pl = require("polars", "scan_sql()")
    announced = pl.DataFrame(schema.empty_table()).schema
    if dialect == "unknown" or _ORDER.search(query):
        source = None
    if dialect != _CASE_SENSITIVE and differ_only_in_case(announced):
        source = None
    comparable = {field.name: announced[field.name] for field in schema if is_plain(field, retyped)}
    return _Scan(uri, query, params, options, dialect, source, announced, comparable)


def is_plain(field: pa.Field, retyped: Sequence[str] | frozenset[str] | None) -> bool:
    """Whether the column's values are the database's own, and neither its text for them nor converted."""
    return retyped is not None and field.name not in retyped and TYPE_KEY not in (field.metadata or {})
