"""`plan` and `Plan`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Unpack

from colonnade import _core
from colonnade._connection import Connection
from colonnade._core import Connection as CoreConnection
from colonnade._errors import Error, NotSupportedError
from colonnade._frames.dtype import by_name
from colonnade._frames.result import Result
from colonnade._libraries import require
from colonnade._options import expected
from colonnade._options.query import NAMES, Params, QueryOptions
from colonnade._read.partition import Split
from colonnade._sources.uri import open_source

from .part import Part

if TYPE_CHECKING:
    from types import TracebackType

    import pyarrow as pa

    from colonnade._core import HeldPlan

#: The number of parts if the caller gives none.
_PARTS = 8
#: The options that a plan keeps for its parts. A part is read elsewhere, where no terminal shows its progress.
_OPTIONS = tuple(name for name in NAMES if name != "progress")
_WAY_OUT = (
    "put a server in front of it (colonnade serve --source URI) and plan there: its spool gives parts of any query"
)


def plan(
    conn: str | Connection,
    query: str,
    parts: int = _PARTS,
    partition_on: str | None = None,
    spool: bool | Literal["auto"] = "auto",
    *,
    params: Params | None = None,
    partition_range: tuple[Any, Any] | None = None,
    **options: Unpack[QueryOptions],
) -> Plan:
    """Cuts a result into parts that other processes and machines can read, all of one state of the database.

    There are two kinds of parts:

    * **PostgreSQL** (snapshot): the plan exports a snapshot and holds it open. Each part is a query that its reader
      runs in this snapshot. The parts are cut as `read_sql` cuts them: a plain table by the place of its rows, any
      other query by the values of `partition_on`.
    * **`colonnade serve`** (spool): the server runs the query once and keeps the encoded rows, so any query can be cut,
      and rows and bytes are exact.

    Args:
        conn: A URI (see `connect`) or an open `Connection`, which stays free for other queries.
        query: The query. In PostgreSQL, functions that may give another value to each reader, such as random() and
            now(), are refused: pass such values as `params`.
        parts: The largest number of parts.
        partition_on: PostgreSQL: the column by whose values the result is cut. Rows with a NULL in it are in a part
            too.
        spool: Whether the server runs the query once and keeps the rows: `"auto"` (where the server can), True (or it
            is an error) or False.
        params: Values for `$1`, `$2`, … or for `$name`, as for `Connection.query`.
        partition_range: With `partition_on`: `(low, high)`, as for `read_sql`.
        options: The options of `Connection.query` with which each part is read: `dtype`, `numeric`, `as_text`,
            `max_result_bytes` (of a part) and others, except `progress`. `colonnade serve` keeps the rows in the
            `compression` that is given here, so readers on other machines get them without further work of the
            server. By default it encodes them for each reader's link.

    Returns:
        The plan. It is a context manager, and its end releases the snapshot or the spooled rows.

    Raises:
        NotSupportedError: The source has no parts for other processes (MySQL, MariaDB, SQLite, DuckDB, ADBC, ODBC), or
            this query cannot be cut; the message says why, and what to do.
        Error: As for `read_sql`.

    Example:
        >>> with colonnade.plan(uri, "select * from lineitem", parts=8) as plan:  # doctest: +SKIP
        ...     tables = pool.map(colonnade.Part.read, plan.parts)
    """
    arguments = {"partition_on": partition_on, "parts": parts, "partition_range": partition_range}
    expected.refuse_unknown("plan", options, _OPTIONS)
    expected.require({**arguments, **options})
    if spool not in (True, False, "auto"):
        raise ValueError(f"spool is {spool!r}: give True, False or 'auto'")
    split = Split.checked(partition_on, parts, partition_range, consistent=True, before=[])
    require("pyarrow", "plan()")
    kept: QueryOptions = {name: value for name, value in options.items() if value is not None}  # type: ignore[assignment]
    owns = not isinstance(conn, Connection)
    source = open_source(conn, only_reads=True) if isinstance(conn, str) else conn._source
    try:
        if not isinstance(source, CoreConnection):
            raise NotSupportedError("this source has no parts for other processes", source=source.name, hint=_WAY_OUT)
        wanted = None if spool == "auto" else spool
        held = _core.plan(source, query, params, split.key, split.parts, split.range, wanted, own=owns, **kept)
    except BaseException:
        if owns:
            source.close()
        raise
    return Plan(held, kept)


class Plan:
    """A result in parts, made by `plan`.

    While it is open, its parts can be read, by any process. It holds a connection to the database, and with PostgreSQL
    a snapshot, which keeps VACUUM from removing rows that were deleted since: close a plan when its parts have been
    read. Readers that have begun survive its end. Later ones get an `InterfaceError` with the SQLSTATE 42704. If all
    parts and the plan are dropped in the planner's process, the plan ends too.

    Attributes:
        schema: The names and types of the columns: a pyarrow.Schema.
        rows: The number of rows: exact if `exact` says so, or else the database's estimate; None if it is unknown.
        bytes: The size in bytes as plain Arrow buffers, likewise.
        exact: Whether `rows` and `bytes` are exact.
        parts: The parts, in the order of the query or of the keys. Together they have each row of the result once.
    """

    schema: pa.Schema
    rows: int | None
    bytes: int | None
    exact: bool
    parts: Sequence[Part]

    def __init__(self, held: HeldPlan, options: QueryOptions) -> None:
        self._held = held
        self.exact = held.is_spooled
        empty = held.empty()
        options = {**options, "dtype": by_name(empty.names, empty.kinds, options.get("dtype"))}
        self.schema = Result(empty, options).to_arrow().schema
        shared: dict[str, Any] = {
            "schema": self.schema,
            "exact": held.is_spooled,
            "kind": "spool" if held.is_spooled else "snapshot",
            "address": held.address,
            "_options": options,
            "_plan": held,
        }
        self.parts = [
            Part(index=index, ticket=ticket, rows=rows, bytes=size, **shared)
            for index, (ticket, rows, size) in enumerate(held.parts)
        ]
        self.rows = _total([part.rows for part in self.parts])
        self.bytes = _total([part.bytes for part in self.parts])

    @property
    def is_open(self) -> bool:
        """Whether its parts can still be read by those who have not begun."""
        return self._held.is_open

    def close(self) -> None:
        """Ends the plan. Readers that have begun go on."""
        self._held.close()

    def __len__(self) -> int:
        return len(self.parts)

    def __enter__(self) -> Plan:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except Error:
            # The exception of the block says more, and a lost connection has ended the plan already.
            if error is None:
                raise

    def __repr__(self) -> str:
        return f"<colonnade.Plan {self._held.name}, {len(self.parts)} parts{'' if self.is_open else ', closed'}>"


def _total(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
