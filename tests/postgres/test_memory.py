"""Memory that the kernel refuses to a backend: an error of its statement, and nothing else.

COLONNADE_MEMORY_LIMITS says how many limits are tried for each statement, between none and enough (default 4).
pg/encoder/tests/memory.rs refuses each allocation of the encoder; here it is whole backends, with all they allocate.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.postgres.copying import COLONNADE, send
from tests.testbed import postgres as pg

LIMITS = int(os.environ.get("COLONNADE_MEMORY_LIMITS", "4"))
PAGE = 4096
MB = 1 << 20

#: A limit of prlimit, and the line of a process's status that it is about.
KINDS = {"as": "VmSize", "data": "VmData"}


def many(count: int, *expressions: str) -> str:
    return ", ".join(expression.format(k) for k in range(count) for expression in expressions)


STATEMENTS = {
    "1500 texts": (f"select {many(1500, 'md5(i::text) as t{}')} from generate_series(1, 200) i", "compression light"),
    "300 columns": (
        f"select {many(150, 'i * {0} as i{0}', 'md5((i * {0})::text) as t{0}')} from generate_series(1, 3000) i",
        "compression light",
    ),
    "symbols": (
        "select md5(i::text) || ' and text ' || i as t, i from generate_series(1, 60000) i",
        "compression 'light+fsst'",
    ),
    "small chunks": (
        "select i, i::bigint * 7 as b, i::float8 / 3 as f, (i % 5)::text as t, md5(i::text) as m, i % 2 = 0 as o, "
        "i::numeric(12, 2) as n, now() as d, array[i, i + 1] as a from generate_series(1, 20000) i",
        "compression light, chunk_rows 1000",
    ),
    "zstd": ("select i, md5(i::text) as m from generate_series(1, 50000) i", "compression 'light+zstd-19'"),
    "trials": ("select i, md5(i::text) as m, i % 9 as r from generate_series(1, 200000) i", "compression auto"),
}


@pytest.fixture(scope="module")
def cluster(installation: pg.Installation) -> Iterator[pg.Cluster]:
    """One of its own: a backend that dies takes all others with it."""
    with pg.extended(installation) as running:
        yield running


def limit(pid: int, kind: str, more: int) -> None:
    """Leaves a process `more` bytes beyond what it has. It may raise the limit again."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    has = next(int(line.split()[1]) * 1024 for line in status if line.startswith(KINDS[kind] + ":"))
    prlimit(pid, f"--{kind}={has + more}:")


def prlimit(pid: int, what: str) -> None:
    subprocess.run(["prlimit", "--pid", str(pid), what], check=True, preexec_fn=pg.drop_root())


def copy(session: psycopg.Connection, which: str) -> str | None:
    """The SQLSTATE that the statement ends with; None if it succeeds."""
    query, options = STATEMENTS[which]
    try:
        with session.cursor() as cursor, cursor.copy(f"copy ({query}) {COLONNADE}, {options})") as stream:
            for _ in stream:
                pass
    except psycopg.Error as error:
        return error.sqlstate or "lost"
    return None


