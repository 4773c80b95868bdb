"""`Result`: the answer to a query."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from colonnade._core import Stream
from colonnade._errors import InterfaceError
from colonnade._libraries import require

from . import convert, html
from .dtype import PANDAS_TEXT, by_name, checked_backend, converted, requested
from .interrupted import cancelled_by_interrupt
from .values import require_names, require_types

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from duckdb import DuckDBPyConnection, DuckDBPyRelation
    from typing_extensions import CapsuleType

    from colonnade._core import Table
    from colonnade._options.dtype import Backend
    from colonnade._options.query import QueryOptions

    from .dtype import Conversion
    from .progress import Reporter


@dataclass(frozen=True)
class Stats:
    """Counts of a result up to now. Sizes are in bytes, times in seconds."""

    #: Rows read.
    rows: int
    #: Chunks read (batches, of a source in this process).
    chunks: int
    #: Bytes received, the protocol's framing included; 0 for a source in this process.
    wire_bytes: int
    #: Seconds from sending the query until its columns were known.
    seconds_to_schema: float
    #: Seconds from sending the query until the end of the result, or until now.
    seconds: float
    #: For each column (name and number, since names may repeat), in how many chunks each encoding was used.
    encodings: list[tuple[str, dict[str, int]]]
    #: In how many chunks each codec was used.
    codecs: dict[str, int]
    #: The number of chunks of each configuration, such as `light+zstd`.
    configurations: dict[str, int]
    #: The configuration of the last chunk; empty before the first chunk.
    configuration: str
    #: How DuckDB's rows were taken, by `colonnade serve` or in this process: from its `vectors`, or from its Arrow
    #: `stream`. It is empty for other databases, and until the last row has arrived.
    rows_from: str
    #: The URI of the source, without its password.
    source: str
    #: The server's software: `DuckDB 2.0.1`, or `PostgreSQL 15.18 with colonnade 1` (the version of its format).
    server: str

    @property
    def choice(self) -> str:
        """The configurations and the throughput in a line: `light ×2, light+zstd ×14, at 11.8 MB/s of the link`."""
        if not self.configurations:
            return ""
        chosen = ", ".join(f"{name} ×{count}" for name, count in self.configurations.items())
        rate = self.wire_bytes / max(self.seconds - self.seconds_to_schema, 1e-9)
        return f"{chosen}, at {rate / 1e6:.3g} MB/s of the link"

    def _repr_html_(self) -> str:
        """The counts as a table, for notebooks."""
        encodings = [
            (
                f"encodings of {name or '(no name)'}",
                ", ".join(f"{encoding} ×{count}" for encoding, count in counts.items()),
            )
            for name, counts in self.encodings
            if counts
        ]
        rows = [
            ("server", self.server),
            ("rows", f"{self.rows:,}"),
            ("chunks", f"{self.chunks:,}"),
            ("bytes on the wire", f"{self.wire_bytes:,}"),
            ("seconds to the columns", f"{self.seconds_to_schema:.3f}"),
            ("seconds", f"{self.seconds:.3f}"),
            *([("configurations", self.choice)] if self.choice else []),
            *([("rows from DuckDB's", self.rows_from)] if self.rows_from else []),
            *encodings,
        ]
        return html.table(self.source, [], rows)


class Result:
    """The result of a query, whose rows may still be arriving.

    It is read once: as a whole (`to_arrow`, `to_pandas`, `to_polars`, `to_numpy`, `to_duckdb`), batch by batch
    (iteration), or by another library (`__arrow_c_stream__`). A second read is an `InterfaceError`. Only `column` keeps
    the received chunks, so that further columns, or any other read, can follow. Leaving the `with` block, or dropping
    the result, cancels the query if it still runs.

    Each read raises `OperationalError` if the connection is lost or the query is cancelled, `InternalError` if the
    answer is damaged or incomplete, and `DataError` if a value has no form in the destination.
    """

    def __init__(
        self, stream: Stream, options: QueryOptions, *, in_parts: bool = False, reporter: Reporter | None = None
    ) -> None:
        """`options` are those of the query. This class applies the ones that all sources have."""
        limit = options.get("max_result_bytes")
        stream = stream if limit is None else stream.limited(limit)
        #: The kinds of the columns, as the database has them.
        self._kinds = stream.kinds
        dtype = by_name(stream.names, self._kinds, options.get("dtype"))
        stream = converted(stream, dtype)
        #: The first use of the stream, for the error of a second use. `__del__` needs it as soon as there is a stream.
        self._used: str | None = None
        self._stream: Stream | None = stream
        #: The columns with requested types, which the stream has already; None means all columns.
        self._requested = requested({**options, "dtype": dtype})
        #: Whether batches may arrive in another order than the rows.
        self._in_parts = in_parts
        self._reporter = reporter
        self._names = stream.names
        self._schema: pa.Schema | None = None
        #: The columns, by number, that batches have apart, so that they can be kept without the others.
        self._apart: frozenset[int] = frozenset()
        #: The whole result, encoded, once `column` has received it.
        self._kept: Table | None = None
        self._columns: dict[int, pa.ChunkedArray] = {}
        self._source = stream

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the columns: a pyarrow.Schema.

        Without pyarrow, it is an object with `__arrow_c_schema__`.
        """
        if self._schema is None:
            self._schema = convert.as_pyarrow("schema", self._source)
        return self._schema

    @property
    def column_names(self) -> list[str]:
        """The names of the columns. Names may repeat."""
        return list(self._names)

    @property
    def num_rows(self) -> int:
        """The number of rows.

        Raises:
            InterfaceError: The last row has not been read yet.
        """
        if self._kept is not None:
            return self._kept.num_rows
        if self._used in (None, "unfinished iteration", "close()"):
            raise InterfaceError("the number of rows is known only after the last one was read")
        return self._source.stats()["rows"]

    @property
    def stats(self) -> Stats:
        """Rows, bytes and seconds up to now, and the encodings that were used."""
        return Stats(**self._source.stats())

    @cancelled_by_interrupt
    def to_arrow(self) -> pa.Table:
        """Reads the result into a pyarrow.Table, with the exact types of the database (spec/TYPES.md)."""
        require("pyarrow", "to_arrow()")
        return convert.table(self._whole("to_arrow()"))

    @cancelled_by_interrupt
    def to_pandas(self, dtype_backend: Backend | None = None, coerce_float: bool | None = None) -> pd.DataFrame:
        """Reads the result into a pandas.DataFrame.

        Args:
            dtype_backend: The types of the columns: `"numpy"` (the default: those of `pandas.read_sql`, so numbers have
                64 bits and decimals are the nearest float64), `"numpy_nullable"` and `"pyarrow"` (pandas' other two
                kinds), `"exact"` (the database's own: decimals are `decimal.Decimal`, integers and booleans with NULLs
                have pandas' nullable types) or `"connectorx"` (those of `connectorx.read_sql`).
            coerce_float: Whether decimals become the nearest float64. None is True, and False with `"exact"`.

        Raises:
            DataError: A value has no form in the frame, such as the time 24:00:00.
            ValueError: There is no such `dtype_backend`.
        """
        backend = checked_backend(dtype_backend or "numpy")
        require("pandas", "to_pandas()")
        require("pyarrow", "to_pandas()", "pandas")
        from .layout import Layout
        from .pandas import frame

        layout = Layout(backend, coerce_float, self._requested)
        conversions = layout.conversions(self.schema)
        if self._kept is not None and conversions:
            again = self._rest("to_pandas()").converted(conversions)
            return frame(convert.as_pyarrow("schema", again), self._batches(again, "column()"), layout)
        self._retype(conversions, "to_pandas()")
        return frame(self.schema, self._each("to_pandas()"), layout, self._apart)

    @cancelled_by_interrupt
    def to_numpy(self) -> dict[str, np.ndarray]:
        """Reads the result into NumPy arrays.

        Returns:
            An array for each column, by name. Numbers and booleans with NULLs are `numpy.ma.MaskedArray`. Dates and
            timestamps are `datetime64` (in UTC if they have a time zone), times are `timedelta64` since midnight, both
            with NaT for NULL. Other types are arrays of Python objects: `str`, `bytes`, `decimal.Decimal`, lists,
            dicts, and None for NULL.
        """
        require("numpy", "to_numpy()")
        require("pyarrow", "to_numpy()", "numpy")
        from .numpy import arrays

        return arrays([self._table("to_numpy()")])

    @cancelled_by_interrupt
    def to_duckdb(self, connection: DuckDBPyConnection | None = None) -> DuckDBPyRelation:
        """Reads the result into memory, and returns a DuckDB relation over it.

        Args:
            connection: The relation's connection; None is DuckDB's default connection.
        """
        require("duckdb", "to_duckdb()")
        require("pyarrow", "to_duckdb()")
        self._require_types("duckdb")
        return convert.duckdb(self._table("to_duckdb()"), connection)

    @cancelled_by_interrupt
    def to_polars(self) -> pl.DataFrame:
        """Reads the result into a polars.DataFrame.

        Raises:
            NotSupportedError: polars has no type for a column (intervals, decimals of more than 38 digits, repeated
                names).
        """
        require("polars", "to_polars()")
        self._require_types("polars")
        if self._kept is None:
            self._replace(lambda stream: stream.with_views(), "to_polars()")
        return convert.polars(self._whole("to_polars()"))

    def __arrow_c_stream__(self, requested_schema: CapsuleType | None = None) -> CapsuleType:
        """Passes the batches, as they arrive, to a library that reads Arrow's PyCapsule interface."""
        if self._kept is not None:
            return self._kept.__arrow_c_stream__(requested_schema)
        return self._take("__arrow_c_stream__()").__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> CapsuleType:
        """The names and types of the columns, for a library that reads Arrow's PyCapsule interface."""
        return self._source.__arrow_c_schema__()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yields batches as they arrive: pyarrow.RecordBatch, or without pyarrow objects with `__arrow_c_array__`."""
        if self._kept is not None:
            kept = self._kept
            return (convert.record_batch(kept.batch(index), self._apart) for index in range(kept.num_batches))
        return self._batches(self._take("unfinished iteration"))

    def _batches(self, stream: Stream, use: str = "iteration") -> Iterator[pa.RecordBatch]:
        batches = iter(stream.next, None) if self._reporter is None else self._reporter.batches(stream)
        for batch in batches:
            yield convert.record_batch(batch, self._apart)
            # This frees its memory before the next batch arrives.
            del batch
        self._used = use

    @cancelled_by_interrupt
    def column(self, name: str | int) -> pa.ChunkedArray:
        """Decodes one column.

        The first call receives the whole result and keeps it encoded; each column is decoded on its first call.

        Args:
            name: The name of the column, or its number, counted from 0 (from the end if it is negative).

        Returns:
            A pyarrow.ChunkedArray, or without pyarrow an object with `__arrow_c_stream__`.

        Raises:
            InterfaceError: There is no such column, or several columns have the name.
        """
        index = self._index(name)
        if index not in self._columns:
            if self._kept is None:
                self._kept = self._read("column()", decode=False)
            self._columns[index] = convert.as_pyarrow("chunked_array", self._kept.column(index))
        return self._columns[index]

    def _index(self, name: str | int) -> int:
        if isinstance(name, int):
            index = name + len(self._names) if name < 0 else name
            if not 0 <= index < len(self._names):
                raise InterfaceError(f"the result has no column {name}: it has {len(self._names)}")
            return index
        found = [index for index, known in enumerate(self._names) if known == name]
        if len(found) != 1:
            trouble = f"{len(found)} columns" if found else "no column"
            raise InterfaceError(f"the result has {trouble} named {name!r}: give the number, or one of {self._names}")
        return found[0]

    def close(self) -> None:
        """Cancels the query if it still runs. Data that was read stays valid."""
        if self._stream is not None:
            self._stream.close()
            self._used = self._used or "close()"
            self._stream = None

    def __del__(self) -> None:
        # A consumer of the capsule continues to read, and ends the stream when it releases the capsule.
        if getattr(self, "_used", "") != "__arrow_c_stream__()" and getattr(self, "_stream", None) is not None:
            self.close()

    def __enter__(self) -> Result:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<colonnade.Result {self._state}>"

    def _repr_html_(self) -> str:
        """The columns as a table, for notebooks. It reads no row."""
        types = [getattr(field, "type", "") for field in self.schema] if hasattr(self.schema, "names") else []
        columns = zip_longest(self._names, types, fillvalue="")
        return html.table(self._state, ["column", "type"], columns)

    @property
    def _state(self) -> str:
        state = f"read by {self._used}" if self._used else "unread"
        return f"{len(self._names)} columns, {self._source.stats()['rows']} rows so far, {state}"

    def _each(self, use: str) -> Iterator[pa.RecordBatch]:
        """Yields batches in the order of the rows. They are kept only for `column`, or if parts arrive out of order."""
        if self._kept is None and self._in_parts:
            self._kept = self._read(use)
        if self._kept is not None:
            return iter(self)
        return self._batches(self._take(use), use)

    def _table(self, use: str) -> pa.Table:
        """The whole result. This object does not keep its memory, unless `column` was used."""
        return convert.table(self._whole(use))

    def _retype(self, conversions: list[Conversion], use: str) -> None:
        """Gives columns other types before the first batch is read."""
        if conversions:
            self._replace(lambda stream: stream.converted(conversions), use)
            self._apart = frozenset(index for index, target, _ in conversions if target == PANDAS_TEXT)

    def _keep_types(self, use: str) -> None:
        """Gives columns the extension types that a file keeps, before the first batch is read."""
        self._replace(lambda stream: stream.logical(), use)

    def _replace(self, change: Callable[[Stream], Stream], use: str) -> None:
        """Reads the rows in another form, before the first batch is read."""
        stream = change(self._take(use))
        self._used = None
        self._stream = self._source = stream
        self._schema = None

    def _require_types(self, library: str) -> None:
        """Refuses, before reading, types that the library or the kind of file lacks."""
        if library in ("polars", "ndjson"):
            require_names(library, self._names)
        require_types(library, self._names, self._source.rare_types)

    def _whole(self, use: str) -> Table:
        return self._kept if self._kept is not None else self._read(use)

    def _read(self, use: str, *, decode: bool = True) -> Table:
        stream = self._take(use)
        if self._reporter is None:
            return stream.read(decode)
        with self._reporter.reading(stream) as report:
            return stream.read(decode, report)

    def _rest(self, use: str) -> Stream:
        """The unread rows, for a reader within this package, which gets the errors as they are."""
        if self._kept is None:
            return self._take(use)
        stats = self._source.stats()
        again, _ = Stream.from_arrow(self._kept, stats["source"], stats["server"])
        return again

    def _take(self, use: str) -> Stream:
        """The stream, which can be used once."""
        if self._used == "close()":
            raise InterfaceError("the result was closed: run the query again")
        if self._stream is None or self._used is not None:
            raise InterfaceError(
                f"the result was already read by {self._used}: run the query again, or keep the object that it returned"
            )
        self._used = use
        return self._stream
