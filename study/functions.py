"""Chapter 4 of the thesis: the modulo of a column of integers, by the database's own operator and by functions in
Python."""

from __future__ import annotations

import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import colonnade
import duckdb
import numpy as np
import psycopg
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[1]))

from study.experiment import Context, Experiment, Finding, Part, Plot, Row, Table, Text
from study.medians import cell, median, names, ratio, span
from tests.testbed import postgres as pg
from tests.testbed.serving import function_options, serve

#: The thesis: 1 GB of integers of 32 bits between 0 and 2^31, modulo 100.
ROWS = 250_000_000
#: Rows of functions that take one value at a time, at most.
SLOW_ROWS = 1_000_000
BUILT_IN = "SELECT sum(x % 100) FROM numbers"
FUNCTION = "SELECT sum(f(x)) FROM numbers"
#: The thesis's figure 4-6: the column is read by a query within the function, and computed at once.
VECTORIZED = """CREATE FUNCTION total() RETURNS bigint LANGUAGE plpython3u AS $$
import numpy
read = plpy.cursor('SELECT x FROM numbers')
total = 0
while rows := read.fetch(100000):
    total += int((numpy.array([row['x'] for row in rows], dtype=numpy.int32) % 100).sum())
return total
$$"""


@dataclass(frozen=True)
class System:
    """A database, and a way to compute the modulo in it."""

    database: str
    way: str
    query: str = FUNCTION
    #: Whether the interpreter is entered for each value.
    is_slow: bool = False

    @property
    def name(self) -> str:
        return f"{self.database}, {self.way}"


SYSTEMS = [
    System("DuckDB", "built-in", BUILT_IN),
    System("DuckDB", "create_function over Arrow", "SELECT sum(vectorized(x)) FROM numbers"),
    System("DuckDB", "create_function, value by value", "SELECT sum(single(x)) FROM numbers", is_slow=True),
    System("colonnade serve", "built-in", BUILT_IN),
    System("colonnade serve", "PYTHON_MAP"),
    System("PostgreSQL", "built-in", BUILT_IN),
    System("PostgreSQL", "PL/Python", is_slow=True),
    System("PostgreSQL", "PL/Python, vectorized", "SELECT total()", is_slow=True),
    System("SQLite", "built-in", BUILT_IN),
    System("SQLite", "create_function", is_slow=True),
]
#: Who executes a query and returns its only value.
Ask = Callable[[str], int]


class Missing(Exception):
    """The database cannot run a function here; the message has the reason."""


def run(context: Context) -> list[Row]:
    count = min(context.size.rows, ROWS)
    numbers = np.random.default_rng(100).integers(0, 2**31, count, dtype=np.int32)
    found: list[Row] = []
    for database, begin in DATABASES.items():
        systems = [system for system in SYSTEMS if system.database == database]
        # A table of few rows for the slow ones.
        for is_slow in dict.fromkeys(system.is_slow for system in systems):
            part = numbers[:SLOW_ROWS] if is_slow else numbers
            expected = int((part % 100).sum(dtype=np.int64))
            context.say(f"starting {database} …")
            with begin(pa.table({"x": part})) as ask:
                wanted = [system for system in systems if system.is_slow == is_slow]
                found += [
                    row for _ in range(context.size.short_rounds) for row in readings(ask, wanted, part, expected)
                ]
    return found


def readings(ask: Ask, systems: list[System], part: Any, expected: int) -> Iterator[Row]:
    """One reading of each system, in turns, after one that is not counted."""
    for system in systems:
        for is_counted in (False, True):
            begun = time.perf_counter()
            try:
                answer = ask(system.query)
            except Missing as reason:
                yield {"system": system.name, "rows": len(part), "error": str(reason)}
                break
            wall = time.perf_counter() - begun
            if answer != expected:
                raise RuntimeError(f"{system.name} gives {answer}, not {expected}")
            if is_counted:
                yield {"system": system.name, "rows": len(part), "wall": wall, "nanoseconds": wall / len(part) * 1e9}


@contextmanager
def in_duckdb(table: pa.Table) -> Iterator[Ask]:
    with duckdb.connect() as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE numbers AS FROM given")
        types: list[Any] = ["INTEGER"]
        connection.create_function("vectorized", of_column, types, "INTEGER", type="arrow")  # type: ignore[arg-type]
        connection.create_function("single", lambda x: x % 100, types, "INTEGER")  # type: ignore[arg-type]
        yield lambda query: connection.execute(query).fetchall()[0][0]


def of_column(column: Any) -> pa.Array:
    values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return pa.array(values.to_numpy() % 100, pa.int32())


@contextmanager
def in_serve(table: pa.Table) -> Iterator[Ask]:
    with ExitStack() as stack:
        server = stack.enter_context(serve("--listen", "127.0.0.1:0", *function_options()))
        uri = f"postgresql://tester@{server.host}:{server.port}/"
        connection = stack.enter_context(colonnade.connect(uri))
        colonnade.write_sql(table, connection, "numbers")
        connection.execute("CREATE FUNCTION f(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return x % 100 $$")
        yield lambda query: int(connection.query(query).to_arrow().column(0)[0].as_py())


