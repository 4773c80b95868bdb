"""Functions in Python inside DuckDB's plans, compared with DuckDB's own.

    python bench/udf.py [--rows 10000000] [--rounds 5] [--markdown FILE]

Statements of one row are measured by `udf_short.py`.

CPU of this process and the function processes, in ns a row, the least of the rounds. One process has one database; all
ways take turns, so that all meet the same state of the machine. The table is one column INTEGER without NULLs.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from colonnade_serve import _core
from duckdb import DuckDBPyConnection
from process import thread_cpu_seconds

from study.functions import of_column

#: A body that takes about 145 ns a row.
SLOW = """
y = numpy.sqrt(x)
for _ in range(140):
    y = numpy.tan(y)
return y
"""


class Functions:
    """A connection whose functions run in processes of their own."""

    def __init__(self, connection: DuckDBPyConnection, isolation: str) -> None:
        self.connection = connection
        self.processes = _core.FunctionProcesses(isolation="sandbox" if isolation == "sandbox" else "process")
        ((token,),) = connection.execute("SELECT colonnade_session()").fetchall()
        self.session = _core.FunctionSession(self.processes, token)
        #: Another connection to the same database, whose functions run in this process.
        self.local = connection.cursor()
        ((token,),) = self.local.execute("SELECT colonnade_session()").fetchall()
        self.local_processes = _core.FunctionProcesses(isolation="none")
        self.local_session = _core.FunctionSession(self.local_processes, token)

    def define(self, name: str, parameters: str, result: str, source: str, kind: str = "scalar") -> None:
        identity = hashlib.sha256(f"{name}{source}{kind}".encode()).hexdigest()[:16]
        column, type_ = parameters.split()
        _core.define_function(
            identity,
            f"main.{name}",
            "scalar" if kind == "scalar" else "aggregate",
            [(column, type_, False)],
            result,
            source,
            volatility="i",
        )
        dispatcher = _core.function_dispatcher("scalar" if kind == "scalar" else "aggregate", "i")
        call = f"{dispatcher}('{identity}', colonnade_session(), {column})"
        self.connection.execute(f"CREATE OR REPLACE MACRO {name}({parameters}) AS {call}")

    def cpu(self) -> float:
        """Seconds of CPU of this process and the function processes. Not in ticks, of which a round has few."""
        return time.process_time() + sum(map(thread_cpu_seconds, self.session.process_ids))


def measure(functions: Functions, work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of CPU, and of wall time."""
    cpu, wall = functions.cpu(), time.perf_counter()
    work()
    return functions.cpu() - cpu, time.perf_counter() - wall


def drained(connection: DuckDBPyConnection, query: str) -> int:
    """Reads a result as the server does: batch by batch."""
    return sum(len(batch) for batch in connection.execute(query).to_arrow_reader(122_880))


class Capsule:
    """A running stream with Arrow's PyCapsule interface."""

    def __init__(self, capsule: object) -> None:
        self.capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.capsule


def deferred(functions: Functions, query: str) -> int:
    """Reads a result of one column whose function runs beside the plan."""
    functions.session.begin_binding(True)
    result = functions.connection._submit(query, None, "stream", 122_880)
    (call,) = functions.session.end_binding()
    stream = functions.session.call_deferred(Capsule(result.arrow_capsule()), [(0, call.id)])
    return sum(len(batch) for batch in pa.RecordBatchReader.from_stream(stream))


@dataclass(frozen=True)
class Measurement:
    """Ways to do the same, over a number of rows. The others are compared with the first one."""

    what: str
    rows: int
    ways: dict[str, Callable[[], object]]


