"""A competing system: Quack, DuckDB's own protocol, with tables in memory. It runs in the peers' interpreter, because
there is no build of it for DuckDB 2.

    python bench/quack_server.py HOST PORT PARQUET…

Each file becomes a table with the file's name. The server prints its address when it listens.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import duckdb
import duckdb_extensions

TOKEN = "bench"


def main() -> None:
    host, port, *files = sys.argv[1:]
    connection = duckdb.connect()
    # The server uses HTTP.
    for extension in ("httpfs", "quack"):
        duckdb_extensions.import_extension(extension, con=connection)
        connection.execute(f"LOAD {extension}")
    for file in files:
        connection.execute(f"CREATE TABLE {Path(file).stem} AS FROM read_parquet('{file}')")
    # Clients behind a link call the host by another address.
    connection.execute(f"CALL quack_serve('quack:{host}:{port}', token => '{TOKEN}', allow_other_hostname => true)")
    print(f"listening on {host}:{port}", flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    # Its threads do not end by themselves.
    os._exit(0)


if __name__ == "__main__":
    main()