@contextmanager
def in_postgres(table: pa.Table) -> Iterator[Ask]:
    with pg.cluster(pg.stock()) as cluster:
        colonnade.write_sql(table, cluster.uri(), "numbers")
        with cluster.connect() as session:
            session.autocommit = True
            missing = None
            try:
                session.execute("CREATE EXTENSION plpython3u")
                session.execute("CREATE FUNCTION f(x int) RETURNS int LANGUAGE plpython3u AS $$ return x % 100 $$")
                session.execute(VECTORIZED)
            except psycopg.Error:
                missing = Missing("PL/Python is not installed: apt-get install postgresql-plpython3-15 python3-numpy")
            session.execute("VACUUM ANALYZE numbers")

            def ask(query: str) -> int:
                if missing and query != BUILT_IN:
                    raise missing
                try:
                    [(answer,)] = session.execute(query).fetchall()  # type: ignore[call-overload]
                except psycopg.Error as error:
                    raise Missing(str(error).partition("\n")[0]) from error
                return int(answer)

            yield ask


@contextmanager
def in_sqlite(table: pa.Table) -> Iterator[Ask]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE numbers (x INTEGER)")
        connection.executemany("INSERT INTO numbers VALUES (?)", ((x,) for x in table.column("x").to_pylist()))
        connection.create_function("f", 1, lambda x: x % 100, deterministic=True)
        yield lambda query: connection.execute(query).fetchone()[0]


DATABASES = {"DuckDB": in_duckdb, "colonnade serve": in_serve, "PostgreSQL": in_postgres, "SQLite": in_sqlite}


def show(rows: list[Row]) -> list[Part]:
    lines = []
    for system in SYSTEMS:
        if system.name in names(rows):
            own = median(rows, "nanoseconds", system=f"{system.database}, built-in")
            times = ratio(median(rows, "nanoseconds", system=system.name), own)
            lines.append([system.name, cell(rows, "nanoseconds", system=system.name), times])
    return [
        Table("Modulo 100 of a column of integers", ["", "ns a row", "times the database's own operator"], lines),
        Plot("Modulo 100 of a column of integers, ns a row (logarithmic)", lambda axes: draw(axes, rows)),
        Text(
            "The thesis's figures 4-1, 4-5 and 4-6 have no numbers in its text. It computed the modulo of 1 GB of "
            "integers. Functions that take one value at a time get a million rows here. MonetDB is not run. The query "
            "sums the results, so that no result is sent."
        ),
    ]


def draw(axes: Any, rows: list[Row]) -> None:
    known = [name for name in (system.name for system in SYSTEMS) if median(rows, "nanoseconds", system=name)]
    axes.barh(known[::-1], [median(rows, "nanoseconds", system=name) for name in known[::-1]])
    axes.set_xscale("log")
    axes.set_xlabel("ns a row")


def findings(rows: list[Row]) -> list[Finding]:
    def times(name: str) -> float | None:
        own = median(rows, "nanoseconds", system=f"{name.partition(', ')[0]}, built-in")
        return ratio(median(rows, "nanoseconds", system=name), own)

    single = [times(system.name) for system in SYSTEMS if system.is_slow and system.query != "SELECT total()"]
    known = [one for one in single if one is not None]
    ours, arrow = times("colonnade serve, PYTHON_MAP"), times("DuckDB, create_function over Arrow")
    slow = median(rows, "nanoseconds", system="PostgreSQL, PL/Python")
    at_once = median(rows, "nanoseconds", system="PostgreSQL, PL/Python, vectorized")
    return [
        Finding(
            "Functions in Python that take one value at a time are many times slower than the database's own operator "
            "(Figures 4-1 and 4-5).",
            f"They take {span(known)} times as long." if known else "Not measured.",
            min(known) >= 2 if known else None,
        ),
        Finding(
            "A vectorized function in Python is as fast as one in the database's own language (Figure 4-5).",
            f"In colonnade serve, where the function runs in another process, it takes {ours:.1f} times as long as the "
            f"built-in operator, and DuckDB's function over Arrow {arrow:.1f} times."
            if ours and arrow
            else "Not measured.",
            ours <= 2.5 if ours else None,
        ),
        Finding(
            "In PostgreSQL, a function that reads the whole column by a query and computes it at once is significantly "
            "faster than one that is called for each row (Figure 4-6).",
            f"It takes {at_once / slow:.2f} times as long." if slow and at_once else "Not measured.",
            at_once / slow <= 0.8 if slow and at_once else None,
        ),
    ]


EXPERIMENT = Experiment(
    title="Functions in Python inside the database",
    source="thesis, chapter 4",
    question=(
        "How much does a function in Python cost beside the database's own operator, if it takes one value at a time, "
        "and if it takes arrays? Each answer is compared with NumPy's."
    ),
    run=run,
    show=show,
    findings=findings,
)
