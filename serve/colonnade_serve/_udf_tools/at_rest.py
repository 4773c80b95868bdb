"""Tables in files that only their owner can read: Arrow IPC, or encrypted with a key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._files import new_file

from .sealed import read_sealed, write_sealed

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import pyarrow as pa


def write_table(path: Path, table: pa.Table, key: bytes | None, below: Path | None) -> None:
    """Write a file, which is encrypted with a key. It replaces one of this name as a whole. `below`: see `new_file`."""
    write_batches(path, table.schema, table.to_batches(), key, below)


def write_batches(
    path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch], key: bytes | None, below: Path | None
) -> None:
    """The same for rows that arrive while they are written. If they end with an error, no file is replaced."""
    import pyarrow as pa

    if below is None:
        path.parent.mkdir(parents=True, exist_ok=True)
    with new_file(path, below=below, mode=0o600) as new:
        if key is not None:
            with new.open("wb") as file:
                write_sealed(file, schema, batches, key)
        else:
            # Arrow writes to a path in less time than to a file of Python.
            with pa.ipc.new_file(new, schema) as writer:
                for batch in batches:
                    writer.write_batch(batch)


def read_table(path: Path, key: bytes | None, what: str) -> pa.Table:
    """Read a file. Raises `ValueError` if it is none, or the key is wrong. `what`: what the file should be."""
    import pyarrow as pa

    try:
        if key is not None:
            return read_sealed(path, key)
        with pa.memory_map(str(path)) as file:
            return pa.ipc.open_file(file).read_all()
    except pa.ArrowInvalid:
        hint = "; if it is encrypted, pass --key-file" if key is None else ""
        raise ValueError(f"{path} is no file of {what}{hint}") from None
