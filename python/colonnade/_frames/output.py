"""Writes results into files and streams. A file gets its name only when it is complete."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from colonnade._errors import InterfaceError
from colonnade._files import new_file
from colonnade._libraries import require
from colonnade._system.disk import flush_to_disk

from .gaps import refuse
from .text import csv_batch, csv_schema, json_lines

if TYPE_CHECKING:
    import pyarrow as pa


class _Csv:
    """Writes CSV by pyarrow. Types that it lacks become text."""

    def __init__(self, sink: Any, schema: pa.Schema) -> None:
        self._writer = require("pyarrow.csv", "writing CSV").CSVWriter(sink, csv_schema(schema))

    def write_batch(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(csv_batch(batch))

    def close(self) -> None:
        self._writer.close()


class _JsonLines:
    """Writes NDJSON."""

    def __init__(self, sink: Any, _: pa.Schema) -> None:
        self._sink = require("pyarrow", "writing NDJSON").output_stream(sink)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        self._sink.write(json_lines(batch))

    def close(self) -> None:
        self._sink.close()


def _parquet(sink: Any, schema: pa.Schema) -> Any:
    return require("pyarrow.parquet", "writing Parquet").ParquetWriter(sink, schema, compression=COMPRESSION)


def _arrow_file(sink: Any, schema: pa.Schema) -> Any:
    return require("pyarrow.ipc", "writing Arrow").new_file(sink, schema)


def _arrow_stream(sink: Any, schema: pa.Schema) -> Any:
    return require("pyarrow.ipc", "writing Arrow").new_stream(sink, schema)


@dataclass(frozen=True)
class Format:
    """A kind of file."""

    name: str
    #: Make an object with `write_batch` and `close` for a file, and for a stream if this kind can be one.
    open_file: Callable[[Any, pa.Schema], Any]
    open_stream: Callable[[Any, pa.Schema], Any] | None
    #: The values that it cannot represent (`gaps.refuse`).
    gaps: dict[str, Any] = field(default_factory=dict)
    #: What ends a stream that is incomplete, where a reader would take its end for the end of the result.
    incomplete: bytes = b""
    #: Whether it keeps UUIDs, JSON and geometries as what they are.
    keeps_types: bool = False

    def checked(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches, of which none has a value that this kind of file cannot represent."""
        table = require("pyarrow", f"writing {self.name}").Table
        for batch in batches:
            if self.gaps:
                refuse(table.from_batches([batch]), self.name, _WAY_OUT, **self.gaps)
            yield batch


#: The codec of Parquet files.
COMPRESSION = "zstd"
#: pyarrow writes years of 16 bits as text.
_TEXT_GAPS = {"midnight": True, "years": (-32_766, 32_766)}
#: Parquet lacks seconds, which pyarrow writes as milliseconds. An Arrow stream may end without a mark, so the beginning
#: of a message that never comes makes the reader fail.
FORMATS = {
    "parquet": Format("Parquet", _parquet, None, {"seconds": True}, keeps_types=True),
    "csv": Format("CSV", _Csv, _Csv, _TEXT_GAPS),
    "arrow": Format("Arrow", _arrow_file, _arrow_stream, incomplete=b"\xff\xff\xff\xff\x10\x00\x00\x00"),
    "ndjson": Format("NDJSON", _JsonLines, _JsonLines, _TEXT_GAPS),
}
#: The formats by the end of a file's name.
SUFFIXES = {".parquet": "parquet", ".csv": "csv", ".arrow": "arrow", ".ndjson": "ndjson", ".jsonl": "ndjson"}
#: The formats that a pipe can carry.
STREAMS = [name for name, kind in FORMATS.items() if kind.open_stream is not None]
_WAY_OUT = "cast the column to text in the query"


def format_of(path: Path) -> str:
    """The name of the format of a file with this name."""
    try:
        return SUFFIXES[path.suffix.lower()]
    except KeyError:
        raise InterfaceError(f"{path} does not end in one of {', '.join(SUFFIXES)}") from None


def write(path: Path, kind: Format, schema: pa.Schema, batches: Iterable[Any]) -> None:
    """Writes a temporary file in the same directory, and renames it when all data is on disk."""
    with new_file(path) as temporary:
        # pyarrow's writers of CSV and Arrow keep a file open that they were given by its name. Windows does not rename
        # open files.
        with (
            _closing(require("pyarrow", f"writing {kind.name}").OSFile(os.fspath(temporary), "wb")) as file,
            _closing(kind.open_file(file, schema)) as sink,
        ):
            for batch in kind.checked(batches):
                sink.write_batch(batch)
        flush_to_disk(temporary)


def write_stream(file: BinaryIO, kind: Format, schema: pa.Schema, batches: Iterable[Any]) -> None:
    """Writes to a pipe or a terminal, each batch as it arrives, and closes it. After an error, the stream does not end
    as a complete one does, if its format has a mark for the end."""
    if kind.open_stream is None:
        raise InterfaceError(f"{kind.name} cannot be written to a pipe: write one of {', '.join(STREAMS)}, or a file")
    pa = require("pyarrow", f"writing {kind.name}")
    try:
        sink = kind.open_stream(pa.PythonFile(file, "w"), schema)
        for batch in kind.checked(batches):
            sink.write_batch(batch)
            file.flush()
    except BrokenPipeError:
        raise
    except BaseException:
        with suppress(OSError):
            file.write(kind.incomplete)
            file.flush()
        raise
    sink.close()
    if not file.closed:
        file.close()


@contextmanager
def _closing(sink: Any) -> Iterator[Any]:
    """Closes the writer. An error that ended the writing is more important than one of closing."""
    try:
        yield sink
    except BaseException:
        with suppress(Exception):
            sink.close()
        raise
    sink.close()
