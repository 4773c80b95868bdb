"""Short statements of a server with functions in Python: what one costs that calls none, and one that calls one.

    python bench/udf_short.py [--rounds 7] [--statements 1000] [--pairs 1000] [--models] [--markdown FILE]

A server with functions and one without run at the same time and take turns. CPU is that of the threads of the server
and of its worker processes, in us a statement; time is that of the client, the median of a round. Both are the least of
the rounds, so that other work on the machine counts as little as possible.

What functions cost a statement that calls none is less than two rounds differ. So both servers run it in turns of
20 statements, the first one in each pair of turns alternating. The median of the pairs' differences is given, with the
interval that has the true median with 95 % probability (by the ranks of the differences).

`--models` needs scikit-learn, skl2onnx and onnxruntime in this interpreter, and measures the prediction of one row by a
forest of ten trees.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psycopg
from colonnade import _core
from process import thread_cpu_seconds

sys.path.insert(0, str(Path(__file__).parents[1]))
from testbed.serving import Server, children, function_options, serve

#: The features of the model.
FEATURES = [f"f{at}" for at in range(5)]
#: The statements of a turn.
TURN = 20
#: Modules that the functions of models use.
PRELOAD = "sklearn.ensemble,sklearn.pipeline,onnxruntime,skl2onnx"


@dataclass(frozen=True)
class Way:
    """A statement as a client runs it."""

    name: str
    server: Server
    connection: psycopg.Connection
    sql: str
    values: tuple[object, ...] = ()
    prepared: bool = True

    def run(self, count: int) -> tuple[float, float]:
        """Seconds of CPU of a statement, and of time at the median."""
        cursor = self.connection.cursor() if self.prepared else psycopg.ClientCursor(self.connection)
        sql, times = self.sql.encode(), []
        before = cpu(self.server)
        for _ in range(count):
            begun = time.perf_counter()
            cursor.execute(sql, self.values or None, prepare=self.prepared).fetchall()
            times.append(time.perf_counter() - begun)
        return (cpu(self.server) - before) / count, float(np.median(times))


def cpu(server: Server) -> float:
    """Seconds of CPU of the server's process and of the processes of functions."""
    return thread_cpu_seconds(server.worker) + sum(map(thread_cpu_seconds, workers(server)))


def workers(server: Server) -> Iterator[int]:
    """The processes that run functions."""
    for child in server.children:
        if b"_udf/__main__.py" in Path(f"/proc/{child}/cmdline").read_bytes():
            yield from children(child)


def measured(ways: list[Way], rounds: int, count: int) -> dict[str, tuple[float, float]]:
    """The least CPU and time of each way, in us. They take turns."""
    best = {way.name: (float("inf"), float("inf")) for way in ways}
    for way in ways:
        way.run(50)
    for _ in range(rounds):
        for way in ways:
            used, passed = way.run(count)
            best[way.name] = (min(best[way.name][0], used * 1e6), min(best[way.name][1], passed * 1e6))
    return best


def difference(plain: Way, other: Way, pairs: int) -> str:
    """A line with what the other server needs more for the same statement: CPU and time, in us."""
    found: tuple[list[float], list[float]] = ([], [])
    for pair in range(pairs):
        turns = [(way, way.run(TURN)) for way in ((plain, other) if pair % 2 else (other, plain))]
        results = {way.name: result for way, result in turns}
        for differences, before, after in zip(found, results[plain.name], results[other.name], strict=True):
            differences.append((after - before) * 1e6)
    shown = [f"{np.median(one):+.1f} | {' to '.join(f'{end:+.1f}' for end in interval(one))}" for one in found]
    return f"| {plain.name} | {' | '.join(shown)} |"


def interval(values: list[float]) -> tuple[float, float]:
    """The 95 % confidence interval of the median, of which ranks tell: no distribution is assumed."""
    half = 0.98 * len(values) ** 0.5
    last = len(values) - 1
    ordered = sorted(values)
    return ordered[max(round(last / 2 - half), 0)], ordered[min(round(last / 2 + half), last)]


def table(best: dict[str, tuple[float, float]], base: Callable[[str], str | None]) -> list[str]:
    """A line for each way. `base` names the way of which the difference is shown."""
    lines = ["| statement | CPU us | time us | more CPU | more time |", "|---|--:|--:|--:|--:|"]
    for name, (used, passed) in best.items():
        than = base(name)
        more = [f"{a - b:+.1f}" for a, b in zip((used, passed), best[than], strict=True)] if than else ["", ""]
        lines.append(f"| {name} | {used:.1f} | {passed:.1f} | {more[0]} | {more[1]} |")
    return lines


