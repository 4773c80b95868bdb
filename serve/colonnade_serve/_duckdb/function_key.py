"""The key with which a server signs functions: a file next to the database, which only its owner can read."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

KEY_BYTES = 32


def key_path(database: str) -> Path:
    """The file with the key of a database file."""
    path = Path(database)
    return path.with_name(path.name + ".udf-key")


def server_key(database: str | None, *, make: bool) -> bytes | None:
    """The key of a database file, which is made if it is missing and `make` is set; else None. A database in memory
    gets a new key, because it ends with the process."""
    if database is None:
        return secrets.token_bytes(KEY_BYTES)
    path = key_path(database)
    key = read_key(path)
    if key is None and make:
        write_key(path)
        key = read_key(path)
    return key


def read_key(path: Path) -> bytes | None:
    """The key in a file; None if there is no file. OSError or ValueError if the file cannot be used."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    # As bytes: a codec is a module, which this process may not read any more.
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or stat.S_IMODE(status.st_mode) & 0o077:
            raise ValueError(f"{path} can be read or changed by others; protect it: chmod 600 {path}")
        text = file.read(4 * KEY_BYTES).strip()
    try:
        key = bytes.fromhex(text.decode())
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise ValueError(f"{path} is no key: it has {KEY_BYTES} bytes in hexadecimal; remove it to make a new one")
    return key


def write_key(path: Path) -> None:
    """Make a key, unless another process makes one at the same time. The file is complete when it gets its name."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_hex(KEY_BYTES).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
