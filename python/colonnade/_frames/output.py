"""Writes results into files. A file gets its name only when it is complete."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colonnade._errors import InterfaceError
from colonnade._libraries import require

from .gaps import refuse

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Writer:
    """A kind of file."""

    name: str
    #: The pyarrow module, and its function that makes a writer for a path and a schema.
    module: str
    function: str
    options: dict[str, Any] = field(default_factory=dict)
    #: The values that this kind of file cannot represent (`gaps.refuse`).
    gaps: dict[str, Any] = field(default_factory=dict)

    def open(self, path: Path, schema: pa.Schema) -> Any:
        """A pyarrow writer with `write_batch`."""
        module = require(self.module, f"writing {self.name}")
        return getattr(module, self.function)(path, schema, **self.options)


#: By the end of the file's name. Parquet lacks seconds, which pyarrow writes as milliseconds. In CSV, pyarrow writes
#: years of 16 bits.
WRITERS = {
    ".parquet": Writer("Parquet", "pyarrow.parquet", "ParquetWriter", {"compression": "zstd"}, {"seconds": True}),
    ".csv": Writer("CSV", "pyarrow.csv", "CSVWriter", gaps={"midnight": True, "years": (-32_766, 32_766)}),
    ".arrow": Writer("Arrow", "pyarrow.ipc", "new_file"),
}
_WAY_OUT = "cast the column to text in the query"


def writer_of(path: Path) -> Writer:
    """The writer for a file of this name."""
    try:
        return WRITERS[path.suffix.lower()]
    except KeyError:
        raise InterfaceError(f"{path} does not end in one of {', '.join(WRITERS)}") from None


def write(path: Path, writer: Writer, schema: pa.Schema, batches: Iterable[Any]) -> None:
    """Writes a temporary file in the same directory, and renames it when all data is on disk."""
    # If the path is a link, its target is replaced.
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise InterfaceError(f"{path} exists and is not a regular file: choose another name")
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    temporary = Path(name)
    try:
        os.close(handle)
        table = require("pyarrow", f"writing {writer.name}").Table
        with writer.open(temporary, schema) as sink:
            for batch in batches:
                if writer.gaps:
                    refuse(table.from_batches([batch]), writer.name, _WAY_OUT, **writer.gaps)
                sink.write_batch(batch)
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        # mkstemp denies others to read. The file gets the permissions that the umask gives to a new file.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
