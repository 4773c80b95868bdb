"""What a query may ask for besides its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from .dtype import Dtypes

#: Values for `$1`, `$2`, …, or for `$name`.
Params = Sequence[Any] | Mapping[str, Any]


class QueryOptions(TypedDict, total=False):
    """Options of a query; what is missing or None is left to the source."""

    #: `"auto"`, or a configuration to pin: `"plain"`, `"light"`, `"light+fsst"`, each alone or with `"+lz4"` or
    #: `"+zstd-1"` … `"+zstd-22"`.
    compression: str | None
    #: Rows of a chunk at most.
    chunk_rows: int | None
    #: Plain bytes of a chunk at most.
    chunk_bytes: int | None
    #: Bytes of a message at most that this process accepts.
    max_message_bytes: int | None
    #: Bytes of the result's columns at most, as plain Arrow buffers, in all that is read of it; more is an error.
    max_result_bytes: int | None
    #: PostgreSQL: precision and scale of the decimals that numerics declared without either become. They arrive as text
    #: otherwise. A value that does not fit is an error, never rounded.
    numeric: tuple[int, int] | None
    #: PostgreSQL, MySQL, SQLite and ODBC: columns of the result that arrive as the text that the database has for them.
    as_text: Sequence[str] | None
    #: PostgreSQL with the extension: `"auto"`, `"on"` (workers encode wherever the plan allows it) or `"off"`.
    parallel: str | None
    #: The types that columns are to have, by name, or one for all; see `Connection.query`.
    dtype: Dtypes | None


#: The sources that have the option `as_text`.
AS_TEXT_SOURCES = "PostgreSQL, MySQL, SQLite and ODBC"

#: The options' names.
NAMES = tuple(QueryOptions.__annotations__)
