"""`connect` and `Connection`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack
from weakref import ref

from colonnade._errors import InterfaceError
from colonnade._frames.result import Result
from colonnade._libraries import require
from colonnade._options import expected
from colonnade._options.query import NAMES, Params, QueryOptions
from colonnade._sources.uri import open_source

from .cursor import Cursor
from .rows import Rows
from .transactions import Transactions

if TYPE_CHECKING:
    from colonnade._core import Source


class Connection:
    """A connection with transactions, made by `connect`.

    It delivers one result at a time. If a cursor's result is not read to its end, another cursor's statement is an
    `InterfaceError`, until the first cursor is closed or runs another statement.

    At the end of a `with` block it commits, or rolls back after an exception, and closes.
    """

    def __init__(self, source: Source, options: QueryOptions, *, autocommit: bool) -> None:
        self._source = source
        self._options = options
        self._transactions = Transactions(source, autocommit=autocommit)
        #: The last result, and the cursor that reads it.
        self._reading: tuple[ref[Cursor], Rows] | None = None
        self._closed = False

    @property
    def autocommit(self) -> bool:
        """Whether each statement is its own transaction. It cannot be switched on within a transaction."""
        return self._transactions.autocommit

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        self._require_open()
        self._transactions.autocommit = value

    def cursor(self) -> Cursor:
        """Returns a new cursor."""
        self._require_open()
        return Cursor(self)

    def commit(self) -> None:
        """Commits the open transaction, if there is one.

        Raises:
            InterfaceError: A result is not read to its end, or the connection is closed.
            DatabaseError: The transaction had failed and was rolled back (SQLSTATE 25P02), or the database refuses.
        """
        self._require_open()
        self._free(None)
        self._transactions.commit()

    def rollback(self) -> None:
        """Rolls the open transaction back, if there is one. A result that is still read is cancelled.

        Raises:
            NotSupportedError: The source has no transactions.
        """
        self._require_open()
        if self._reading is not None:
            self._reading[1].stop()
            self._reading = None
        self._transactions.rollback()

    def cancel(self) -> None:
        """Stops the statement that runs now. It is called from another thread."""
        self._source.cancel()

    def close(self) -> None:
        """Ends the connection. An open transaction is rolled back."""
        self._closed = True
        self._source.close()

    def _require_open(self) -> None:
        if self._closed:
            raise InterfaceError("the connection is closed: open a new one", source=self._source.name)

    def _free(self, cursor: Cursor | None) -> None:
        """Ends a result that nobody or only this cursor can still read."""
        if self._reading is None:
            return
        owner, rows = self._reading[0](), self._reading[1]
        if owner is None or owner is cursor:
            self._leave(rows)
        else:
            rows.read_ahead()
            if rows.is_open:
                message = "a cursor's result is not read to its end: read it, or close the cursor"
                raise InterfaceError(message, source=self._source.name)
        self._reading = None

    def _leave(self, rows: Rows) -> None:
        """Ends a result. Within a transaction the rest is read, because a cancelled query makes PostgreSQL's fail."""
        if self._transactions.autocommit:
            rows.stop()
        else:
            rows.skip()

    def _run(self, cursor: Cursor, sql: str, params: Params | None) -> Rows | int | None:
        """Runs a statement for a cursor: its rows, or the number of rows that it changed."""
        self._require_open()
        self._free(cursor)
        self._transactions.begin()
        try:
            answer = self._source.run(sql, params, **self._options)
        except BaseException:
            self._transactions.fail()
            raise
        if answer is None or isinstance(answer, int):
            return answer
        rows = Rows(Result(answer, self._options))
        self._reading = ref(cursor), rows
        return rows

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None and not self._closed:
                if self._reading is not None:
                    self._leave(self._reading[1])
                self.commit()
        finally:
            # The database rolls back what was not committed.
            self.close()

    def __repr__(self) -> str:
        return f"<colonnade.dbapi.Connection {self._source.name}{', closed' if self._closed else ''}>"


def connect(uri: str, *, autocommit: bool = False, **options: Unpack[QueryOptions]) -> Connection:
    """Connects to a database.

    Args:
        uri: A URI as `colonnade.connect` takes it.
        autocommit: Whether each statement is its own transaction. If False, the first statement begins a transaction,
            which lasts until `commit` or `rollback`.
        options: The options of `colonnade.Connection.query`, such as `numeric` and `max_result_bytes`, for all queries.

    Returns:
        An open connection.

    Raises:
        Error: As for `colonnade.connect`.
        TypeError: An option is unknown, or has a value of the wrong type.
        ImportError: pyarrow, or the library of the source, is not installed.
    """
    expected.refuse_unknown("connect", options, NAMES)
    expected.require(options)
    require("pyarrow", "colonnade.dbapi")
    return Connection(open_source(uri, transactions=not autocommit), options, autocommit=autocommit)