def attempt(cluster: pg.Cluster, which: str, kind: str, more: int) -> str | None:
    with cluster.connect() as session:
        session.execute("select colonnade_version()")
        limit(session.info.backend_pid, kind, more)
        state = copy(session, which)
        assert session.execute("select 1").fetchone() == (1,), "the session did not outlive its error"
        return state


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("which", STATEMENTS)
def test_a_limit_ends_the_statement_alone(cluster: pg.Cluster, which: str, kind: str) -> None:
    with cluster.connect() as witness:
        enough = MB
        while state := attempt(cluster, which, kind, enough):
            assert state == "53200"
            enough *= 2
        states = [attempt(cluster, which, kind, enough * number // LIMITS // PAGE * PAGE) for number in range(LIMITS)]
        assert set(states) <= {None, "53200"}
        assert "53200" in states
        assert witness.execute("select 1").fetchone() == (1,), "the server was lost"


RECEIVED = {
    "fsst": "select i, md5(i::text) || ' and text ' || i as t from generate_series(1, 100000) i",
    "zstd-3": "select i, md5(i::text) as t from generate_series(1, 100000) i",
    "one row": "select 1 as i, repeat('x', 50000000) as t",
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("which", RECEIVED)
def test_a_limit_ends_copy_from_alone(cluster: pg.Cluster, which: str, kind: str) -> None:
    compression = f"light+{which}" if which != "one row" else "plain"
    with cluster.connect() as witness:
        witness.execute(
            "drop table if exists received; create table received (i int, t text); select colonnade_version()"
        )
        with (
            witness.cursor() as cursor,
            cursor.copy(f"copy ({RECEIVED[which]}) {COLONNADE}, compression '{compression}')") as copy,
        ):
            stream = b"".join(bytes(piece) for piece in copy)

        def received(more: int) -> str | None:
            with cluster.connect() as session:
                session.execute("select colonnade_version()")
                limit(session.info.backend_pid, kind, more)
                try:
                    send(session, "copy received from stdin (format colonnade) where i < 0", [stream])
                except psycopg.Error as error:
                    assert session.execute("select 1").fetchone() == (1,), "the session did not outlive its error"
                    return error.sqlstate or "lost"
                return None

        enough = MB
        while state := received(enough):
            assert state == "53200"
            enough *= 2
        states = [received(enough * number // LIMITS // PAGE * PAGE) for number in range(LIMITS)]
        assert set(states) <= {None, "53200"}
        assert "53200" in states
        assert witness.execute("select 1").fetchone() == (1,), "the server was lost"


def test_a_limit_when_the_library_is_loaded(cluster: pg.Cluster) -> None:
    """The loader's own errors are 58P01."""
    with cluster.connect() as witness:
        states = set()
        for number in range(8 * LIMITS):
            with cluster.connect() as session:
                limit(session.info.backend_pid, "as", number * 5 * MB // (8 * LIMITS) // PAGE * PAGE)
                try:
                    session.execute("select colonnade_version()")
                    states.add(None)
                except psycopg.Error as error:
                    states.add(error.sqlstate or "lost")
        assert None in states
        assert states <= {None, "53200", "58P01"}
        assert witness.execute("select 1").fetchone() == (1,), "the server was lost"


def parallel(cluster: pg.Cluster, more: int) -> str | None:
    """The SQLSTATE of a parallel COPY; leader and workers have the limits of the postmaster, which forks them."""
    limit(cluster.process.pid, "as", more)
    try:
        with cluster.connect() as session, session.cursor() as cursor:
            session.execute("set min_parallel_table_scan_size = 0; select colonnade_version()")
            with cursor.copy(f"copy wide {COLONNADE}, parallel on, compression 'light+zstd-9')") as stream:
                for _ in stream:
                    pass
    except psycopg.Error as error:
        return error.sqlstate or "lost"
    finally:
        prlimit(cluster.process.pid, "--as=unlimited:")
    return None


def test_a_limit_on_parallel_workers(cluster: pg.Cluster) -> None:
    with cluster.connect() as witness:
        witness.execute("create table wide as select i, md5(i::text) as t from generate_series(1, 200000) i")
        witness.execute("analyze wide")
        enough = 4 * MB
        while parallel(cluster, enough) is not None:
            enough *= 2
            assert enough < 4096 * MB
        states = {parallel(cluster, enough * number // (3 * LIMITS) // PAGE * PAGE) for number in range(3 * LIMITS)}
        # A session that cannot even begin has no SQLSTATE at its client; all others do.
        assert states <= {None, "53200", "58P01", "lost"}
        assert "53200" in states
        assert witness.execute("select 1").fetchone() == (1,), "the server was lost"
