"""Runs functions in Python on lineitem in `colonnade serve`, compared with the same question in plain SQL, DuckDB's own
functions in Python, and PL/Python in PostgreSQL.

    python docs/demo/demo_functions.py [--scale 1]

A table shows the CPU time of the server and its function processes for each row of lineitem. The answers are compared
with those of plain SQL. PL/Python gets `PLPYTHON_ROWS` rows, because it takes them one by one. `make demo-functions`
installs what this needs and runs it.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import colonnade
import duckdb
import psycopg
import pyarrow as pa
import pyarrow.compute as pc
from demo import generate

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
sys.path.insert(0, str(Path(__file__).parents[2]))

from process import cpu_seconds

from tests.testbed import postgres as pg
from tests.testbed.serving import function_options, serve

#: The rows for PL/Python.
PLPYTHON_ROWS = 200_000


@dataclass(frozen=True)
class Question:
    """One question, asked in several ways. `{0}` is the table."""

    name: str
    #: The functions of `colonnade serve`.
    create: str
    ask: str
    #: The question in plain SQL.
    plain: str
    #: The function of PL/Python, and how to call it.
    plpython: tuple[str, str] | None = None
    #: The function for DuckDB's `create_function(type="arrow")`, its types, and how to call it.
    arrow: tuple[Callable[..., Any], list[str], str, str] | None = None


def hundredths(keys: pa.ChunkedArray) -> Any:
    return pc.subtract(keys, pc.multiply(pc.divide(keys, 100), 100))


QUESTIONS = [
    Question(
        "scalar",
        "CREATE FUNCTION hundredths(key BIGINT) RETURNS BIGINT LANGUAGE PYTHON_MAP STRICT AS $$ return key % 100 $$",
        "SELECT sum(hundredths(l_orderkey)) FROM {0}",
        "SELECT sum(l_orderkey % 100) FROM {0}",
        (
            "CREATE FUNCTION hundredths(key bigint) RETURNS bigint LANGUAGE plpython3u AS $$ return key % 100 $$",
            "SELECT sum(hundredths(l_orderkey)) FROM {0}",
        ),
        (hundredths, ["BIGINT"], "BIGINT", "SELECT sum(hundredths(l_orderkey)) FROM {0}"),
    ),
    Question(
        "aggregate, 3 groups",
        """CREATE AGGREGATE middle(x DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON AS $$
order = numpy.lexsort((x, aggr_group))
count = numpy.bincount(aggr_group)
first = numpy.cumsum(count) - count
return (x[order][first + (count - 1) // 2] + x[order][first + count // 2]) / 2
$$""",
        "SELECT l_returnflag, middle(l_extendedprice::DOUBLE) FROM {0} GROUP BY 1 ORDER BY 1",
        "SELECT l_returnflag, median(l_extendedprice::DOUBLE) FROM {0} GROUP BY 1 ORDER BY 1",
        (
            "CREATE FUNCTION middle(x float8[]) RETURNS float8 LANGUAGE plpython3u AS $$\n"
            "import statistics\nreturn statistics.median(x)\n$$",
            "SELECT l_returnflag, middle(array_agg(l_extendedprice::float8)) FROM {0} GROUP BY 1 ORDER BY 1",
        ),
    ),
    Question(
        "table function",
        """CREATE FUNCTION expensive(flag VARCHAR, price DOUBLE) RETURNS TABLE (price DOUBLE) LANGUAGE PYTHON AS $$
return {'price': price[price > price.mean() + 2 * price.std()]}
$$""",
        "SELECT count(*) FROM expensive((SELECT l_returnflag, l_extendedprice::DOUBLE FROM {0}))",
        "SELECT count(*) FROM {0} WHERE l_extendedprice::DOUBLE > (SELECT avg(l_extendedprice::DOUBLE) + "
        "2 * stddev_pop(l_extendedprice::DOUBLE) FROM {0})",
    ),
    Question(
        "map and reduce",
        """CREATE FUNCTION largest_of_part(x DOUBLE) RETURNS TABLE (x DOUBLE) LANGUAGE PYTHON_MAP AS $$
return {'x': numpy.array([x.max()])}
$$;
CREATE FUNCTION largest(x DOUBLE) RETURNS TABLE (x DOUBLE) LANGUAGE PYTHON AS $$
return {'x': numpy.array([x.max()])}
$$""",
        "SELECT x FROM largest((SELECT x FROM largest_of_part((SELECT l_extendedprice::DOUBLE FROM {0}))))",
        "SELECT max(l_extendedprice::DOUBLE) FROM {0}",
    ),
    Question(
        "loopback",
        """CREATE FUNCTION above_average(price DOUBLE) RETURNS TABLE (price DOUBLE) LANGUAGE PYTHON AS $$
mean = _conn.execute('SELECT avg(l_extendedprice::DOUBLE) AS mean FROM lineitem')['mean'][0]
return {'price': price[price > mean]}
$$""",
        "SELECT count(*) FROM above_average((SELECT l_extendedprice::DOUBLE FROM {0}))",
        "SELECT count(*) FROM {0} WHERE l_extendedprice::DOUBLE > (SELECT avg(l_extendedprice::DOUBLE) FROM lineitem)",
    ),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", default="1", help="TPC-H scale factor: 1 is 6 million rows (default: 1)")
    arguments = parser.parse_args()
    database = generate(arguments.scale)
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        # The functions are stored in the database.
        copy = Path(directory) / "lineitem.duckdb"
        shutil.copy(database, copy)
        arrow = arrow_costs(copy)
        plpython = plpython_costs(copy)
        same = served(copy, arrow, plpython)
    if not all(same):
        sys.exit("error: an answer differs from that of plain SQL")


def served(database: Path, arrow: dict[str, float], plpython: dict[str, float]) -> list[bool]:
    """Asks the server each question in both ways, and prints the table."""
    same = []
    with (
        serve(database, "--listen", "127.0.0.1:0", *function_options()) as server,
        colonnade.connect(f"postgresql://tester@{server.host}:{server.port}/lineitem") as connection,
    ):
        rows = connection.query("SELECT count(*) FROM lineitem").to_arrow().column(0)[0].as_py()
        print(f"\nCPU of the server and its workers, ns for each of {rows:,} rows of lineitem\n")
        print(f"{'':22}{'plain SQL':>10}{'Python':>9}{'DuckDB arrow':>14}{'PL/Python':>11}  same answer")
        for question in QUESTIONS:
            connection.execute(question.create)
            answers, costs = [], []
            for sql in (question.plain, question.ask):
                answer, cost = fastest(lambda sql=sql: ask(connection, sql), lambda: cpu_seconds(server.process.pid))
                answers.append(answer)
                costs.append(cost / rows)
            same.append(answers[0] == answers[1])
            others = [costs_of.get(question.name) for costs_of in (arrow, plpython)]
            shown = [f"{cost * 1e9:.1f}" if cost else "-" for cost in [*costs, *others]]
            verdict = "yes" if same[-1] else "NO"
            print(f"{question.name:22}{shown[0]:>10}{shown[1]:>9}{shown[2]:>14}{shown[3]:>11}  {verdict}", flush=True)
    return same


def ask(connection: colonnade.Connection, sql: str) -> list[tuple[Any, ...]]:
    table = connection.query(sql.format("lineitem")).to_arrow()
    return [tuple(row.values()) for row in table.to_pylist()]


def fastest(run: Callable[[], Any], clock: Callable[[], float], repeats: int = 3) -> tuple[Any, float]:
    """The answer, and the least of the CPU seconds."""
    costs, answer = [], None
    for _ in range(repeats):
        before = clock()
        answer = run()
        costs.append(clock() - before)
    return answer, min(costs)


def arrow_costs(database: Path) -> dict[str, float]:
    """CPU seconds a row of DuckDB's functions over Arrow, in a process of DuckDB's own."""
    found = {}
    with duckdb.connect(str(database), read_only=True) as connection:
        [(rows,)] = connection.execute("SELECT count(*) FROM lineitem").fetchall()
        for question in QUESTIONS:
            if question.arrow is not None:
                function, types, result, sql = question.arrow
                connection.create_function(function.__name__, function, types, result, type="arrow")
                _, cost = fastest(
                    lambda sql=sql: connection.execute(sql.format("lineitem")).fetchall(), time.process_time
                )
                found[question.name] = cost / rows
    return found


@contextmanager
def with_lineitem(database: Path) -> Iterator[psycopg.Connection]:
    """A private PostgreSQL with a part of lineitem."""
    with duckdb.connect(str(database), read_only=True) as own, pg.cluster(pg.stock()) as cluster:
        part = own.sql(f"SELECT * FROM lineitem LIMIT {PLPYTHON_ROWS}").to_arrow_table()
        colonnade.write_sql(part, cluster.uri(), "lineitem")
        with cluster.connect() as session:
            session.autocommit = True
            session.execute("CREATE EXTENSION plpython3u")
            yield session


def plpython_costs(database: Path) -> dict[str, float]:
    """CPU seconds a row of PL/Python, in a backend of PostgreSQL."""
    found = {}
    with with_lineitem(database) as session:
        backend = session.info.backend_pid
        for question in QUESTIONS:
            if question.plpython is not None:
                create, sql = question.plpython
                session.execute(create)
                statement = sql.format("lineitem")
                _, cost = fastest(
                    lambda statement=statement: session.execute(statement).fetchall(), lambda: cpu_seconds(backend)
                )
                found[question.name] = cost / PLPYTHON_ROWS
    return found


if __name__ == "__main__":
    main()
