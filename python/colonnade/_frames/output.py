"""Results into files. Nothing half-written ever has the final name."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colonnade._errors import InterfaceError
from colonnade._libraries import require

from .gaps import refuse

if TYPE_CHECKING:
    import pyarrow as pa

#: Gives a pyarrow writer with `write_batch` for a path and a schema.
Writer = Callable[[Path, "pa.Schema"], Any]


#: The years that pyarrow writes into CSV: it counts them in 16 bits.
_CSV_YEARS = (-32_766, 32_766)
_WAY_OUT = "cast the column to text in the query"


class _Checked:
    """A writer that gets only the values that its file has a form for."""

    def __init__(self, writer: Any, name: str, **gaps: Any) -> None:
        self._writer = writer
        self._name = name
        self._gaps = gaps

    def write_batch(self, batch: pa.RecordBatch) -> None:
        pa = require("pyarrow", f"writing {self._name}")
        refuse(pa.Table.from_batches([batch]), self._name, _WAY_OUT, **self._gaps)
        self._writer.write_batch(batch)

    def __enter__(self) -> _Checked:
        self._writer.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._writer.__exit__(*exception)


def _parquet(path: Path, schema: pa.Schema) -> Any:
    writer = require("pyarrow.parquet", "writing Parquet").ParquetWriter(path, schema, compression="zstd")
    # Parquet has no seconds; milliseconds are written.
    return _Checked(writer, "Parquet", seconds=True)


def _csv(path: Path, schema: pa.Schema) -> Any:
    writer = require("pyarrow.csv", "writing CSV").CSVWriter(path, schema)
    return _Checked(writer, "CSV", midnight=True, years=_CSV_YEARS)


def _arrow(path: Path, schema: pa.Schema) -> Any:
    return require("pyarrow.ipc", "writing Arrow").new_file(path, schema)


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
