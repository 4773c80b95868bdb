"""From the data that a user has to a stream of batches."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING, Any, TypeAlias

from colonnade._core import Stream
from colonnade._errors import InterfaceError
from colonnade._frames.result import Result
from colonnade._libraries import require

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    from colonnade._core import ArrowStream

#: What can be written: anything with Arrow's PyCapsule interface for streams (pyarrow, polars, DuckDB, a `Result`), a
#: pandas.DataFrame, arrays by the names of columns, or batches one by one.
Data: TypeAlias = "ArrowStream | Result | pd.DataFrame | Mapping[str, np.ndarray[Any, Any]] | Iterable[pa.RecordBatch]"


class DataStream:
    """The rows as a stream, and the exception of the user's own code that has ended it, if one has."""

    def __init__(self, data: Data, *, index: bool | None) -> None:
        self._raised: list[BaseException] = []
        stopped = Event()
        producer = _producer(data, index, self._raised, stopped)
        self.stream, _ = Stream.from_arrow(producer, "the data", "", cancel=stopped.set)

    @contextmanager
    def raising(self) -> Iterator[None]:
        """Raises the exception of the user's iterator in place of the error that Arrow makes of it."""
        try:
            yield
        except Exception as error:
            if self._raised:
                raise self._raised[0] from error
            raise
        finally:
            self.stream.close()


def _producer(data: Any, index: bool | None, raised: list[BaseException], stopped: Event) -> ArrowStream:
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(data, pandas.DataFrame):
        return _of_pandas(data, index)
    if index is not None:
        raise TypeError("index is for a pandas.DataFrame only")
    if hasattr(data, "__arrow_c_stream__"):
        return data
    if isinstance(data, Mapping):
        pa = require("pyarrow", "writing arrays")
        return pa.table({name: pa.array(values) for name, values in data.items()})
    if hasattr(data, "collect"):
        raise InterfaceError(f"the data is a {type(data).__name__}, which has no rows yet: call its collect()")
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes)):
        return _of_batches(iter(data), raised, stopped)
    raise InterfaceError(
        f"the data is a {type(data).__name__}: give a table or a frame (pyarrow, polars, pandas, DuckDB), a dict of"
        " arrays, or an iterator of pyarrow.RecordBatch"
    )


def _of_pandas(frame: Any, index: bool | None) -> ArrowStream:
    pa = require("pyarrow", "writing a pandas.DataFrame")
    if index not in (None, False):
        raise InterfaceError("the index is not written: frame.reset_index() makes it a column")
    is_numbered = type(frame.index).__name__ == "RangeIndex" and frame.index.name is None
    if index is None and not is_numbered:
        raise InterfaceError(
            "the frame has an index, which a table has not: frame.reset_index() makes it a column, index=False leaves"
            " it out"
        )
    return pa.Table.from_pandas(frame, preserve_index=False)


def _of_batches(batches: Iterator[Any], raised: list[BaseException], stopped: Event) -> ArrowStream:
    """The batches as a stream, which ends with an error when `stopped` is set: an iterator may have no end."""
    pa = require("pyarrow", "writing batches from an iterator")
    first = next(batches, None)
    if first is None:
        raise InterfaceError("the iterator has no batch, so the columns are unknown: write a table with no rows")
    schema = _checked(first, None).schema

    def checked() -> Iterator[Any]:
        batch = first
        while batch is not None and not stopped.is_set():
            yield batch
            try:
                batch = next(batches, None)
                if batch is not None:
                    _checked(batch, schema)
            except BaseException as error:
                raised.append(error)
                raise
        if stopped.is_set():
            raise RuntimeError("the write was interrupted")

    return pa.RecordBatchReader.from_batches(schema, checked())


def _checked(batch: Any, schema: Any) -> Any:
    """The batch, if it is one with the columns of the first."""
    pa = require("pyarrow", "writing batches from an iterator")
    if not isinstance(batch, pa.RecordBatch):
        raise InterfaceError(f"the iterator gives a {type(batch).__name__}: it must give pyarrow.RecordBatch")
    if schema is not None and not batch.schema.equals(schema):
        raise InterfaceError(f"a batch has the columns {batch.schema}, and the first one has {schema}")
    return batch
