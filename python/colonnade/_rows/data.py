"""From the data that a user has to a stream of batches."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from colonnade._core import Stream
from colonnade._errors import DataError, InterfaceError, NotSupportedError, class_like
from colonnade._frames.dtype import converted
from colonnade._frames.result import Result
from colonnade._libraries import require
from colonnade._sources.duckdb_types.exact import UnsupportedType, described

from . import columns, files

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.dataset
    import pyarrow.parquet

    from colonnade._core import ArrowStream, Production
    from colonnade._options.dtype import Dtypes
    from colonnade._sources.duckdb_types.exact import FieldNotes

    #: Rows of which all are there: anything with Arrow's PyCapsule interface for streams (pyarrow, polars, DuckDB), a
    #: pandas.DataFrame, or arrays by the names of columns.
    Rows: TypeAlias = ArrowStream | pd.DataFrame | Mapping[str, np.ndarray[Any, Any] | Sequence[Any]]
    #: What can be written: rows, also as parts one by one, a `Result`, a polars.LazyFrame, a data set of pyarrow, and
    #: the path of a Parquet or Arrow file.
    Data: TypeAlias = (
        Rows
        | Result
        | pl.LazyFrame
        | pyarrow.dataset.Dataset
        | pyarrow.dataset.Scanner
        | pyarrow.parquet.ParquetFile
        | str
        | os.PathLike[str]
        | Iterable[Rows]
    )

#: The rows of a batch at most, so that a large table is not one step of the progress, of Ctrl-C and of the queues.
BATCH_ROWS = 1 << 16
#: Seconds for which the end of a write waits for the data's own code.
_RELEASE_SECONDS = 2.0
_KINDS = (
    "a table or a frame (pyarrow, polars, pandas, DuckDB), a dict of arrays, the path of a Parquet or Arrow file, or an"
    " iterator of pyarrow.RecordBatch"
)


class DataStream:
    """The rows as a stream, and the exception that has ended it, if one has."""

    def __init__(
        self,
        data: Data,
        *,
        index: bool | None = None,
        dtype: Dtypes | None = None,
        stop: Callable[[], object] | None = None,
    ) -> None:
        """`stop` ends a wait of the data for more rows."""
        #: A `Result` must not be dropped before its stream was read.
        self._data = data
        #: The exceptions of the user's own code, and of the stream: Arrow's C interface carries only their texts.
        self._raised: list[BaseException] = []
        self._failed: list[BaseException] = []
        #: The number of rows, if the data knows it.
        self.length: int | None = None
        #: The thread that calls the data's own code, if there is one.
        self._production: Production | None = None
        with library_errors():
            self.stream = converted(self._opened(data, index, stop), dtype)

    def _opened(self, data: Any, index: bool | None, stop: Callable[[], object] | None) -> Stream:
        if isinstance(data, Result):
            if index is not None:
                raise _NO_INDEX
            return data._rest("write_sql()")
        stopped = Event()
        whole, self.length = _producer(data, index, self._raised, stopped)

        def cancel() -> None:
            stopped.set()
            if stop is not None:
                stop()

        stream, self._production = Stream.from_arrow(
            whole.rows, "the data", "", cancel=cancel, notes=whole.notes, chunk_rows=BATCH_ROWS
        )
        _remember(self._production)
        return stream

    @contextmanager
    def reading(self, report: Callable[[int, int], object] | None) -> Iterator[Stream]:
        """The stream, which calls `report` with the rows and bytes up to now. Afterwards it is closed. If the stream
        has failed, its own exception is raised in place of the one of who has read it."""
        stream = self.stream.observed(report, self._failed.append)
        try:
            with library_errors(is_given=True):
                try:
                    yield stream
                except Exception as error:
                    for first in (*self._raised, *self._failed):
                        if first is error:
                            raise
                        raise first from error
                    raise
        finally:
            self._end(stream)

    def close(self) -> None:
        """Ends the stream, and waits for what it uses of the data, such as a connection of DuckDB."""
        self._end(self.stream)

    def _end(self, stream: Stream) -> None:
        stream.close()
        # Later, its thread could call code of an interpreter that shuts down.
        if self._production is not None and self.ended(_RELEASE_SECONDS):
            _running.discard(self._production)

    def ended(self, seconds: float) -> bool:
        """Waits until the thread that calls the data's own code has ended, if there is one, and says whether it has."""
        return self._production is None or self._production.wait(seconds)


