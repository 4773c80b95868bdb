"""`Result`: the answer to a query, for asyncio."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from colonnade._errors import InterfaceError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from colonnade._frames.result import Result as Reader
    from colonnade._frames.result import Stats
    from colonnade._options.dtype import Backend

    from ._connection import Connection

T = TypeVar("T")


class Result:
    """The result of a query, whose rows may still be arriving.

    It is read once: as a whole (`arrow`, `pandas`, `polars`, `numpy`), or batch by batch (`async for`). A batch is
    received when it is asked for, so a slow reader slows the server down and holds no memory. If the task is cancelled
    while it reads, the query is cancelled and the result is closed. As an async context manager it closes itself.
    """

    def __init__(self, connection: Connection, reader: Reader) -> None:
        self._connection = connection
        self._reader = reader
        self._batches: Iterator[pa.RecordBatch] | None = None
        self._is_over = False
        self._is_reading = False

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the columns: a pyarrow.Schema, or an object with `__arrow_c_schema__`."""
        return self._reader.schema

    @property
    def column_names(self) -> list[str]:
        """The names of the columns. Names may repeat."""
        return self._reader.column_names

    async def arrow(self) -> pa.Table:
        """Reads the result into a pyarrow.Table."""
        return await self._run(self._reader.to_arrow)

    async def pandas(self, dtype_backend: Backend | None = None, coerce_float: bool | None = None) -> pd.DataFrame:
        """Reads the result into a pandas.DataFrame. The arguments are those of `colonnade.Result.to_pandas`."""
        return await self._run(lambda: self._reader.to_pandas(dtype_backend, coerce_float))

    async def polars(self) -> pl.DataFrame:
        """Reads the result into a polars.DataFrame."""
        return await self._run(self._reader.to_polars)

    async def numpy(self) -> dict[str, np.ndarray]:
        """Reads the result into NumPy arrays, by the names of the columns."""
        return await self._run(self._reader.to_numpy)

    async def stats(self) -> Stats:
        """Rows, bytes and seconds up to now, and the encodings that were used."""
        return await self._connection._run_quickly(lambda: self._reader.stats)

    def __aiter__(self) -> Result:
        return self

    async def __anext__(self) -> pa.RecordBatch:
        """The next batch: a pyarrow.RecordBatch, or without pyarrow an object with `__arrow_c_array__`."""

        def advance() -> Any:
            if self._batches is None:
                self._batches = iter(self._reader)
            return next(self._batches, None)

        batch = await self._run(advance)
        if batch is None:
            self._batches = None
            raise StopAsyncIteration
        return batch

    async def close(self) -> None:
        """Cancels the query if it still runs. Data that was read stays valid. A task that reads gets an error."""
        self._is_over = True
        if self._is_reading and self._connection.is_open:
            await self._connection.cancel()
        await self._connection._run_quickly(self._end)

    async def _run(self, work: Callable[[], T]) -> T:
        """Reads. Rows that a cancelled task did not take are lost, so that nothing more is read."""
        if self._is_over:
            raise InterfaceError("the result was closed, or reading it was cancelled: run the query again")
        self._is_reading = True
        try:
            return await self._connection._run(work)
        except CancelledError:
            self._is_over = True
            self._connection._post(self._end)
            raise
        finally:
            self._is_reading = False

    def _end(self) -> None:
        self._batches = None
        self._reader.close()

    def __del__(self) -> None:
        # Closing may wait for the server, which the event loop must not.
        if (connection := getattr(self, "_connection", None)) is not None:
            connection._post(self._reader.close)

    async def __aenter__(self) -> Result:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<colonnade.aio.Result {len(self.column_names)} columns>"