def measurements(functions: Functions, rows: int) -> list[Measurement]:
    connection, few, some = functions.connection, rows // 50, rows // 10
    for name, count in (("n", rows), ("few", few), ("part", some)):
        numbers = f"SELECT (x * 7919 % 1000003)::INTEGER AS x FROM range({count}) t(x)"
        connection.execute(f"CREATE TABLE {name} AS {numbers}")
    functions.define("f", "x INTEGER", "INTEGER", "return x % 100")
    functions.define("same", "x INTEGER", "INTEGER", "return x")
    functions.define("slow", "x INTEGER", "DOUBLE", SLOW)
    functions.define("total", "x INTEGER", "BIGINT", "return numpy.ones(int(aggr_group[-1]) + 1)", "aggregate")

    connection.create_function("arrow_f", of_column, ["INTEGER"], "INTEGER", type="arrow")
    connection.create_function("native_f", lambda value: value % 100, ["INTEGER"], "INTEGER")

    def value(query: str) -> Callable[[], object]:
        return lambda: connection.execute(query).fetchall()

    def local(query: str) -> Callable[[], object]:
        return lambda: functions.local.execute(query).fetchall()

    def stream(query: str) -> Callable[[], object]:
        return lambda: drained(connection, query)

    def with_threads(count: int, query: str) -> Callable[[], object]:
        ((before,),) = connection.execute("SELECT current_setting('threads')").fetchall()

        def work() -> object:
            connection.execute(f"SET threads = {count}")
            try:
                return connection.execute(query).fetchall()
            finally:
                connection.execute(f"SET threads = {before}")

        return work

    def remainder(x: np.ndarray) -> np.ndarray:
        return x % 100

    def slow(x: np.ndarray) -> np.ndarray:
        # The same as SLOW.
        y = np.sqrt(x)
        for _ in range(140):
            y = np.tan(y)
        return y

    def groups(count: int, function: str) -> str:
        return f"SELECT count(c) FROM (SELECT {function}(x) AS c FROM n GROUP BY x % {count})"

    return [
        Measurement(
            "sum(f(x))",
            rows,
            {
                "built-in": value("SELECT sum(x % 100) FROM n"),
                "function": value("SELECT sum(f(x)) FROM n"),
                "function in this process": local("SELECT sum(f(x)) FROM n"),
                "identity": value("SELECT sum(same(x)) FROM n"),
                "identity in this process": local("SELECT sum(same(x)) FROM n"),
                "no function": value("SELECT sum(x) FROM n"),
                "numpy alone": alone(connection, "n", remainder),
                "DuckDB arrow": value("SELECT sum(arrow_f(x)) FROM n"),
            },
        ),
        Measurement(
            "sum(f(x)), 2 threads",
            rows,
            {
                "built-in": with_threads(2, "SELECT sum(x % 100) FROM n"),
                "function": with_threads(2, "SELECT sum(f(x)) FROM n"),
            },
        ),
        Measurement(
            "sum(f(x)), a value at a time",
            few,
            {
                "built-in": value("SELECT sum(x % 100) FROM few"),
                "DuckDB native": value("SELECT sum(native_f(x)) FROM few"),
            },
        ),
        Measurement(
            "sum(slow(x))",
            some,
            {
                "numpy alone": alone(connection, "part", slow),
                "function": value("SELECT sum(slow(x)) FROM part"),
                "function, 2 threads": with_threads(2, "SELECT sum(slow(x)) FROM part"),
            },
        ),
        Measurement(
            "SELECT f(x)",
            rows,
            {
                "built-in": stream("SELECT x % 100 FROM n"),
                "function beside the plan": lambda: deferred(functions, "SELECT f(x) FROM n"),
                "function within the plan": stream("SELECT f(x) FROM n"),
                "identity beside the plan": lambda: deferred(functions, "SELECT same(x) FROM n"),
                "DuckDB arrow": stream("SELECT arrow_f(x) FROM n"),
            },
        ),
        *(
            Measurement(
                f"{count:,} groups",
                rows,
                {"built-in": value(groups(count, "sum")), "function": value(groups(count, "total"))},
            )
            for count in (100, 100_000)
        ),
    ]


def alone(
    connection: DuckDBPyConnection, table: str, function: Callable[[np.ndarray], np.ndarray]
) -> Callable[[], None]:
    """A function's work, in arrays as long as a vector of DuckDB. A result is freed before the next one, as in a
    worker."""
    values = connection.sql(f"SELECT x FROM {table}").fetchnumpy()["x"]
    columns = np.array_split(values, len(values) // 2048)

    def work() -> None:
        for column in columns:
            _ = function(column)

    return work


def calls(isolation: str) -> list[tuple[str, float]]:
    """Seconds of the first call of a session, of its second one, and of 100 later ones each."""
    with duckdb.connect(config={"threads": 1}) as connection:
        warm = Functions(connection, isolation)
        warm.define("f", "x INTEGER", "INTEGER", "return x % 100")
        connection.execute("SELECT f(x::INTEGER) FROM range(1) t(x)").fetchall()
        _, first = measure(
            warm,
            lambda: (
                _core.FunctionSession(
                    warm.processes, connection.execute("SELECT colonnade_session()").fetchall()[0][0]
                ),
                connection.execute("SELECT f(x::INTEGER) FROM range(2) t(x)").fetchall(),
            ),
        )
        times, plain = [], []
        for _ in range(100):
            times.append(
                measure(warm, lambda: connection.execute("SELECT f(x::INTEGER) FROM range(1) t(x)").fetchall())[1]
            )
            plain.append(
                measure(warm, lambda: connection.execute("SELECT x::INTEGER % 100 FROM range(1) t(x)").fetchall())[1]
            )
        return [
            ("first call of a session, ms", first * 1e3),
            ("later call of one row, beyond the built-in's, us", float(np.median(times) - np.median(plain)) * 1e6),
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--isolation", choices=["sandbox", "process"], default="sandbox")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--markdown", type=Path)
    given = parser.parse_args()
    _core.register_functions()
    lines = [
        f"{_core.BUILD_PROFILE} build, DuckDB {duckdb.__version__}, numpy {np.__version__}, {given.threads} thread(s), "
        f"{given.rows} rows, {given.rounds} rounds",
        "",
        "| what | way | CPU ns/row | x the first | wall ns/row |",
        "|---|---|--:|--:|--:|",
    ]
    with duckdb.connect(config={"threads": given.threads}) as connection:
        functions = Functions(connection, given.isolation)
        for measured in measurements(functions, given.rows):
            best = dict.fromkeys(measured.ways, (float("inf"), float("inf")))
            for _ in range(given.rounds):
                for way, work in measured.ways.items():
                    cpu, wall = measure(functions, work)
                    best[way] = (min(best[way][0], cpu), min(best[way][1], wall))
            first, *_ = best.values()
            for way, (cpu, wall) in best.items():
                spent, passed = (seconds / measured.rows * 1e9 for seconds in (cpu, wall))
                lines.append(f"| {measured.what} | {way} | {spent:.2f} | {cpu / first[0]:.2f} | {passed:.2f} |")
    lines += ["", *(f"- {what}: {value:.2f}" for what, value in calls(given.isolation))]
    text = "\n".join(lines)
    print(text)
    if given.markdown:
        given.markdown.write_text(text + "\n")


if __name__ == "__main__":
    main()