#: The threads that may call Python's code.
_running: set[Production] = set()


def _remember(production: Production) -> None:
    # A copy, because another thread may add to the set while wait() lets it run.
    _running.difference_update([other for other in list(_running) if other.wait(0)])
    _running.add(production)


@atexit.register
def _wait_for_all() -> None:
    for production in list(_running):
        production.wait(_RELEASE_SECONDS)


_NO_INDEX = TypeError("index is for a pandas.DataFrame only")


class Whole(NamedTuple):
    """Rows that are all there: an object with their stream, and what its schema does not tell of their types."""

    rows: ArrowStream
    notes: FieldNotes | None = None


class Part:
    """Some of the rows: their columns, and their batches."""

    def __init__(self, whole: Whole) -> None:
        self._stream, production = Stream.from_arrow(whole.rows, "the data", "", notes=whole.notes)
        _remember(production)
        pa = require("pyarrow", "writing rows in parts")
        try:
            self.schema: pa.Schema = pa.schema(self._stream)
        except pa.ArrowException:
            # This error names the column.
            self._stream.check_target("append", [])
            raise

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        pa = require("pyarrow", "writing rows in parts")
        while (batch := self._stream.next()) is not None:
            yield pa.record_batch(batch)


@contextmanager
def library_errors(*, is_given: bool = False) -> Iterator[None]:
    """Errors of pyarrow and DuckDB within the block as errors of this package. With `is_given`, the block also runs
    code of the user's, whose errors of DuckDB are raised as they are."""
    try:
        yield
    except Exception as error:
        if _is_of(error, "pyarrow", "ArrowException") and not isinstance(error, MemoryError):
            is_lacked = _is_of(error, "pyarrow", "ArrowNotImplementedError")
            kind, sqlstate = (NotSupportedError, "0A000") if is_lacked else (DataError, "22000")
            raise kind(f"pyarrow cannot read the data: {error}", sqlstate=sqlstate) from error
        if not is_given and _is_of(error, "duckdb", "Error"):
            raise class_like(sys.modules["duckdb"], error)(str(error)) from error
        raise


def _producer(data: Any, index: bool | None, raised: list[BaseException], stopped: Event) -> tuple[Whole, int | None]:
    """The rows, and their number if it is known."""
    if (found := _whole(data, index)) is not None:
        return found, _length(data)
    if isinstance(data, (str, os.PathLike)):
        data = files.of_path(data)
    if _is_of(data, "pyarrow.dataset", "Dataset", "Scanner"):
        return Whole(_of_dataset(data)), None
    if _is_of(data, "pyarrow.parquet", "ParquetFile"):
        data = files.of_parquet(data)
    if isinstance(data, files.Batches):
        return Whole(_stream(data.schema, data.batches, raised, stopped)), data.length
    if _is_of(data, "polars", "LazyFrame"):
        return Whole(_of_parts(_frames(data), raised, stopped)), None
    if isinstance(data, Iterable) and not isinstance(data, (bytes, bytearray, memoryview)):
        return Whole(_of_parts(iter(data), raised, stopped)), None
    raise InterfaceError(f"the data is a {type(data).__name__}: give {_KINDS}")


