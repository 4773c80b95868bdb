"""Writes a directory of Parquet files, cut by the values of columns: Hive's layout, by pyarrow.dataset."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from queue import Empty, Full, Queue
from threading import Event, Thread
from traceback import clear_frames
from typing import TYPE_CHECKING, Any
from weakref import finalize

from colonnade._errors import DataError, InterfaceError, NotSupportedError
from colonnade._files import naming, part_of, target, umask
from colonnade._libraries import require
from colonnade._system.disk import flush_to_disk, replace

from .gaps import PYTHON_YEARS, refuse
from .output import COMPRESSION, FORMATS

if TYPE_CHECKING:
    import pyarrow as pa

#: The directory of NULL, which no text may have as its value.
_NULL = "__HIVE_DEFAULT_PARTITION__"
#: The batches that wait for the writing thread.
_AHEAD = 2
#: The rows that are kept until they are written as a row group, for each of the files that are open. If there are more
#: values than open files, a value has several files.
_GROUP_ROWS = 4_096
_OPEN_FILES = 512
#: pyarrow's limit for the values of one batch. Whether a result can be written must not depend on its batches.
_MAX_VALUES = 2**31 - 1
#: Seconds that pyarrow may take to drop the batches.
_RELEASE_TIMEOUT = 10
#: Seconds between two checks of whether the other thread has ended.
_POLL = 0.1


def write_partitioned(path: Path, keys: list[str], schema: pa.Schema, batches: Iterable[Any]) -> None:
    """Writes a temporary directory next to `path`, and renames it when all data is on disk.

    The directories are `KEY=VALUE`, in the order of `keys`, which the files do not contain. A result without rows is an
    empty directory.
    """
    _check_keys(keys, schema)
    path = target(path)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InterfaceError(f"{path} exists and is not an empty directory: choose another name, or remove it")
    if not path.parent.is_dir():
        raise InterfaceError(f"{path.parent} is not a directory: make it first")
    temporary = part_of(path)
    # A signal may end this at any moment from the directory's beginning on.
    try:
        with naming(path, temporary):
            temporary.mkdir(mode=0o700)
            _write(temporary, keys, schema, batches)
        for directory, _, files in os.walk(temporary):
            for name in files:
                flush_to_disk(Path(directory, name))
            flush_to_disk(Path(directory))
        # Until now, others could not read it.
        temporary.chmod(0o777 & ~umask())
        replace(temporary, path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _check_keys(keys: list[str], schema: pa.Schema) -> None:
    """Refuses columns whose values the name of a directory does not keep."""
    types = require("pyarrow", "writing Parquet").types
    for name in keys:
        if not name or any(character in name for character in "/=%\0"):
            raise InterfaceError(
                f"--partition-by {name}: a column that names directories has a name without /, =, % and NUL:"
                " give it another name in the query"
            )
        if len(schema.get_all_field_indices(name)) != 1:
            found = "several columns" if name in schema.names else "no column"
            raise InterfaceError(f"--partition-by {name}: the result has {found} of this name: it has {schema.names}")
        kind = schema.field(name).type
        if not any(is_kind(kind) for is_kind in (types.is_integer, types.is_string, types.is_boolean, types.is_date)):
            raise NotSupportedError(
                f"column {name!r} has the type {kind}, and the name of a directory can be a text, an integer, a boolean"
                " or a date",
                hint=f"cast {name} in the query",
            )
    if len(set(keys)) != len(keys) or len(keys) == len(schema):
        raise InterfaceError("--partition-by takes each column once, and must leave one for the files")


def _checked(keys: list[str], batches: Iterable[Any]) -> Iterator[Any]:
    """The batches, of which none has a value that Parquet or the name of a directory cannot represent."""
    pa = require("pyarrow", "writing Parquet")
    compute = require("pyarrow.compute", "writing Parquet", "pyarrow")
    for batch in FORMATS["parquet"].checked(batches):
        keyed = pa.Table.from_batches([batch]).select(keys)
        refuse(keyed, "the name of a directory", "cast the column to text in the query", years=PYTHON_YEARS)
        for name, column in zip(keys, keyed.columns, strict=True):
            if not pa.types.is_string(column.type):
                continue
            if compute.any(compute.equal(column, _NULL)).as_py():
                raise DataError(f"column {name!r} has the text {_NULL}, which is the directory of NULL")
            # pyarrow ends the name of the directory there.
            if compute.any(compute.match_substring(column, "\0")).as_py():
                raise DataError(f"column {name!r} has a text with a NUL, which the name of a directory cannot contain")
        yield batch


def _write(path: Path, keys: list[str], schema: pa.Schema, batches: Iterable[Any]) -> None:
    """Reads on this thread, so that Ctrl-C ends the read, and writes on another one."""
    waiting: Queue[Any] = Queue(_AHEAD)
    is_abandoned, has_ended, is_released = Event(), Event(), Event()
    failed: list[BaseException] = []

    def received() -> Iterator[Any]:
        while not is_abandoned.is_set():
            try:
                batch = waiting.get(timeout=_POLL)
            except Empty:
                continue
            if batch is None:
                return
            yield batch
        raise InterfaceError("the result is incomplete")

    def work() -> None:
        taken = received()
        finalize(taken, is_released.set)
        try:
            _write_dataset(path, keys, schema, taken)
        except BaseException as error:
            # The frames of the traceback hold the batches too.
            clear_frames(error.__traceback__)
            failed.append(error)
        finally:
            del taken
            has_ended.set()

    def put(item: Any) -> None:
        while not has_ended.is_set():
            try:
                waiting.put(item, timeout=_POLL)
            except Full:
                continue
            return

    writer = Thread(target=work, name="colonnade-parquet", daemon=True)
    writer.start()
    try:
        for batch in _checked(keys, batches):
            put(batch)
            if failed:
                break
        put(None)
        has_ended.wait()
    finally:
        # After an error, a thread of pyarrow may still wait for a batch. A thread that uses Python's objects when the
        # interpreter ends aborts the process.
        is_abandoned.set()
        writer.join()
        is_released.wait(_RELEASE_TIMEOUT)
    if failed:
        raise failed[0]


def _write_dataset(path: Path, keys: list[str], schema: pa.Schema, batches: Iterator[Any]) -> None:
    dataset = require("pyarrow.dataset", "writing Parquet", "pyarrow")
    pa = require("pyarrow", "writing Parquet")
    parquet = dataset.ParquetFileFormat()
    dataset.write_dataset(
        batches,
        path,
        schema=schema,
        format=parquet,
        file_options=parquet.make_write_options(compression=COMPRESSION),
        partitioning=dataset.partitioning(pa.schema([schema.field(name) for name in keys]), flavor="hive"),
        existing_data_behavior="overwrite_or_ignore",
        min_rows_per_group=_GROUP_ROWS,
        max_open_files=_OPEN_FILES,
        max_partitions=_MAX_VALUES,
    )
