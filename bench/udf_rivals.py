"""`sum(x % 100)` by functions in Python of other databases, each against the database's own operator.

    python bench/udf_rivals.py [--rows 2000000] [--rounds 5] [--markdown FILE] [--json FILE]

CPU of the processes that compute, in ns a row, the least of the rounds; all ways take turns. Every engine has one
thread and the same integers of 32 bits, in a table in memory or in PostgreSQL's shared buffers. A function that takes
one value at a time gets a tenth of the rows. Each answer is compared with NumPy's.

MonetDB is not here: its Python package (monetdbe 0.11) lacks the library that runs functions in Python.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import colonnade
import duckdb
import numpy as np
import psycopg
import pyarrow as pa
from colonnade_serve import _core
from duckdb.sqltypes import DuckDBPyType
from process import thread_cpu_seconds
from turns import add_outputs, write
from udf_short import cpu

from study.functions import VECTORIZED, of_column

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.testbed import postgres as pg
from tests.testbed.serving import function_options, serve

#: The values of an array, which an aggregate of the database has made.
ARRAY = """CREATE FUNCTION remainders(x int[]) RETURNS bigint LANGUAGE plpython3u AS $$
import numpy
return int((numpy.array(x, dtype=numpy.int32) % 100).sum())
$$"""
BUILT_IN = "SELECT sum(x % 100) FROM numbers"


@dataclass(frozen=True)
class Way:
    """A statement that gives the sum, or that of the table `few`."""

    system: str
    name: str
    ask: Callable[[], object]
    #: Seconds of CPU so far of the processes that compute.
    cpu: Callable[[], float]
    rows: int
    answer: int

    def run(self) -> float:
        """CPU in ns a row."""
        before = self.cpu()
        answer = self.ask()
        spent = self.cpu() - before
        if answer != self.answer:
            raise RuntimeError(f"{self.system}, {self.name} gives {answer}, not {self.answer}")
        return spent / self.rows * 1e9


#: By the way's name.
Statements = dict[str, str]


@dataclass(frozen=True)
class Numbers:
    """The column, and its beginning for functions that take one value at a time."""

    all: np.ndarray

    @property
    def few(self) -> np.ndarray:
        return self.all[: len(self.all) // 10]

    def ways(
        self, system: str, cpu: Callable[[], float], ask: Callable[[str], object], all: Statements, few: Statements
    ) -> list[Way]:
        """The ways of a database by their statements, which read the table `numbers` or `few`."""
        return [
            Way(system, name, partial(ask, sql), cpu, len(column), int((column % 100).sum(dtype=np.int64)))
            for column, statements in ((self.all, all), (self.few, few))
            for name, sql in statements.items()
        ]


@contextmanager
def in_serve(numbers: Numbers) -> Iterator[list[Way]]:
    with ExitStack() as stack:
        server = stack.enter_context(serve("--listen", "127.0.0.1:0", "--threads", "1", *function_options()))
        session = stack.enter_context(psycopg.connect(server.dsn, autocommit=True))
        uri = f"postgresql://tester@{server.host}:{server.port}/"
        colonnade.write_sql(pa.table({"x": numbers.all}), uri, "numbers")
        session.execute("CREATE FUNCTION f(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return x % 100 $$")

        def ask(sql: str) -> object:
            [(answer,)] = session.execute(sql.encode()).fetchall()
            return int(answer)

        all = {"built-in": BUILT_IN, "PYTHON_MAP": "SELECT sum(f(x)) FROM numbers"}
        yield numbers.ways("colonnade serve", lambda: cpu(server), ask, all, {})


@contextmanager
def in_duckdb(numbers: Numbers) -> Iterator[list[Way]]:
    with duckdb.connect(config={"threads": 1}) as connection:
        for name, column in (("numbers", numbers.all), ("few", numbers.few)):
            connection.register("given", pa.table({"x": column}))
            connection.execute(f"CREATE TABLE {name} AS FROM given")
        integer = DuckDBPyType("INTEGER")
        connection.create_function("vectorized", of_column, [integer], integer, type="arrow")  # type: ignore[arg-type]
        connection.create_function("single", lambda x: x % 100, [integer], integer)

        def ask(sql: str) -> object:
            return connection.execute(sql).fetchall()[0][0]

        all = {"built-in": BUILT_IN, "create_function over Arrow": "SELECT sum(vectorized(x)) FROM numbers"}
        few = {"create_function, a value at a time": "SELECT sum(single(x)) FROM few"}
        yield numbers.ways("DuckDB", time.process_time, ask, all, few)


@contextmanager
def in_postgres(numbers: Numbers) -> Iterator[list[Way]]:
    with pg.cluster(pg.stock()) as cluster, cluster.connect() as session:
        session.autocommit = True
        for name, column in (("numbers", numbers.all), ("few", numbers.few)):
            colonnade.write_sql(pa.table({"x": column}), cluster.uri(), name)
        session.execute("VACUUM ANALYZE")
        session.execute("SET max_parallel_workers_per_gather = 0")
        session.execute("CREATE EXTENSION plpython3u")
        session.execute("CREATE FUNCTION f(x int) RETURNS int LANGUAGE plpython3u AS $$ return x % 100 $$")
        session.execute(VECTORIZED)
        session.execute(ARRAY)
        backend = session.info.backend_pid

        def ask(sql: str) -> object:
            [(answer,)] = session.execute(sql.encode()).fetchall()
            return int(answer)

        groups = (
            "SELECT array_agg(x) AS xs FROM (SELECT x, row_number() OVER () / 10000 AS g FROM numbers) t GROUP BY g"
        )
        all = {
            "built-in": BUILT_IN,
            "PL/Python, a query within the function": "SELECT total()",
            "PL/Python, arrays of 10,000 values": f"SELECT sum(remainders(xs)) FROM ({groups}) t",
        }
        few = {"PL/Python, a value at a time": "SELECT sum(f(x)) FROM few"}
        yield numbers.ways("PostgreSQL", lambda: thread_cpu_seconds(backend), ask, all, few)


@contextmanager
def in_sqlite(numbers: Numbers) -> Iterator[list[Way]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        for name, column in (("numbers", numbers.all), ("few", numbers.few)):
            connection.execute(f"CREATE TABLE {name} (x INTEGER)")
            connection.executemany(f"INSERT INTO {name} VALUES (?)", ((x,) for x in column.tolist()))
        connection.create_function("f", 1, lambda x: x % 100, deterministic=True)

        def ask(sql: str) -> object:
            return connection.execute(sql).fetchone()[0]

        few = {"create_function, a value at a time": "SELECT sum(f(x)) FROM few"}
        yield numbers.ways("SQLite", time.process_time, ask, {"built-in": BUILT_IN}, few)


def measured(rows: int, rounds: int) -> list[dict[str, object]]:
    """The database, the way, its CPU in ns a row, and how many times that of the database's own operator."""
    numbers = Numbers(np.random.default_rng(100).integers(0, 2**31, rows, dtype=np.int32))
    with ExitStack() as stack:
        ways = [
            way
            for begin in (in_serve, in_duckdb, in_postgres, in_sqlite)
            for way in stack.enter_context(begin(numbers))
        ]
        least = [float("inf")] * len(ways)
        for _ in range(rounds):
            for at, way in enumerate(ways):
                least[at] = min(least[at], way.run())
    own = {way.system: spent for way, spent in zip(ways, least, strict=True) if way.name == "built-in"}
    return [
        {"database": way.system, "way": way.name, "nanoseconds": spent, "times": spent / own[way.system]}
        for way, spent in zip(ways, least, strict=True)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    add_outputs(parser)
    given = parser.parse_args()
    results = measured(given.rows, given.rounds)
    lines = [f"{_core.BUILD_PROFILE} build, {given.rows} rows, {given.rounds} rounds", ""]
    lines += ["| database | way | CPU ns/row | x its own operator |", "|---|---|--:|--:|"]
    for one in results:
        lines.append(f"| {one['database']} | {one['way']} | {one['nanoseconds']:.2f} | {one['times']:.2f} |")
    write("\n".join(lines) + "\n", results, given)


if __name__ == "__main__":
    main()