def statements(rounds: int, count: int, pairs: int) -> list[str]:
    """Statements that call no function, by two servers, and calls of one row."""
    with serve() as plain, serve(*function_options()) as other, ExitStack() as stack:
        made = [
            (server, stack.enter_context(psycopg.connect(server.dsn, autocommit=True))) for server in (plain, other)
        ]
        body = "CREATE FUNCTION f(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP IMMUTABLE AS $$ return x % 100 $$"
        made[1][1].execute(body.encode())
        ways = []
        for (server, connection), suffix in zip(made, ("", ", with --udf"), strict=True):
            ways.append(Way(f"SELECT 1, simple{suffix}", server, connection, "SELECT 1", prepared=False))
            ways.append(Way(f"SELECT 1, prepared{suffix}", server, connection, "SELECT 1"))
        one = "SELECT {} FROM (SELECT %s::INTEGER AS x)"
        ways.append(Way("x % 100 of one row, prepared", *made[1], one.format("x %% 100"), (7,)))
        ways.append(Way("f(x) of one row, prepared", *made[1], one.format("f(x)"), (7,)))
        best = measured(ways, rounds, count)
        by_name = {way.name: way for way in ways}
        same = [(way, by_name.get(f"{way.name}, with --udf")) for way in ways]
        lines = [difference(way, other, pairs) for way, other in same if other is not None]
    bases = {"f(x) of one row, prepared": "x % 100 of one row, prepared"}
    head = ["", "| statement | more CPU us with --udf | 95 % | more time us | 95 % |", "|---|--:|--:|--:|--:|"]
    return [*table(best, bases.get), *head, *lines]


def models(rounds: int, count: int) -> list[str]:
    """Predictions of one row by a model in ONNX."""
    from colonnade import ml

    with serve(*function_options(), "--udf-preload", PRELOAD) as server:
        ml.install(f"postgresql://tester@{server.host}:{server.port}/memory")
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            columns = ", ".join(f"(x * {7919 + at} % 1000)::DOUBLE AS {name}" for at, name in enumerate(FEATURES))
            query = f"CREATE TABLE t AS SELECT x AS id, {columns}, (x % 2)::INTEGER AS label FROM range(20000) t(x)"
            connection.execute(query.encode())
            names, parameters = ", ".join(FEATURES), json.dumps({"n_estimators": 10, "max_depth": 6})
            train = f"train_random_forest((SELECT {names}, label FROM t), '{parameters}', 'm', 'onnx')"
            connection.execute(f"INSERT INTO models BY NAME SELECT * FROM {train}".encode())
            row = ", ".join(f"%s::DOUBLE AS {name}" for name in FEATURES)
            given = tuple(float(at) for at in range(len(FEATURES)))
            text = json.dumps(dict(zip(FEATURES, given, strict=True)))
            ways = [
                Way("SELECT 1, prepared", server, connection, "SELECT 1"),
                Way("predict_row, prepared", server, connection, "SELECT predict_row(%s::JSON, 'm')", (text,)),
                Way(
                    "predict, prepared",
                    server,
                    connection,
                    f"SELECT label FROM predict((SELECT {row}), 'm')",
                    given,
                ),
                Way(
                    "predict of a row of a table, prepared",
                    server,
                    connection,
                    f"SELECT label FROM predict((SELECT {names} FROM t WHERE id = %s), 'm')",
                    (4711,),
                ),
            ]
            best = measured(ways, rounds, count)
    return table(best, lambda name: None if name.startswith("SELECT 1") else "SELECT 1, prepared")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--statements", type=int, default=1000, help="the statements of a round")
    parser.add_argument("--pairs", type=int, default=1000, help="the pairs of turns of two servers")
    parser.add_argument("--models", action="store_true", help="measure predictions of one row instead")
    parser.add_argument("--markdown", type=Path)
    given = parser.parse_args()
    if given.models:
        lines = models(given.rounds, given.statements)
    else:
        lines = statements(given.rounds, given.statements, given.pairs)
    text = "\n".join(
        [f"{_core.BUILD_PROFILE} build, {given.rounds} rounds of {given.statements} statements", "", *lines]
    )
    print(text)
    if given.markdown:
        given.markdown.write_text(text + "\n")


if __name__ == "__main__":
    main()
