"""`Cursor`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from colonnade._errors import Error, InterfaceError, NotSupportedError
from colonnade._libraries import require

from . import polars
from .rows import Rows

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
    from typing_extensions import CapsuleType

    from colonnade._options.query import Params

    from .connection import Connection
    from .types import Description

#: What `DataFrame.to_sql` asks of a connection that it does not know.
_PANDAS = "sqlite_master"


class Cursor:
    """Runs statements and reads their rows, made by `Connection.cursor`.

    Rows are tuples. They arrive while they are fetched, so a result of any size needs the memory of a few batches.
    """

    def __init__(self, connection: Connection) -> None:
        #: The connection that made it.
        self.connection = connection
        #: The number of rows that `fetchmany` returns by default.
        self.arraysize = 1
        #: The number of rows that the last statement changed; -1 if it returned rows, or the database reports none.
        self.rowcount = -1
        self._rows: Rows | None = None
        self._closed = False

    @property
    def description(self) -> list[Description] | None:
        """The columns of the last statement's result, each with seven items; None if it returned no rows.

        The type code is the Python type of the column's values, which equals one of `STRING`, `BINARY`, `NUMBER` and
        `DATETIME`, or is `list`, `dict`, `tuple` (intervals) or `NoneType`. The internal size is the bytes of numbers.
        """
        return None if self._rows is None else self._rows.description

    @property
    def rownumber(self) -> int | None:
        """The number of the next row, counted from 0; None without a result."""
        return None if self._rows is None else self._rows.count

    def execute(self, operation: str, parameters: Params | None = None) -> Cursor:
        """Runs one statement. The rows of the statement before it are given up.

        Args:
            operation: The statement.
            parameters: Values for `$1`, `$2`, … (a sequence) or for `$name` (a mapping), as for
                `colonnade.Connection.query`.

        Returns:
            This cursor.

        Raises:
            Error: The statement failed; the subclass says how.
        """
        self._require_open()
        polars.register()
        self._rows, self.rowcount = None, -1
        try:
            answer = self.connection._run(self, operation, _given(parameters))
        except Error as error:
            if _PANDAS in operation:
                error.hint = "pandas' to_sql takes this connection for one of sqlite3: use colonnade.write_sql"
            raise
        if isinstance(answer, Rows):
            self._rows = answer
        elif answer is not None:
            self.rowcount = answer
        return self

    def executemany(self, operation: str, seq_of_parameters: Sequence[Params]) -> Cursor:
        """Runs a statement once for each item. Rows that it returns are dropped.

        `rowcount` is the sum of the changed rows, or -1 if the database reports no number for one of the runs.
        """
        self._require_open()
        self._leave()
        changed = 0
        for parameters in seq_of_parameters:
            self.execute(operation, parameters)
            self._leave()
            changed = -1 if -1 in (changed, self.rowcount) else changed + self.rowcount
        self.rowcount = changed
        return self

    def callproc(self, procname: str, parameters: Sequence[Any] = ()) -> None:
        """Not supported: run a CALL with `execute`."""
        raise NotSupportedError("callproc is not supported", hint="run a CALL with execute()")

    def fetchone(self) -> tuple[Any, ...] | None:
        """Returns the next row, or None after the last.

        Raises:
            DataError: A value of the row, or of one of the rows behind it, has no form in Python; the message names
                the column.
            OperationalError: The connection was lost, or the query was cancelled.
        """
        return self._result().one()

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """Returns the next rows, at most `size` (by default `arraysize`).

        Raises:
            InterfaceError: The number is negative, which other drivers take for all rows.
        """
        number = self.arraysize if size is None else size
        if number < 0:
            raise InterfaceError(f"fetchmany({number}) is no number of rows: fetchall() returns all")
        return self._result().many(number)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Returns all remaining rows."""
        return self._result().many(None)

    def fetch_arrow_table(self) -> pa.Table:
        """Returns all remaining rows as a pyarrow.Table, with the exact types of the database."""
        return self._result().table()

    def fetch_record_batch(self) -> pa.RecordBatchReader:
        """Returns the remaining rows as a pyarrow.RecordBatchReader, which reads them as they arrive."""
        rows = self._result()
        reader = require("pyarrow", "fetch_record_batch()").RecordBatchReader
        return reader.from_batches(rows.schema, rows.batches())

    def fetch_polars(self) -> pl.DataFrame:
        """Returns all remaining rows as a polars.DataFrame.

        Raises:
            NotSupportedError: polars has no type for a column.
            DataError: polars has no form for a value.
        """
        return self._result().polars()

    def __arrow_c_stream__(self, requested_schema: CapsuleType | None = None) -> CapsuleType:
        """Passes the remaining batches, as they arrive, to a library that reads Arrow's PyCapsule interface."""
        return self.fetch_record_batch().__arrow_c_stream__(requested_schema)

    def _polars_frames(self) -> list[pl.DataFrame]:
        """For `polars.read_database`, which iterates over what it gets."""
        return [self.fetch_polars()]

    def _polars_batches(self, size: int) -> Iterator[pl.DataFrame]:
        """For `polars.read_database` with `iter_batches`."""
        return self._result().polars_batches(size)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.fetchone, None)

    def nextset(self) -> None:
        """Returns None: a statement has one result."""
        self._result()

    def setinputsizes(self, sizes: object) -> None:
        """Has no effect: parameters have the sizes of their values."""

    def setoutputsize(self, size: object, column: object = None) -> None:
        """Has no effect: values of any size arrive."""

    def close(self) -> None:
        """Gives up the rows that were not read, and ends the cursor."""
        if self._closed:
            return
        self._leave()
        self._closed = True

    def _leave(self) -> None:
        rows, self._rows = self._rows, None
        if rows is not None and rows.is_open:
            self.connection._leave(rows)

    def _require_open(self) -> None:
        if self._closed:
            raise InterfaceError("the cursor is closed: make a new one")
        self.connection._require_open()

    def _result(self) -> Rows:
        self._require_open()
        if self._rows is None:
            raise InterfaceError("there are no rows to fetch: run a query with execute()")
        return self._rows

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _given(parameters: Params | None) -> Params | None:
    """The parameters for a source; None if there are none."""
    if parameters is None or isinstance(parameters, (Mapping, list)):
        return parameters or None
    if isinstance(parameters, (str, bytes)):
        raise InterfaceError("the parameters are a text: give a list, a tuple or a mapping")
    return list(parameters) or None
