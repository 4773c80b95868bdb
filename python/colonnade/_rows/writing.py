"""One write: a stream into a table of a source."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import nullcontext
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Unpack, get_args

from colonnade._errors import InterfaceError
from colonnade._frames.progress import Reporter
from colonnade._options import expected
from colonnade._options.write import NAMES, IfExists, WriteOptions, WriteTarget

from .data import DataStream

if TYPE_CHECKING:
    from colonnade._core import Source

    from .data import Data


@dataclass(frozen=True)
class WriteStats:
    """What was written."""

    #: Rows, as this package and the database have counted them.
    rows: int
    #: Seconds from the begin of the transaction to its commit.
    seconds: float
    #: The table, as it was named.
    table: str
    #: The URI of the database, without its password.
    source: str
    #: The database's software and version.
    server: str


def write_rows(
    data: Data | DataStream,
    source: Source,
    table: str,
    *,
    stop: Callable[[], object] | None = None,
    **options: Unpack[WriteOptions],
) -> WriteStats:
    """Writes data into a table of an open source: `write_sql`, whose options are checked already. `stop` ends a wait of
    the data for more rows."""
    if isinstance(data, DataStream):
        rows = data
    else:
        rows = DataStream(data, index=options.get("index"), dtype=options.get("dtype"), stop=stop)
    reporter = Reporter.of(options.get("progress"), lambda: rows.length, "of data")
    with rows.reading(reporter) as stream, reporter.reading(stream) if reporter is not None else nullcontext():
        begun = monotonic()
        written = source.write(stream, **target_of(table, options))
        return WriteStats(written, monotonic() - begun, table, source.name, source.server)


def target_of(table: str, options: WriteOptions) -> WriteTarget:
    """What a source needs to know of the options."""
    return WriteTarget(
        schema=options.get("schema"),
        table=table,
        if_exists=options.get("if_exists") or "fail",
        key=list(options.get("key") or ()),
        temporary=bool(options.get("temporary")),
    )


def require(
    function: str, table: Any, options: WriteOptions, *, is_open: bool = True, names: Collection[str] = NAMES
) -> None:
    """Checks the arguments of a write, before anything is connected to.

    Raises:
        TypeError: An argument has a wrong type.
        ValueError: `if_exists` is none of the modes, or the table's name is empty.
        InterfaceError: The connection would be closed afterwards, and a temporary table would end with it.
    """
    expected.refuse_unknown(function, options, names)
    expected.require({"progress": options.get("progress")})
    if not isinstance(table, str):
        raise TypeError(f"table is {table!r}: give the table's name")
    if not table:
        # SQLite would create a table without a name.
        raise ValueError("table is '': give the table's name")
    schema, key = options.get("schema"), options.get("key")
    if schema is not None and not isinstance(schema, str):
        raise TypeError(f"schema is {schema!r}: give the schema's name")
    if isinstance(key, str):
        raise TypeError(f"key is {key!r}: give a list of names, such as [{key!r}]")
    if key is not None and not all(isinstance(name, str) for name in key):
        raise TypeError(f"key is {key!r}: give a list of names")
    if_exists = options.get("if_exists", "fail")
    if if_exists not in get_args(IfExists):
        raise ValueError(f"if_exists is {if_exists!r}: give one of {', '.join(map(repr, get_args(IfExists)))}")
    if options.get("temporary") and not is_open:
        raise InterfaceError(
            "a temporary table ends with its connection, which a URI opens for this call only: give an open"
            " colonnade.Connection"
        )
