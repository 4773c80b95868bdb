"""The lower limit of a transfer: a CSV file over a plain socket, as netcat would send it.

    python bench/csv_server.py CODEC FILES

FILES is JSON: the path and the number of rows of each table. CODEC is `none` or one of pyarrow's codecs, which
compresses each mebibyte while sending. The server prints its address when it listens. A client sends a table's name and
a line end. The answer is the file's bytes and rows (u64 each, big endian), then the file: unchanged, or in blocks, each
with its compressed and its original number of bytes (u32 each, big endian).
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

BLOCK = 1 << 20
#: Levels where Arrow's default differs from the program's.
LEVELS = {"gzip": 6}
HEAD = struct.Struct(">QQ")
BLOCK_HEAD = struct.Struct(">II")


def send(connection: socket.socket, path: Path, rows: int, codec: str) -> None:
    size = path.stat().st_size
    connection.sendall(HEAD.pack(size, rows))
    with path.open("rb") as file:
        if codec == "none":
            sent = 0
            while sent < size:
                sent += os.sendfile(connection.fileno(), file.fileno(), sent, size - sent)
            return
        compressor = pa.Codec(codec, compression_level=LEVELS.get(codec))
        while block := file.read(BLOCK):
            compressed = compressor.compress(block, asbytes=True)
            connection.sendall(BLOCK_HEAD.pack(len(compressed), len(block)) + compressed)


def answer(connection: socket.socket, files: dict[str, tuple[str, int]], codec: str) -> None:
    with connection, connection.makefile("r") as questions, suppress(ConnectionError):
        path, rows = files[questions.readline().strip()]
        send(connection, Path(path), rows, codec)


def main() -> None:
    codec, files = sys.argv[1], json.loads(sys.argv[2])
    with socket.create_server(("127.0.0.1", 0)) as server:
        print(f"listening on 127.0.0.1:{server.getsockname()[1]}", flush=True)
        while True:
            connection, _ = server.accept()
            # A client whose link was cut must not block the next client.
            threading.Thread(target=answer, args=(connection, files, codec), daemon=True).start()


if __name__ == "__main__":
    main()
