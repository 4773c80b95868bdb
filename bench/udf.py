"""Functions in Python inside DuckDB's plans, beside DuckDB's own ones.

    python bench/udf.py [--rows 10000000] [--rounds 5] [--markdown FILE]

Statements of one row are measured by `udf_short.py`.

CPU of this process and of the worker processes, in ns a row, the least of the rounds. One process has one database; all
ways take turns, so that all meet the same state of the machine. The table is one column INTEGER without NULLs.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from colonnade import _core
from duckdb import DuckDBPyConnection
from process import thread_cpu_seconds


class Functions:
    """A connection with functions in worker processes."""

    def __init__(self, connection: DuckDBPyConnection, isolation: str) -> None:
        self.connection = connection
        self.workers = _core.FunctionWorkers(isolation="sandbox" if isolation == "sandbox" else "process")
        ((token,),) = connection.execute("SELECT colonnade_session()").fetchall()
        self.session = _core.FunctionSession(self.workers, token)
        #: Another connection to the same database, whose functions run in this process.
        self.local = connection.cursor()
        ((token,),) = self.local.execute("SELECT colonnade_session()").fetchall()
        self.local_workers = _core.FunctionWorkers(isolation="none")
        self.local_session = _core.FunctionSession(self.local_workers, token)

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
        """Seconds of CPU of this process and the workers. Not in ticks, of which a round has few."""
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


def beside(functions: Functions, query: str) -> int:
    """Reads a result of one column whose function runs beside the plan."""
    functions.session.begin_binding(True)
    result = functions.connection._submit(query, None, "stream", 122_880)
    (call,) = functions.session.end_binding()
    stream = functions.session.beside_plan(Capsule(result.arrow_capsule()), [(0, call.id)])
    return sum(len(batch) for batch in pa.RecordBatchReader.from_stream(stream))


def queries(functions: Functions, rows: int) -> dict[str, dict[str, Callable[[], object]]]:
    """For each measurement the ways by their names."""
    connection = functions.connection
    connection.execute(f"CREATE TABLE n AS SELECT (x * 7919 % 1000003)::INTEGER AS x FROM range({rows}) t(x)")
    functions.define("f", "x INTEGER", "INTEGER", "return x % 100")
    functions.define("same", "x INTEGER", "INTEGER", "return x")
    functions.define("total", "x INTEGER", "BIGINT", "return numpy.ones(int(aggr_group[-1]) + 1)", "aggregate")

    def rest(column: pa.ChunkedArray) -> pa.Array:
        values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        return pa.array(values.to_numpy() % 100, pa.int32())

    connection.create_function("arrow_f", rest, ["INTEGER"], "INTEGER", type="arrow")
    connection.create_function("native_f", lambda value: value % 100, ["INTEGER"], "INTEGER")
    few = rows // 50
    # As long as a vector of DuckDB.
    columns = np.array_split(connection.sql("SELECT x FROM n").fetchnumpy()["x"], rows // 2048)

    def value(query: str) -> Callable[[], object]:
        return lambda: connection.execute(query).fetchall()

    def stream(query: str) -> Callable[[], object]:
        return lambda: drained(connection, query)

    return {
        "sum(f(x))": {
            "built-in": value("SELECT sum(x % 100) FROM n"),
            "function": value("SELECT sum(f(x)) FROM n"),
            "function in this process": lambda: functions.local.execute("SELECT sum(f(x)) FROM n").fetchall(),
            "identity": value("SELECT sum(same(x)) FROM n"),
            "identity in this process": lambda: functions.local.execute("SELECT sum(same(x)) FROM n").fetchall(),
            "no function": value("SELECT sum(x) FROM n"),
            "numpy alone": lambda: remainders(columns),
            "DuckDB arrow": value("SELECT sum(arrow_f(x)) FROM n"),
            f"DuckDB native, {few} rows": value(f"SELECT sum(native_f(x)) FROM (FROM n LIMIT {few})"),
        },
        "SELECT f(x)": {
            "built-in": stream("SELECT x % 100 FROM n"),
            "function beside the plan": lambda: beside(functions, "SELECT f(x) FROM n"),
            "function within the plan": stream("SELECT f(x) FROM n"),
            "identity beside the plan": lambda: beside(functions, "SELECT same(x) FROM n"),
            "DuckDB arrow": stream("SELECT arrow_f(x) FROM n"),
        },
        "100 groups": {
            "built-in": value("SELECT count(c) FROM (SELECT sum(x) AS c FROM n GROUP BY x % 100)"),
            "function": value("SELECT count(c) FROM (SELECT total(x) AS c FROM n GROUP BY x % 100)"),
        },
        "100,000 groups": {
            "built-in": value("SELECT count(c) FROM (SELECT sum(x) AS c FROM n GROUP BY x % 100000)"),
            "function": value("SELECT count(c) FROM (SELECT total(x) AS c FROM n GROUP BY x % 100000)"),
        },
    }


def remainders(columns: list[np.ndarray]) -> None:
    """The function's work, vector by vector. A result is freed before the next one, as in a worker."""
    for column in columns:
        _ = column % 100


def calls(isolation: str) -> list[tuple[str, float]]:
    """Seconds of the first call of a session, of its second one, and of 100 later ones each."""
    with duckdb.connect(config={"threads": 1}) as connection:
        warm = Functions(connection, isolation)
        warm.define("f", "x INTEGER", "INTEGER", "return x % 100")
        connection.execute("SELECT f(x::INTEGER) FROM range(1) t(x)").fetchall()
        _, first = measure(
            warm,
            lambda: (
                _core.FunctionSession(warm.workers, connection.execute("SELECT colonnade_session()").fetchall()[0][0]),
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
        "| what | way | CPU ns/row | x built-in | wall ns/row |",
        "|---|---|--:|--:|--:|",
    ]
    with duckdb.connect(config={"threads": given.threads}) as connection:
        functions = Functions(connection, given.isolation)
        for what, ways in queries(functions, given.rows).items():
            best = {way: (float("inf"), float("inf")) for way in ways}
            for _ in range(given.rounds):
                for way, work in ways.items():
                    cpu, wall = measure(functions, work)
                    best[way] = (min(best[way][0], cpu), min(best[way][1], wall))
            for way, (cpu, wall) in best.items():
                counted = given.rows // 50 if "native" in way else given.rows
                of_built_in = cpu / counted / (best["built-in"][0] / given.rows)
                lines.append(
                    f"| {what} | {way} | {cpu / counted * 1e9:.2f} | {of_built_in:.2f} | {wall / counted * 1e9:.2f} |"
                )
    lines += ["", *(f"- {what}: {value:.2f}" for what, value in calls(given.isolation))]
    text = "\n".join(lines)
    print(text)
    if given.markdown:
        given.markdown.write_text(text + "\n")


if __name__ == "__main__":
    main()
