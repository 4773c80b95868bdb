"""Servers with the paper's small table, and real clients that read it through a recording proxy."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import colonnade
import duckdb
import machine
import psycopg
import pyarrow as pa

from study import annotate_arrow, annotate_colonnade, annotate_flight, annotate_mysql, annotate_postgres
from study.capture import Tap, tapped
from study.pieces import Annotated

sys.path.insert(0, str(machine.ROOT))

from tests.testbed import mariadb
from tests.testbed import postgres as pg
from tests.testbed.serving import serve

#: VLDB 2017, Table 2.
VALUES: list[tuple[int | None, str]] = [(100_000_000, "OK"), (None, "DPFKG")]
#: The number of times that the larger table contains each row of the small one.
TIMES = 5_000
TABLES = {"small": 1, "many": TIMES}
INSERT = "insert into small values (100000000, 'OK'), (null, 'DPFKG')"


@dataclass(frozen=True)
class Answer:
    """A server's complete answer to a question, with the function that annotates it."""

    data: bytes
    annotate: Callable[[bytes], Annotated]


@dataclass(frozen=True)
class Way:
    """A protocol: its name, and a client that reads a table with it."""

    name: str
    read: Callable[[str], Answer]


def query(table: str) -> str:
    return f"select i, v from {table}"


def tables(repeat: str) -> list[str]:
    """The statements that create the tables; `repeat` is a table of TIMES rows."""
    return [
        "create table small (i integer, v varchar(10))",
        INSERT,
        "create table many (i integer, v varchar(10))",
        f"insert into many select i, v from small cross join {repeat}",
    ]


def is_copy(asked: bytes) -> bool:
    return b"COPY (" in asked


def session(tap: Tap) -> str:
    """For psycopg, without TLS, so that the proxy can read the bytes."""
    return f"host=127.0.0.1 port={tap.port} user={pg.SUPERUSER} dbname=postgres sslmode=disable"


def selected(tap: Tap, table: str, *, binary: bool) -> Answer:
    with psycopg.connect(session(tap), autocommit=True) as connection, connection.cursor(binary=binary) as cursor:
        cursor.execute(query(table), [] if binary else None)
        cursor.fetchall()
    return Answer(tap.answer(lambda asked: query(table).encode() in asked), annotate_postgres.annotate)


def copied(tap: Tap, table: str) -> Answer:
    with psycopg.connect(session(tap), autocommit=True) as connection, connection.cursor() as cursor:
        copying = cursor.copy(f"COPY ({query(table)}) TO STDOUT (FORMAT binary)")
        with copying as copy:
            for _ in copy:
                pass
    return Answer(tap.answer(is_copy), partial(annotate_postgres.annotate, inside=annotate_postgres.copy_binary))


def columnar(tap: Tap, compression: str, table: str) -> Answer:
    uri = f"postgresql://{pg.SUPERUSER}@127.0.0.1:{tap.port}/postgres?sslmode=disable"
    with colonnade.connect(uri) as connection:
        # The first statement also loads the extension, whose answer is no part of a result.
        connection.query("select 1").to_arrow()
        connection.query(query(table), compression=compression).to_arrow()
    return Answer(tap.answer(is_copy), partial(annotate_postgres.annotate, inside=annotate_colonnade.annotate))


@contextmanager
def postgres() -> Iterator[list[Way]]:
    with pg.installed() as installation, pg.cluster(installation) as cluster, tapped("127.0.0.1", cluster.port) as tap:
        with cluster.connect() as connection:
            for statement in [*tables(f"generate_series(1, {TIMES})"), "create extension colonnade"]:
                connection.execute(statement)
        yield [
            Way("PostgreSQL, rows in text", partial(selected, tap, binary=False)),
            Way("PostgreSQL, rows in binary", partial(selected, tap, binary=True)),
            Way("PostgreSQL, COPY binary", partial(copied, tap)),
            Way("PostgreSQL, Colonnade plain", partial(columnar, tap, "plain")),
            Way("PostgreSQL, Colonnade light", partial(columnar, tap, "light")),
        ]


@contextmanager
def served() -> Iterator[list[Way]]:
    """`colonnade serve` over DuckDB."""
    with serve() as server:
        assert server.host and server.port
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            for statement in tables(f"range({TIMES})"):
                connection.execute(statement)
        with tapped(server.host, server.port) as tap:
            yield [
                Way("colonnade serve, plain", partial(columnar, tap, "plain")),
                Way("colonnade serve, light", partial(columnar, tap, "light")),
            ]


