"""Results into files. Nothing half-written ever has the final name."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _convert
from ._errors import InterfaceError

if TYPE_CHECKING:
    import pyarrow as pa

#: Gives a pyarrow writer with `write_batch` for a path and a schema.
Writer = Callable[[Path, "pa.Schema"], Any]


def _parquet(path: Path, schema: pa.Schema) -> Any:
    return _convert.require("pyarrow.parquet", "writing Parquet").ParquetWriter(path, schema, compression="zstd")


def _csv(path: Path, schema: pa.Schema) -> Any:
    return _convert.require("pyarrow.csv", "writing CSV").CSVWriter(path, schema)


def _arrow(path: Path, schema: pa.Schema) -> Any:
    return _convert.require("pyarrow.ipc", "writing Arrow").new_file(path, schema)


#: By the end of the file's name.
WRITERS: dict[str, Writer] = {".parquet": _parquet, ".csv": _csv, ".arrow": _arrow}


def writer_of(path: Path) -> Writer:
    """What writes files of this name."""
    try:
        return WRITERS[path.suffix.lower()]
    except KeyError:
        raise InterfaceError(f"{path} does not end in one of {', '.join(WRITERS)}") from None


def write(path: Path, writer: Writer, schema: pa.Schema, batches: Iterable[Any]) -> None:
    """Writes beside the final name and renames when all is on disk."""
    # Through a link, what it points to is replaced.
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise InterfaceError(f"{path} exists and is not a regular file: choose another name")
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    temporary = Path(name)
    try:
        os.close(handle)
        with writer(temporary, schema) as sink:
            for batch in batches:
                sink.write_batch(batch)
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        # mkstemp lets nobody else read; a file made directly would follow the umask.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
