"""Functions of pandas and ConnectorX beside `read_sql`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _convert, _pandas
from ._arguments import endpoints
from ._connection import Connection, connect, is_keywords
from ._errors import NotSupportedError
from ._read_sql import read_sql

if TYPE_CHECKING:
    import pandas as pd

#: How a source quotes a name, by the scheme of its URI.
_QUOTES = {"postgresql": '"', "postgres": '"', "sqlite": '"', "duckdb": '"', "mysql": "`", "mariadb": "`"}


def read_sql_query(sql: str, con: str | Connection, index_col: str | list[str] | None = None, **options: Any) -> Any:
    """`read_sql` in pandas' order of arguments; `options` are `read_sql`'s."""
    return read_sql(con, sql, index_col=index_col, **options)


def read_sql_table(
    table_name: str,
    con: str | Connection,
    schema: str | None = None,
    index_col: str | list[str] | None = None,
    *,
    columns: list[str] | None = None,
    **options: Any,
) -> Any:
    """A table, or some of its columns, by name. The names are the table's own, capitals included; `options` are
    `read_sql`'s. Columns of `index_col` are read too."""
    quote = _quote(con)

    def quoted(name: str) -> str:
        return f"{quote}{name.replace(quote, 2 * quote)}{quote}"

    wanted = "*"
    if columns is not None:
        index = [index_col] if isinstance(index_col, str) else list(index_col or [])
        wanted = ", ".join(map(quoted, dict.fromkeys([*index, *columns])))
    table = ".".join(map(quoted, [schema, table_name] if schema is not None else [table_name]))
    return read_sql(con, f"select {wanted} from {table}", index_col=index_col, **options)


def _quote(con: str | Connection) -> str:
    """What a name is quoted with where the connection leads."""
    name = con.name if isinstance(con, Connection) else con
    scheme = "postgresql" if is_keywords(name) else name.partition(":")[0].partition("+")[0].lower()
    if scheme not in _QUOTES:
        raise NotSupportedError(
            f"how {scheme} quotes the name of a table is not known here", hint="write the query for read_sql"
        )
    return _QUOTES[scheme]


def get_meta(conn: str | Connection, query: str, protocol: str | None = None) -> pd.DataFrame:
    """ConnectorX's: a frame without rows, with the columns and types that `read_sql` gives the query. The query is
    started, and given up when its columns are known. `protocol` has no effect."""
    place, asked = endpoints(conn, query, None, None)
    _convert.require("pandas", "get_meta()")
    _convert.require("pyarrow", "get_meta()", "pandas")
    connection = place if isinstance(place, Connection) else connect(place)
    try:
        layout = _pandas.Layout()
        with connection.query(str(asked)) as result:
            result._retype(layout.conversions(result.schema), "get_meta()")
            return _pandas.frame(result.schema, [], layout)
    finally:
        if connection is not place:
            connection.close()