def by_program(tap: Tap, options: list[str], table: str) -> Answer:
    """MariaDB's own client, which receives rows in text."""
    program = shutil.which("mariadb")
    assert program
    command = [program, "--no-defaults", "-h127.0.0.1", f"-P{tap.port}", f"-u{mariadb.USER}", "--skip-ssl", *options]
    command += ["-D", mariadb.DATABASE, "--batch", "-e", query(table)]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "MYSQL_PWD": mariadb.PASSWORD})
    annotate = partial(annotate_mysql.annotate, capabilities=annotate_mysql.agreed(tap.conversations[-1]), form="text")
    return Answer(tap.answer(lambda asked: query(table).encode() in asked), annotate)


def prepared(tap: Tap, table: str) -> Answer:
    """Our own client, which prepares statements and receives rows in binary."""
    where = f"127.0.0.1:{tap.port}/{mariadb.DATABASE}?ssl-mode=DISABLED"
    with colonnade.connect(f"mysql://{mariadb.USER}:{mariadb.ESCAPED}@{where}") as connection:
        connection.query(query(table)).to_arrow()
    annotate = partial(
        annotate_mysql.annotate, capabilities=annotate_mysql.agreed(tap.conversations[-1]), form="binary"
    )
    return Answer(tap.answer(annotate_mysql.is_execution), annotate)


@contextmanager
def maria() -> Iterator[list[Way]]:
    with mariadb.server() as server, tapped("127.0.0.1", server.port) as tap:
        server.run(";".join([f"use {mariadb.DATABASE}", *tables(f"seq_1_to_{TIMES}")]))
        yield [
            Way("MariaDB, text", partial(by_program, tap, [])),
            Way("MariaDB, binary", partial(prepared, tap)),
            Way("MariaDB, text, compressed", partial(by_program, tap, ["--compress"])),
        ]


def batches(times: int) -> pa.Table:
    numbers, texts = zip(*VALUES, strict=True)
    columns = {"i": pa.array(numbers * times, pa.int32()), "v": pa.array(texts * times, pa.string())}
    return pa.table(columns)


def streamed(tap: Tap, table: str) -> Answer:
    with socket.create_connection(("127.0.0.1", tap.port)) as connection:
        connection.sendall(f"{table}\n".encode())
        with connection.makefile("rb") as file, pa.ipc.open_stream(file) as reader:
            reader.read_all()
            # Reads to the end of the connection, so that the stream's end is recorded.
            file.read()
    return Answer(tap.conversations[-1].answered, annotate_arrow.annotate)


@contextmanager
def ipc() -> Iterator[list[Way]]:
    """A server by pyarrow: it writes a stream to each client that names a table."""

    def answer(listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rwb") as file:
                found = batches(TABLES[file.readline().decode().strip()])
                with pa.ipc.new_stream(file, found.schema) as writer:
                    writer.write_table(found)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer, args=(listener,), daemon=True)
        thread.start()
        with tapped(*listener.getsockname()) as tap:
            yield [Way("Arrow IPC stream", partial(streamed, tap))]
        # close() alone does not wake a waiting thread.
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def got(tap: Tap, table: str) -> Answer:
    from pyarrow import flight

    with flight.connect(f"grpc://127.0.0.1:{tap.port}") as client:
        client.do_get(flight.Ticket(query(table).encode())).read_all()
    return Answer(annotate_flight.answer(tap.conversations[-1].answered), annotate_flight.annotate)


@contextmanager
def flights(scratch: Path) -> Iterator[list[Way]]:
    path = scratch / "small.duckdb"
    with duckdb.connect(path) as connection:
        for statement in tables(f"range({TIMES})"):
            connection.execute(statement)
    program = machine.ROOT / "bench/flight_server.py"
    command = [sys.executable, str(program), str(path), "65536", "grpc://127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline().rpartition(":")[2])
            with tapped("127.0.0.1", port) as tap:
                yield [Way("Arrow Flight", partial(got, tap))]
        finally:
            server.terminate()


@contextmanager
def all_of_them(scratch: Path) -> Iterator[list[Way]]:
    """All servers of this module, running at the same time."""
    with ExitStack() as stack:
        places = (postgres(), maria(), ipc(), flights(scratch), served())
        yield [way for place in places for way in stack.enter_context(place)]