def part_of(rows: Any) -> Part:
    """The batches of rows that are all there. Memory that the user can write to is copied."""
    if _is_of(rows, "pandas", "DataFrame"):
        rows = rows.copy()
    elif isinstance(rows, Mapping):
        rows = {name: values.copy() if hasattr(values, "copy") else values for name, values in rows.items()}
    with library_errors():
        found = _whole(rows, None)
        if found is None:
            raise InterfaceError(
                f"a part of the data is a {type(rows).__name__}: give a pyarrow.RecordBatch, or another table or frame",
                hint="of rows, and of an array of NumPy, pandas.DataFrame(data, columns=[…]) makes a frame",
            )
        return Part(found)


def checked(part: Part, schema: pa.Schema | None) -> Part:
    """The part, if it has the columns of the first one."""
    if schema is not None and not part.schema.equals(schema):
        raise InterfaceError(f"a batch has the columns {part.schema}, and the first one has {schema}")
    return part


def _whole(data: Any, index: bool | None) -> Whole | None:
    """Rows that are all there; None for other data."""
    notes = None
    if _is_of(data, "pandas", "DataFrame"):
        found = _of_pandas(data, index)
    elif index is not None:
        raise _NO_INDEX
    elif isinstance(data, Mapping):
        found = columns.of_arrays(data)
    elif _is_of(data, "polars", "DataFrame"):
        found = _of_polars(data)
    elif _is_of(data, "duckdb", "DuckDBPyRelation"):
        found, notes = _of_relation(data)
    elif hasattr(data, "__arrow_c_stream__"):
        _refuse_column(data)
        found = data
    else:
        return None
    _refuse_names(found)
    return Whole(found, notes)


def _refuse_names(rows: Any) -> None:
    """Refuses columns that would lose their name on the way."""
    schema: Any = getattr(rows, "schema", None)
    if _is_of(schema, "pyarrow", "Schema"):
        names = schema.names
    else:
        names = rows.columns if _is_of(rows, "polars", "DataFrame") else []
    for name in names:
        if "\0" in name:
            # Arrow's C interface would cut it.
            raise InterfaceError(f"the data has a column {name!r}, and Arrow's names cannot hold a NUL")


def _refuse_column(data: Any) -> None:
    """Refuses a column, whose stream has values instead of rows. A column of structs is a table."""
    if _is_of(data, "polars", "Series"):
        is_table = data.dtype == sys.modules["polars"].Struct
    elif _is_of(data, "pandas", "Series") or _is_of(data, "pyarrow", "ChunkedArray"):
        kind = data.type if _is_of(data, "pyarrow", "ChunkedArray") else getattr(data.dtype, "pyarrow_dtype", None)
        is_table = kind is not None and require("pyarrow", "writing rows").types.is_struct(kind)
    else:
        return
    if not is_table:
        raise InterfaceError(
            f"the data is one column, a {type(data).__name__}: to_frame() makes a frame, a dict a table"
        )


def _of_polars(frame: Any) -> ArrowStream:
    pl = sys.modules["polars"]
    for name, kind in frame.schema.items():
        if _has(kind, pl.Object):
            # polars would export addresses.
            raise NotSupportedError(f'column "{name}" has Python\'s objects, which Arrow lacks', sqlstate="0A000")
        if _has(kind, *_integers_of_128_bits(pl)):
            raise NotSupportedError(
                f'column "{name}" has integers of 128 bits, which Arrow lacks: cast(polars.Decimal(38, 0))',
                sqlstate="0A000",
            )
    # polars exports a buffer for a column of the type null, where Arrow has none.
    return frame.to_arrow() if any(_has(kind, pl.Null) for kind in frame.dtypes) else frame


def _integers_of_128_bits(pl: Any) -> list[Any]:
    """Depending on its version, polars lacks one of them."""
    return [getattr(pl, name) for name in ("Int128", "UInt128") if hasattr(pl, name)]


