"""Short statements of a server with functions in Python: what one costs that calls none, and one that calls one.

    python bench/udf_short.py [--rounds 7] [--statements 1000] [--pairs 200] [--launches 5] [--models] [--markdown FILE]

A server with functions and one without run at the same time and take turns. CPU is that of the threads of the server
and its function processes, in us a statement; time is that of the client, the median of a round. Both are the least of
the rounds, so that other work on the machine counts as little as possible.

What functions cost a statement that calls none is less than two rounds differ. So servers run it in turns of
20 statements, in another order each time. The median of the pairs' differences is given. Two processes of the same
server differ too, by several us as long as they run. So the servers are started several times, and the least and the
greatest median of these launches are given. A second server without functions is the control: its difference is that of
processes, and another difference counts only beyond it.

`--models` needs scikit-learn, skl2onnx and onnxruntime in this interpreter, and measures the prediction of one row by a
forest of ten trees.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psycopg
from colonnade_serve import _core
from process import thread_cpu_seconds

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.testbed.serving import Server, children, function_options, serve

#: The features of the model.
FEATURES = [f"f{at}" for at in range(5)]
#: The function that is called for one row.
FUNCTION = b"CREATE FUNCTION f(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP IMMUTABLE AS $$ return x % 100 $$"
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
    return thread_cpu_seconds(server.worker) + sum(map(thread_cpu_seconds, function_processes(server)))


def function_processes(server: Server) -> Iterator[int]:
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


def differences(pairs: int, launches: int) -> list[str]:
    """Lines with what servers need more than another one for a statement without calls: CPU and time, in us."""
    found: dict[tuple[str, bool], list[tuple[float, float]]] = {}
    drawn = random.Random(1)
    for _ in range(launches):
        with serve() as plain, serve() as control, serve(*function_options()) as other, ExitStack() as stack:
            servers = {"": plain, "control": control, "with --udf": other}
            made = {
                name: stack.enter_context(psycopg.connect(server.dsn, autocommit=True))
                for name, server in servers.items()
            }
            made["with --udf"].execute(FUNCTION)
            for prepared in (False, True):
                ways = [Way(name, server, made[name], "SELECT 1", (), prepared) for name, server in servers.items()]
                for way in ways:
                    way.run(50)
                turns = []
                for _ in range(pairs):
                    results = {way.name: way.run(TURN) for way in drawn.sample(ways, len(ways))}
                    turns.append(results)
                for name in ("control", "with --udf"):
                    more = [np.subtract(results[name], results[""]) * 1e6 for results in turns]
                    found.setdefault((name, prepared), []).append(tuple(np.median(more, axis=0)))
    lines = ["", "| SELECT 1 | more CPU us | launches | more time us | launches |", "|---|--:|--:|--:|--:|"]
    for (name, prepared), medians in found.items():
        shown = [f"{np.median(one):+.1f} | {min(one):+.1f} to {max(one):+.1f}" for one in zip(*medians, strict=True)]
        lines.append(f"| {'prepared' if prepared else 'simple'}, {name} | {' | '.join(shown)} |")
    return lines


def table(best: dict[str, tuple[float, float]], base: Callable[[str], str | None]) -> list[str]:
    """A line for each way. `base` names the way of which the difference is shown."""
    lines = ["| statement | CPU us | time us | more CPU | more time |", "|---|--:|--:|--:|--:|"]
    for name, (used, passed) in best.items():
        than = base(name)
        more = [f"{a - b:+.1f}" for a, b in zip((used, passed), best[than], strict=True)] if than else ["", ""]
        lines.append(f"| {name} | {used:.1f} | {passed:.1f} | {more[0]} | {more[1]} |")
    return lines


def statements(rounds: int, count: int) -> list[str]:
    """A statement that calls no function, by two servers, and calls of one row."""
    with serve() as plain, serve(*function_options()) as other, ExitStack() as stack:
        made = [
            (server, stack.enter_context(psycopg.connect(server.dsn, autocommit=True))) for server in (plain, other)
        ]
        made[1][1].execute(FUNCTION)
        ways = []
        for (server, connection), suffix in zip(made, ("", ", with --udf"), strict=True):
            ways.append(Way(f"SELECT 1, simple{suffix}", server, connection, "SELECT 1", prepared=False))
            ways.append(Way(f"SELECT 1, prepared{suffix}", server, connection, "SELECT 1"))
        one = "SELECT {} FROM (SELECT %s::INTEGER AS x)"
        ways.append(Way("x % 100 of one row, prepared", *made[1], one.format("x %% 100"), (7,)))
        ways.append(Way("f(x) of one row, prepared", *made[1], one.format("f(x)"), (7,)))
        best = measured(ways, rounds, count)
    return table(best, {"f(x) of one row, prepared": "x % 100 of one row, prepared"}.get)


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
    parser.add_argument("--pairs", type=int, default=200, help="the turns of each launch")
    parser.add_argument("--launches", type=int, default=5, help="how often the servers are started")
    parser.add_argument("--models", action="store_true", help="measure predictions of one row instead")
    parser.add_argument("--markdown", type=Path)
    given = parser.parse_args()
    if given.models:
        lines = models(given.rounds, given.statements)
    else:
        lines = [*statements(given.rounds, given.statements), *differences(given.pairs, given.launches)]
    text = "\n".join(
        [f"{_core.BUILD_PROFILE} build, {given.rounds} rounds of {given.statements} statements", "", *lines]
    )
    print(text)
    if given.markdown:
        given.markdown.write_text(text + "\n")


if __name__ == "__main__":
    main()
