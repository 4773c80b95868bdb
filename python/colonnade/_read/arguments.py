"""The connection and the query among the arguments of `read_sql`, in the order of ConnectorX or of pandas."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from colonnade._connection import Connection
from colonnade._errors import InterfaceError, NotSupportedError
from colonnade._sources.not_a_uri import unusable

#: A scheme, a colon and no space. No query begins so.
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S")
#: The name of a table, perhaps with its schema.
_NAME = re.compile(r"[^\W\d][\w.]*")
#: The text of an SQLAlchemy statement. With its driver's own style of parameters, percent signs would be doubled.
_COMPILED = (
    'str(query.compile(dialect=type(engine.dialect)(paramstyle="named"), compile_kwargs={"literal_binds": True}))'
)

#: The arguments of `pandas.read_sql` after the query and the connection, in their order.
_PANDAS = ("index_col", "coerce_float", "params", "parse_dates", "columns", "chunksize", "dtype_backend", "dtype")


def in_pandas_order(positional: tuple[Any, ...], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `read_sql`, with names for those that follow the connection and the query."""
    if len(positional) > len(_PANDAS):
        raise TypeError(f"read_sql() takes at most {2 + len(_PANDAS)} arguments without a name")
    named = dict(zip(_PANDAS, positional, strict=False))
    for name in named:
        if given.get(name) is not None:
            raise TypeError(f"read_sql() got two values for {name}")
    return {**given, **named}


def connection_and_query(conn: Any, query: Any, con: Any, sql: Any) -> tuple[str | Connection, str | list[str]]:
    """The connection and the query, which are recognized by their values, so that both orders work."""
    if con is not None:
        # pandas.read_sql(query, con=…): the first argument is the query.
        if conn is not None and query is None and sql is None:
            conn, query = None, conn
        conn = _either("conn", conn, "con", con)
    if sql is not None:
        query = _either("query", query, "sql", sql)
    if conn is None or query is None:
        raise TypeError("read_sql() needs a connection and a query")
    conn, query = _text(conn), _text(query)
    # A URI is the connection, also beside an object that is neither.
    if _is_connection(query) and (_is_uri(query) > _is_uri(conn) or not _is_connection(conn)):
        conn, query = query, conn
    if isinstance(conn, Mapping):
        raise NotSupportedError("federated queries over several connections are not supported: query one connection")
    if not isinstance(conn, (str, Connection)):
        raise unusable(conn)
    if not isinstance(query, (str, list, tuple)):
        kind = type(query)
        raise InterfaceError(
            f"the query is a {kind.__name__}: give text, or a list of texts",
            hint=f"its text is {_COMPILED}" if kind.__module__.startswith("sqlalchemy.") else None,
        )
    return conn, query if isinstance(query, str) else list(query)


def hint_for(query: str | list[str]) -> str | None:
    """What to write instead of a query that failed, if it is only a name, which pandas takes for a table."""
    if isinstance(query, str) and _NAME.fullmatch(query.strip()):
        return f"a name is no query: write select * from {query.strip()}, or use read_sql_table"
    return None


def _text(value: Any) -> Any:
    """The text of SQLAlchemy's text(); any other value unchanged."""
    kind = type(value)
    if kind.__name__ != "TextClause" or not kind.__module__.startswith("sqlalchemy."):
        return value
    if value._bindparams:
        names = ", ".join(f":{name}" for name in value._bindparams)
        raise InterfaceError(
            f"the query is a text() of SQLAlchemy with {names}: write it as a str, with $name for :name"
        )
    return str(value)


def _either(name: str, value: Any, other_name: str, other: Any) -> Any:
    if value is not None:
        raise TypeError(f"{name} and {other_name} are two names of one argument: give one of them")
    return other


def _is_connection(value: Any) -> bool:
    return _is_uri(value) or not isinstance(value, (str, list, tuple))


def _is_uri(value: Any) -> bool:
    return isinstance(value, str) and _URI.match(value) is not None
