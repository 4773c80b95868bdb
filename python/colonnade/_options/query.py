"""What a query may ask for besides its text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from colonnade._errors import InterfaceError, NotSupportedError

from .dtype import Dtypes

if TYPE_CHECKING:
    from colonnade._core import Stream

#: A stream, or None where there may be none.
S = TypeVar("S", "Stream", "Stream | None")
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


def refuse_for_plain_source(options: QueryOptions, source: str, *, as_text: bool) -> None:
    """Refuses what a source cannot follow whose results no server encodes. `as_text` is whether it has that option.

    What such a source does anyway may be asked for. `QueryOptions::refuse_for_plain_source` is the same in Rust.
    """
    if options.get("numeric") is not None:
        raise NotSupportedError("the option numeric is for PostgreSQL", hint="cast in the query", source=source)
    if options.get("as_text") and not as_text:
        message = f"the option as_text is for {AS_TEXT_SOURCES}"
        raise NotSupportedError(message, hint="cast in the query", source=source)
    for name, kept in (("compression", ("auto", "plain")), ("parallel", ("auto", "off"))):
        value = options.get(name)
        if value is not None and value not in kept:
            raise NotSupportedError(
                f'the option {name} is "{value}", which is for PostgreSQL with the extension and for colonnade serve',
                hint=f'leave {name} out, or write "{kept[0]}"',
                source=source,
            )


def bounded(start: Callable[[], S], options: QueryOptions) -> S:
    """Starts a stream that is no larger than `max_result_bytes`."""
    most = options.get("max_result_bytes")
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or not 0 < most < 1 << 63):
        raise InterfaceError("max_result_bytes is a number of bytes, at least 1")
    stream = start()
    return stream if stream is None or most is None else stream.limited(most)
