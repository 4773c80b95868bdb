"""Damaged streams, sent to a `colonnade serve` and to a PostgreSQL with the extension.

    python -m tests.attacks.fuzz_streams [--streams 20000] [--seed 1]

`tests/fuzz/examples/streams.rs` damages valid streams, corrects their checksums and sends them by COPY … FROM STDIN
(FORMAT colonnade). It ends with an error if a stream is not answered, if one is accepted that no reader accepts or with
other rows, if an error is an internal one, or if a process of a server has died. `make fuzz` runs it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psycopg

from tests.testbed import postgres
from tests.testbed.serving import serve

ROOT = Path(__file__).parents[2]
#: Tables of both servers: the type of each column, and its value in row `i`.
TABLES = {
    "numbers": {
        "smallint": "i % 100",
        "integer": "i % 1000 * 7919",
        "bigint": "i::bigint * 1000000007",
        "real": "i / 8.0",
        "double precision": "i / 3.0",
        "numeric(12, 3)": "i / 7.0",
        "boolean": "i % 3 = 0",
    },
    "texts": {
        "text": "'word ' || i % 7",
        "varchar": "repeat('x', (i % 50)::int) || i",
        "bytea": "('row ' || i)::bytea",
        "uuid": "('00000000-0000-0000-0000-' || lpad(i::text, 12, '0'))::uuid",
    },
    "times": {
        "date": "date '2020-01-01' + i::int",
        "time": "time '12:00' + interval '1 second' * i",
        "timestamp": "timestamp '2020-01-01' + interval '1 second' * i",
        "timestamptz": "timestamptz '2020-01-01 00:00+00' + interval '1 second' * i",
        "interval": "interval '1 second' * i",
    },
    "lists": {"integer[]": "array[i, i + 1, null]", "text[]": "array['x' || i % 5, null]"},
}
#: So many that encodings are worth it.
ROWS = 500


def query(columns: dict[str, str]) -> str:
    """The rows of a table, with NULLs."""
    items = [
        f"case when i % 11 <> {at} then ({value})::{type_} end as c{at}"
        for at, (type_, value) in enumerate(columns.items())
    ]
    return f"select {', '.join(items)} from generate_series(1, {ROWS}) r(i)"


def prepare(dsn: str, folder: Path) -> None:
    """Create the tables, and write a valid stream for each of them."""
    with psycopg.connect(dsn, autocommit=True) as session:
        for table, columns in TABLES.items():
            types = ", ".join(f"c{at} {type_}" for at, type_ in enumerate(columns))
            session.execute(f"create table {table} ({types})")
            with session.cursor().copy(f"copy ({query(columns)}) to stdout (format colonnade)") as copy:
                (folder / f"{table}.stream").write_bytes(b"".join(map(bytes, copy)))


def attack(address: str, user: str, database: str, dsn: str, streams: int, seed: int) -> None:
    with tempfile.TemporaryDirectory(prefix="colonnade-streams-") as folder:
        prepare(dsn, Path(folder))
        # It needs no sanitizer.
        command = ["cargo", "run", "--release", "--quiet", "--manifest-path", str(ROOT / "tests/fuzz/Cargo.toml")]
        command += ["--example", "streams", "--", address, user, database, folder, str(streams), str(seed)]
        begin = time.monotonic()
        # As in `make fuzz`, so that both share what is built.
        environment = {**os.environ, "RUSTC_BOOTSTRAP": "1"}
        if subprocess.run(command, check=False, env=environment).returncode != 0:
            sys.exit(f"seed {seed} has found a fault")
        print(f"  {streams} streams, seed {seed}, {time.monotonic() - begin:.0f} s", flush=True)


def attack_served(streams: int, seed: int) -> None:
    with serve("--memory", "1GB") as server:
        worker = server.worker
        attack(f"{server.host}:{server.port}", "tester", "tester", server.dsn, streams, seed)
        if server.worker != worker:
            sys.exit("the process with the engine has died")
        print(f"colonnade serve: the engine's process took {server.memory('VmHWM') >> 20} MiB at most", flush=True)


def attack_postgres(streams: int, seed: int) -> None:
    settings = {"session_preload_libraries": "colonnade"}
    with postgres.installed() as installation, postgres.extended(installation, settings) as cluster:
        user = postgres.SUPERUSER
        attack(f"127.0.0.1:{cluster.port}", user, "postgres", cluster.dsn(), streams, seed)
        log = cluster.log.read_text(errors="replace")
        crashes = [line for line in log.splitlines() if "terminated by signal" in line]
        if crashes:
            sys.exit("\n".join(crashes))
    print("PostgreSQL: no backend was terminated by a signal", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=20_000, help="for each server (default: 20000)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the damages (default: the time)")
    args = parser.parse_args()
    attack_served(args.streams, args.seed)
    attack_postgres(args.streams, args.seed)


if __name__ == "__main__":
    main()
