"""Parquet and Arrow files as streams. Their first bytes tell what they are, not their names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colonnade._errors import DataError, InterfaceError
from colonnade._libraries import require
from colonnade._secrets import masked

if TYPE_CHECKING:
    import pyarrow as pa

_PARQUET, _ARROW_FILE, _ARROW_STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
#: The rows of a batch.
_BATCH_ROWS = 1 << 16
#: The bytes of a column of a Parquet file that are read at once. Otherwise it would be a whole row group.
_BUFFER = 1 << 20


@dataclass(frozen=True)
class Batches:
    """The batches of a file, one after another."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    #: The number of rows, if the file says it.
    length: int | None = None


def of_path(given: str | os.PathLike[str]) -> Batches:
    """The rows of a file.

    Raises:
        InterfaceError: There is no such file, or it is of another kind.
    """
    path = Path(given)
    # It may be a connection string in the wrong place.
    shown = masked(str(path))
    if path.is_dir():
        raise InterfaceError(f"{shown!r} is a directory: give pyarrow.dataset.dataset({shown!r})")
    try:
        with path.open("rb") as file:
            begin = file.read(8)
    except (FileNotFoundError, NotADirectoryError):
        raise InterfaceError(
            f"there is no file {shown!r}: a text as data is the path of a Parquet or Arrow file"
        ) from None
    with _reading(shown):
        found = _opened(path, begin)
    if found is not None:
        return Batches(found.schema, _named(shown, found.batches), found.length)
    raise InterfaceError(
        f"{shown!r} is neither Parquet nor Arrow IPC, which tell the types of their columns: read it by pandas,"
        " polars or DuckDB, and write the frame"
    )


def _opened(path: Path, begin: bytes) -> Batches | None:
    """The rows of a file that begins so; None for a file of another kind."""
    if begin.startswith(_PARQUET):
        pq = require("pyarrow.parquet", "reading Parquet")
        return of_parquet(pq.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False, arrow_extensions_enabled=True))
    pa = require("pyarrow", "reading Arrow")
    if begin.startswith(_ARROW_FILE):
        # A mapped file would count as memory of the process.
        file = require("pyarrow.ipc", "reading Arrow").open_file(pa.OSFile(str(path)))
        return Batches(file.schema, map(file.get_batch, range(file.num_record_batches)))
    return of_pipe(pa.OSFile(str(path))) if begin.startswith(_ARROW_STREAM) else None


@contextmanager
def _reading(shown: str) -> Iterator[None]:
    """Errors of pyarrow within the block, which are also OSErrors, as errors that name the file."""
    pa = require("pyarrow", "reading files")
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, MemoryError):
            raise
        raise DataError(
            f"the file {shown!r} cannot be read: {error}",
            hint="it may be damaged, or not written to its end: write or copy it again",
            sqlstate="22000",
        ) from error


def _named(shown: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches of a file, whose errors name it."""
    with _reading(shown):
        yield from batches


def of_parquet(file: Any) -> Batches:
    """The rows of a pyarrow.parquet.ParquetFile, one row group after another."""
    return Batches(file.schema_arrow, file.iter_batches(_BATCH_ROWS), file.metadata.num_rows)


def of_pipe(file: Any) -> Batches:
    """The rows of a stream of Arrow's IPC format, from an object with `read`. Every byte must arrive.

    Raises:
        InterfaceError: The stream does not begin as one of Arrow.
    """
    pa = require("pyarrow", "reading Arrow")
    counted = _Counted(file)
    try:
        stream = require("pyarrow.ipc", "reading Arrow").open_stream(pa.PythonFile(counted, "r"))
    except (pa.ArrowException, OSError) as error:
        raise InterfaceError(f"the input is no stream of Arrow's IPC format: {error}") from error
    return Batches(stream.schema, _complete(stream, counted))


def _complete(stream: pa.RecordBatchReader, file: _Counted) -> Iterator[pa.RecordBatch]:
    """The batches. pyarrow takes a stream that was cut between two of them for a complete one."""
    yield from stream
    if file.is_short:
        raise InterfaceError("the stream of Arrow ends without the mark of its end: its writer has failed")


class _Counted:
    """A file that knows whether it has ended before what was read from it."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.is_short = False

    def read(self, size: int = -1) -> bytes:
        parts = bytearray()
        while len(parts) < size or size < 0:
            part = self._file.read(size - len(parts) if size >= 0 else -1)
            if not part:
                self.is_short = True
                break
            parts += part
        return bytes(parts)

    @property
    def closed(self) -> bool:
        return self._file.closed

    def close(self) -> None:
        self._file.close()
