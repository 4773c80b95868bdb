"""The rows of a result as Python's values, as they arrive."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from colonnade._errors import DataError, Error, InterfaceError
from colonnade._frames import convert
from colonnade._frames.values import is_digits, of_column, of_digits
from colonnade._libraries import require

from .types import Description, description

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl
    import pyarrow as pa

    from colonnade._frames.result import Result

#: The number of rows that become Python's values at a time. More cost memory, fewer cost time.
_ROWS = 4096


_INTERRUPTED = "the read was interrupted: run the query again"


class Rows:
    """A result and the place up to which it was read. All ways of reading go on from this place."""

    def __init__(self, result: Result) -> None:
        self._result = result
        self.schema: pa.Schema = result.schema
        self._batches: Iterator[pa.RecordBatch] | None = None
        self._batch: pa.RecordBatch | None = None
        #: The number of rows of the batch that have become `_made`.
        self._converted = 0
        self._made: deque[tuple[Any, ...]] = deque()
        #: The number of rows that were read.
        self.count = 0
        #: Batches that were read to learn whether the result ends.
        self._ahead: deque[pa.RecordBatch] = deque()
        #: Why the rest cannot be read. A result that failed must not look complete when it is read again.
        self._failure: Exception | None = None

    @property
    def description(self) -> list[Description]:
        return [description(field, is_decimal=self._is_digits(field)) for field in self.schema]

    @property
    def is_open(self) -> bool:
        """Whether the database still has to deliver rows."""
        return self._result._source.is_open

    def read_ahead(self) -> None:
        """Reads up to two batches ahead, because a small result ends only when its end has been read."""
        while self.is_open and len(self._ahead) < 2 and self._failure is None:
            # If this fails, the reader gets the error.
            with suppress(Error):
                batch = self._read()
                if batch is not None:
                    self._ahead.append(batch)

    def one(self) -> tuple[Any, ...] | None:
        """The next row; None after the last."""
        try:
            if not self._made and not self._convert():
                return None
            self.count += 1
            return self._made.popleft()
        except BaseException as error:
            self._refuse_rest(error)
            raise

    def many(self, number: int | None) -> list[tuple[Any, ...]]:
        """The next rows, at most `number`; all if it is None."""
        found: list[tuple[Any, ...]] = []
        try:
            while number is None or len(found) < number:
                if not self._made and not self._convert():
                    break
                if number is None:
                    found += self._made
                    self._made.clear()
                else:
                    found += [self._made.popleft() for _ in range(min(number - len(found), len(self._made)))]
            self.count += len(found)
            return found
        except BaseException as error:
            self._refuse_rest(error, found)
            raise

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The remaining rows as record batches."""
        while (batch := self._rest_of_batch()) is not None or (batch := self._next_batch()) is not None:
            self._batch, self._converted = None, 0
            self._made.clear()
            self.count += batch.num_rows
            yield batch

    def table(self) -> pa.Table:
        """The remaining rows as a table."""
        pa = require("pyarrow", "fetch_arrow_table()")
        if self._batches is not None or self._failure is not None:
            return pa.Table.from_batches(list(self.batches()), self.schema)
        table = self._whole()
        self.count += table.num_rows
        return table

    def polars(self) -> pl.DataFrame:
        """The remaining rows as a frame."""
        self._result._require_types("polars")
        return convert.polars(self.table())

    def polars_batches(self, size: int) -> Iterator[pl.DataFrame]:
        """The remaining rows as frames of at most `size` rows."""
        self._result._require_types("polars")
        pa = require("pyarrow", "iter_batches")
        for batch in self.batches():
            for start in range(0, batch.num_rows, size):
                yield convert.polars(pa.Table.from_batches([batch.slice(start, size)]))

    def stop(self) -> None:
        """Cancels the query if it still runs."""
        if self.is_open:
            self._failure = InterfaceError("the result was closed: run the query again")
        self._result.close()

    def skip(self) -> None:
        """Reads what still arrives, without decoding it."""
        stream = self._result._source
        # If the rest cannot be read, the next statement says so: the connection is lost, or the transaction has failed.
        with suppress(Error):
            while stream.is_open and stream.next() is not None:
                pass
        self.stop()

    def _whole(self) -> pa.Table:
        self._batches = iter(())
        try:
            return self._result.to_arrow()
        except BaseException as error:
            self._fail(error)
            raise

    def _next_batch(self) -> pa.RecordBatch | None:
        return self._ahead.popleft() if self._ahead else self._read()

    def _read(self) -> pa.RecordBatch | None:
        if self._failure is not None:
            raise self._failure
        if self._batches is None:
            self._batches = iter(self._result)
        try:
            return next(self._batches, None)
        except BaseException as error:
            self._fail(error)
            raise

    def _fail(self, error: BaseException) -> None:
        self._failure = error if isinstance(error, Exception) else InterfaceError(_INTERRUPTED)
        self._result.close()

    def _refuse_rest(self, error: BaseException, taken: Sequence[tuple[Any, ...]] = ()) -> None:
        """After an interrupt, such as Ctrl-C, refuses the rest, because rows that were taken are lost. After an error,
        `taken` are fetched again."""
        if isinstance(error, Exception):
            self._made.extendleft(reversed(taken))
        else:
            self._batch = None
            self._made.clear()
            self._ahead.clear()
            self._fail(error)

    def _rest_of_batch(self) -> pa.RecordBatch | None:
        """The rows of the current batch that were not read yet."""
        if self._batch is None:
            return None
        rest = self._batch.slice(self._converted - len(self._made))
        return rest if rest.num_rows > 0 else None

    def _is_digits(self, field: pa.Field) -> bool:
        """Whether a text becomes decimals, unless text was asked for."""
        requested = self._result._requested
        return is_digits(field) and requested is not None and field.name not in requested

    def _convert(self) -> bool:
        """Makes Python's values of further rows. False after the last row."""
        while self._batch is None or self._converted == self._batch.num_rows:
            self._batch, self._converted = None, 0
            self._batch = self._next_batch()
            if self._batch is None:
                return False
        part = self._batch.slice(self._converted, _ROWS)
        fields = zip(self.schema, part.columns, strict=True)
        columns = [of_digits(column) if self._is_digits(field) else _values(field, column) for field, column in fields]
        self._made.extend(zip(*columns, strict=True))
        self._converted += part.num_rows
        return True


def _values(field: pa.Field, column: pa.Array) -> list[Any]:
    """Python's values of a column. A value that Python lacks is a DataError that names the column."""
    pa = require("pyarrow", "colonnade.dbapi")
    types, kind = pa.types, column.type
    if getattr(kind, "unit", "") == "ns" and not types.is_interval(kind):
        micro = (
            pa.timestamp("us", kind.tz)
            if types.is_timestamp(kind)
            else pa.duration("us")
            if types.is_duration(kind)
            else pa.time64("us")
        )
        try:
            column = column.cast(micro)
        except pa.ArrowInvalid:
            raise DataError(
                f"column {field.name!r} has a value with nanoseconds, which Python lacks",
                hint="use fetch_arrow_table(), or cast the column in the query",
                sqlstate="22008",
            ) from None
    return of_column(field.name, column)
