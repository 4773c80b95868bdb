"""`connect` and `Connection`, for asyncio."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Generator
from contextlib import suppress
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar, Unpack
from weakref import WeakSet

from colonnade import _connection as sync
from colonnade._errors import InterfaceError
from colonnade._rows.writing import require

from ._append import Append
from ._result import Result
from ._worker import AGAIN, STOP_SECONDS, Worker, apart

if TYPE_CHECKING:
    import pyarrow as pa

    from colonnade._frames.result import Result as Reader
    from colonnade._options.query import Params, QueryOptions
    from colonnade._options.write import AppendOptions, WriteOptions
    from colonnade._rows.data import Data
    from colonnade._rows.writing import WriteStats

T = TypeVar("T")

#: Seconds in which the threads end when the interpreter exits.
_EXIT_SECONDS = 5.0


class Connection:
    """A connection to a database for asyncio, made by `connect`.

    It is a `colonnade.Connection` whose work is done on a thread of its own; the event loop never waits. One result at
    a time is read from it. Statements of several tasks run one after another.

    A task that is cancelled, for example by `asyncio.timeout`, cancels its statement on the server. The next statement
    waits until it has ended. A statement that does not end within 10 seconds closes the connection.
    """

    def __init__(self, connection: sync.Connection, worker: Worker) -> None:
        self._connection = connection
        self._worker = worker
        self._is_closed = False
        _open.add(self)

    async def query(self, sql: str, params: Params | None = None, **options: Unpack[QueryOptions]) -> Result:
        """Starts a query and returns when its columns are known.

        The arguments and errors are those of `colonnade.Connection.query`. A function for `progress` is called on the
        connection's thread.
        """

        def start() -> Reader:
            reader = self._connection.query(sql, params, **options)
            # The first use imports pyarrow.
            _ = reader.schema
            return reader

        return Result(self, await self._run(start, lambda reader: reader.close()))

    async def execute(self, sql: str, params: Params | None = None) -> int | None:
        """Runs a statement for its effect: `colonnade.Connection.execute`. `begin` and `commit` are statements too."""
        return await self._run(lambda: self._connection.execute(sql, params))

    async def tables(self) -> pa.Table:
        """Lists the tables of users: `colonnade.Connection.tables`."""
        return await self._run(self._connection.tables)

    async def schema(self, table: str, schema: str | None = None) -> pa.Schema:
        """Returns the names and types of a table's columns: `colonnade.Connection.schema`."""
        return await self._run(lambda: self._connection.schema(table, schema))

    async def write(self, data: Data | Result, table: str, **options: Unpack[WriteOptions]) -> WriteStats:
        """Writes data into a table: `colonnade.Connection.write`. A task that is cancelled writes nothing.

        Iterators and a function for `progress` are called on other threads. A `Result` is one of another connection.
        """
        rows = data._reader if isinstance(data, Result) else data
        return await self._run(lambda: self._connection.write(rows, table, **options))

    def append(self, table: str, schema: str | None = None, **options: Unpack[AppendOptions]) -> Append:
        """Adds rows to a table part by part, within `async with`: `colonnade.Connection.append`."""
        return Append(self, self._connection.append(table, schema, **options))

    async def cancel(self) -> None:
        """Stops the statement that runs now. The task that waits for it gets an `OperationalError`."""
        await apart(self._connection.cancel)

    async def close(self) -> None:
        """Cancels the query that runs on it, waits until it has ended, 10 s at most, and ends the connection."""
        if not self._is_closed:
            self._is_closed = True
            try:
                await apart(self._end)
            finally:
                self._worker.end()

    @property
    def name(self) -> str:
        """The URI of the source, without its password."""
        return self._connection.name

    @property
    def server(self) -> str:
        """The name and version of the server's software, as the server gives them."""
        return self._connection.server

    @property
    def is_open(self) -> bool:
        """Whether it takes another query, now or after the running one has ended."""
        return not self._is_closed and self._connection.is_open

    async def _run(
        self,
        work: Callable[[], T],
        discard: Callable[[T], object] | None = None,
        stop: Callable[[], object] | None = None,
    ) -> T:
        """Runs a statement, or reads, on the thread. If the task is cancelled, `stop` ends it, or a cancel request."""
        if self._is_closed:
            raise InterfaceError("the connection is closed: open a new one", source=self.name)
        cancel, close = self._connection.cancel, self._connection.close
        return await self._worker.run(work, cancel=stop or cancel, close=close, discard=discard)

    async def _run_quickly(self, work: Callable[[], T]) -> T:
        """Does work that needs no statement. If the connection is closed, nothing else uses it."""
        return work() if self._is_closed else await self._worker.run(work)

    def _post(self, work: Callable[[], object]) -> None:
        self._worker.post(work)

    def _end(self) -> None:
        """Closes the connection when its thread is free, which a running statement is cancelled for."""
        closed = Event()

        def close() -> None:
            try:
                self._connection.close()
            finally:
                closed.set()

        self._worker.post(close)
        limit = monotonic() + STOP_SECONDS
        while not closed.wait(AGAIN) and monotonic() < limit:
            # It may be closed by now, about which a library has errors of its own.
            with suppress(Exception):
                self._connection.cancel()
        if not closed.is_set():
            self._connection.close()

    def __del__(self) -> None:
        if not getattr(self, "_is_closed", True):
            self._worker.post(self._connection.close)
            self._worker.end()

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<colonnade.aio.Connection {self.name}{'' if self.is_open else ', closed'}>"


class Connecting:
    """What `connect` returns: `await` gives a `Connection`, `async with` also closes it."""

    def __init__(self, uri: str, open_: Callable[[str], sync.Connection] = sync.connect) -> None:
        self._uri = uri
        self._open = open_
        self._connection: Connection | None = None

    def __await__(self) -> Generator[Any, None, Connection]:
        return self._opened().__await__()

    async def _opened(self) -> Connection:
        worker = Worker()
        try:
            # An attempt cannot be stopped. Its connection is closed when it comes.
            opened = await worker.run(lambda: self._open(self._uri), discard=lambda connection: connection.close())
        except BaseException:
            worker.end()
            raise
        return Connection(opened, worker)

    async def __aenter__(self) -> Connection:
        self._connection = await self
        return self._connection

    async def __aexit__(self, *exception: object) -> None:
        if self._connection is not None:
            await self._connection.close()


def connect(uri: str) -> Connecting:
    """Connects to a database: `connection = await connect(uri)`, or `async with connect(uri) as connection`.

    Args:
        uri: As for `colonnade.connect`, whose errors it raises when it is awaited.
    """
    return Connecting(uri)


async def write_sql(
    data: Data | Result, conn: str | Connection, table: str, **options: Unpack[WriteOptions]
) -> WriteStats:
    """Writes data into a table: all rows, or none. The arguments, the answer and the errors are those of
    `colonnade.write_sql`; the connection is a URI or one of this module.

    A task that is cancelled writes nothing.
    """
    if isinstance(conn, Connection):
        return await conn.write(data, table, **options)
    require("write_sql", table, options, is_open=False)
    async with connect(conn) as connection:
        return await connection.write(data, table, **options)


#: They are closed at exit. A query that still runs would use objects that the interpreter's shutdown has removed.
_open: WeakSet[Connection] = WeakSet()


@atexit.register
def _close_all() -> None:
    for connection in list(_open):
        if not connection._is_closed:
            connection._is_closed = True
            with suppress(Exception):
                connection._end()
            connection._worker.end()
            connection._worker.join(_EXIT_SECONDS)
