"""Encrypted tables at rest: AES-256-GCM over parts of an Arrow IPC stream.

    file:  magic (8)  prefix (8)  { length (4, little endian)  last (1)  ciphertext with its tag (length) } …

A part has at most `PART` bytes. Its nonce is the file's random prefix and the part's number (4 bytes, big endian).
Magic, prefix, the number and the flag `last` are authenticated with each part. So parts cannot be cut off, exchanged,
or taken from another file.
"""

from __future__ import annotations

import io
import os
import secrets
import struct
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import pyarrow as pa
    from _typeshed import ReadableBuffer
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MAGIC = b"COLUDF\x01\n"
PREFIX = 8
PART = 1 << 20
TAG = 16
HEAD = struct.Struct("<IB")
KEY_BYTES = 32


def make_key(path: Path) -> None:
    """Write a new key, which only its owner can read. Raises `FileExistsError` if there is a file."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_hex(KEY_BYTES) + "\n")


def read_key(path: Path) -> bytes:
    """Read a key. Raises `ValueError` if the file has none, or if others can read it."""
    if path.stat().st_mode & 0o077:
        raise ValueError(f"{path} can be read by other users: chmod 600 {path}")
    try:
        key = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except (ValueError, UnicodeDecodeError):
        key = b""
    if len(key) != KEY_BYTES:
        raise ValueError(f"{path} is no key of 64 hexadecimal digits; `colonnade udf key {path}` makes one")
    return key


def cipher(key: bytes) -> AESGCM:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise ImportError("encrypted inputs need cryptography: pip install 'colonnade[udf]'") from None
    return AESGCM(key)


class SealedFile(io.RawIOBase):
    """A file that encrypts what is written to it. Closing it writes the last part, and leaves the other file open."""

    def __init__(self, file: BinaryIO, seal: AESGCM) -> None:
        self._file = file
        self._seal = seal
        self._prefix = secrets.token_bytes(PREFIX)
        self._number = 0
        #: What no part has yet.
        self._rest = bytearray()
        file.write(MAGIC + self._prefix)

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        with memoryview(data) as given:
            self._rest += given
            written = given.nbytes
        # The last part, which has a flag, is not known before the end.
        while len(self._rest) > PART:
            self._write_part(PART, is_last=False)
        return written

    def close(self) -> None:
        if not self.closed:
            self._write_part(len(self._rest), is_last=True)
        super().close()

    def _write_part(self, length: int, *, is_last: bool) -> None:
        about = authenticated(self._prefix, self._number, is_last=is_last)
        with memoryview(self._rest) as rest, rest[:length] as part:
            sealed = self._seal.encrypt(nonce(self._prefix, self._number), part, about)
        del self._rest[:length]
        self._file.write(HEAD.pack(len(sealed), is_last))
        self._file.write(sealed)
        self._number += 1


def write_sealed(file: BinaryIO, schema: pa.Schema, batches: Iterable[pa.RecordBatch], key: bytes) -> None:
    """Write a table. It is encrypted in parts, as Arrow writes its batches."""
    import pyarrow as pa

    with SealedFile(file, cipher(key)) as sink, pa.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def read_sealed(path: Path, key: bytes) -> pa.Table:
    """Read a table. Raises `ValueError` if the key is wrong, or the file was changed."""
    import pyarrow as pa

    seal = cipher(key)
    from cryptography.exceptions import InvalidTag

    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise ValueError(f"{path} is no encrypted file")
        prefix = file.read(PREFIX)
        parts = []
        is_last = False
        while not is_last:
            head = file.read(HEAD.size)
            if len(prefix) != PREFIX or len(head) != HEAD.size:
                raise ValueError(f"{path} has lost its end")
            length, flag = HEAD.unpack(head)
            is_last = flag == 1
            sealed = file.read(length) if TAG <= length <= PART + TAG and flag < 2 else b""
            try:
                about = authenticated(prefix, len(parts), is_last=is_last)
                parts.append(seal.decrypt(nonce(prefix, len(parts)), sealed, about))
            except (InvalidTag, ValueError):
                raise ValueError(f"{path} was changed, or this is not its key") from None
        if file.read(1):
            raise ValueError(f"{path} has bytes behind its end")
    with pa.ipc.open_stream(b"".join(parts)) as reader:
        return reader.read_all()


def nonce(prefix: bytes, number: int) -> bytes:
    return prefix + number.to_bytes(4, "big")


def authenticated(prefix: bytes, number: int, *, is_last: bool) -> bytes:
    return MAGIC + prefix + number.to_bytes(4, "big") + bytes([is_last])