def _has(kind: Any, *kinds: Any) -> bool:
    """Whether a type of polars is one of `kinds`, or has one within."""
    inner = [kind.inner] if hasattr(kind, "inner") else [field.dtype for field in getattr(kind, "fields", ())]
    return kind in kinds or any(_has(one, *kinds) for one in inner)


def _of_relation(relation: Any) -> tuple[ArrowStream, FieldNotes]:
    """DuckDB's plain export changes some values."""
    try:
        return described(relation)
    except UnsupportedType as error:
        raise NotSupportedError(str(error), sqlstate="0A000") from error


def _of_pandas(frame: Any, index: bool | None) -> ArrowStream:
    if index not in (None, False):
        raise InterfaceError("the index is not written: frame.reset_index() makes it a column")
    is_numbered = type(frame.index).__name__ == "RangeIndex" and frame.index.name is None
    if index is None and not is_numbered:
        raise InterfaceError(
            "the frame has an index, which a table has not: frame.reset_index() makes it a column, index=False leaves"
            " it out"
        )
    return columns.of_frame(frame)


def _of_dataset(data: Any) -> ArrowStream:
    """By default, pyarrow's threads would read far ahead, and keep what they have read of a Parquet file."""
    if hasattr(data, "scanner"):
        options: dict[str, Any] = {}
        if _is_of(getattr(data, "format", None), "pyarrow.dataset", "ParquetFileFormat"):
            ds = require("pyarrow.dataset", "reading Parquet")
            options["fragment_scan_options"] = ds.ParquetFragmentScanOptions(pre_buffer=False)
        data = data.scanner(
            batch_size=BATCH_ROWS, batch_readahead=2, fragment_readahead=1, use_threads=False, **options
        )
    return data.to_reader()


def _frames(lazy: Any) -> Iterator[Any]:
    """The frame's rows in parts, in their order. polars before 1.34 can only collect them all."""
    if not hasattr(lazy, "collect_batches"):
        yield lazy.collect()
        return
    # Without rows there may be no part.
    yield require("polars", "a LazyFrame").DataFrame(schema=lazy.collect_schema())
    yield from lazy.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True, lazy=True)


def _of_parts(parts: Iterator[Any], raised: list[BaseException], stopped: Event) -> ArrowStream:
    """The parts as a stream."""
    part = next(parts, None)
    if part is None:
        raise InterfaceError("the iterator has no batch, so the columns are unknown: write a table with no rows")
    first = part_of(part)
    schema = first.schema

    def batches() -> Iterator[Any]:
        yield from first
        for part in parts:
            yield from checked(part_of(part), schema)

    return _stream(schema, batches(), raised, stopped)


def _stream(schema: Any, batches: Iterator[Any], raised: list[BaseException], stopped: Event) -> pa.RecordBatchReader:
    """The batches as a stream, which ends with an error when `stopped` is set: they may have no end. An exception that
    ends them before that is noted in `raised`. A later one is a consequence of the stop, not the reason for it."""

    def noted() -> Any:
        try:
            return next(batches, None)
        except BaseException as error:
            if not stopped.is_set():
                raised.append(error)
            raise

    def until_stopped() -> Iterator[Any]:
        while (batch := noted()) is not None:
            yield batch
            if stopped.is_set():
                raise RuntimeError("the write was interrupted")

    return require("pyarrow", "writing rows in parts").RecordBatchReader.from_batches(schema, until_stopped())


def _length(data: Any) -> int | None:
    length = getattr(data, "num_rows", None)
    if length is None and (_is_of(data, "pandas", "DataFrame") or _is_of(data, "polars", "DataFrame")):
        length = len(data)
    return length if isinstance(length, int) else None


def _is_of(data: Any, module: str, *names: str) -> bool:
    """Whether it is an object of a class of a module, which is not imported for this."""
    # Another thread may be importing the module, which then has no objects yet.
    found = [getattr(sys.modules.get(module), name, None) for name in names]
    return isinstance(data, tuple(kind for kind in found if kind is not None))
