"""How long after its limit a statement ends whose function does not end by itself.

    python bench/udf_limits.py [--rounds 20] [--markdown FILE] [--json FILE]

Milliseconds from the moment of the limit to the error at the client: from the request to cancel, from the end of the
timeout, or from the start of a statement whose function meets the limit at once. After each, the same session calls a
function again, whose answer is checked; that call starts a new process if the limit has ended the last one.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psycopg
from colonnade_serve import _core
from turns import add_outputs, write

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.testbed.serving import function_options, serve

#: Seconds.
TIMEOUT = 0.3


@dataclass(frozen=True)
class Limit:
    """A function's body, the SQLSTATE of its statement, and what is to pass before it is to end."""

    what: str
    body: str
    state: str
    #: Seconds that the statement may run.
    allowed: float = 0.0
    #: Statements before the call.
    before: str = "SELECT 1"
    is_cancelled: bool = False


FOREVER = "while True: pass"
ASLEEP = "import time; time.sleep(100)"
STATEMENT_TIMEOUT = f"SET statement_timeout = {TIMEOUT * 500:.0f}"
READS = "return _conn.execute('SELECT count(*) AS n FROM range(100000000000) r(i) WHERE i % 7 = 3')['n']"
LIMITS = [
    Limit("endless loop, cancelled", FOREVER, "57014", is_cancelled=True),
    Limit("asleep, cancelled", ASLEEP, "57014", is_cancelled=True),
    Limit("a query of the function, cancelled", READS, "57014", is_cancelled=True),
    Limit("endless loop, --udf-timeout", FOREVER, "57014", TIMEOUT),
    Limit(
        "endless loop, statement_timeout", FOREVER, "57014", TIMEOUT / 2, f"SET statement_timeout = {TIMEOUT * 500:.0f}"
    ),
    Limit("more memory than --udf-memory", "return len(bytearray(1 << 30)) + x", "53200"),
    Limit("segmentation fault", "import ctypes; ctypes.string_at(0)", "38000"),
    Limit("end of the process", "import os; os._exit(4)", "38000"),
]


def delay(connection: psycopg.Connection, limit: Limit) -> float:
    """Seconds from the limit to the error."""
    moment = 0.0

    def cancel() -> None:
        nonlocal moment
        moment = time.perf_counter()
        connection.cancel()

    connection.execute(
        f"CREATE OR REPLACE FUNCTION f(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ {limit.body} $$".encode()
    )
    connection.execute("SELECT g(1)")
    connection.execute(limit.before.encode())
    timer = threading.Timer(TIMEOUT / 2, cancel)
    begun = time.perf_counter()
    if limit.is_cancelled:
        timer.start()
    try:
        connection.execute("SELECT f(i::INTEGER) FROM range(1) t(i)")
    except psycopg.Error as error:
        ended = time.perf_counter()
        if error.sqlstate != limit.state:
            raise
    else:
        raise RuntimeError(f"{limit.what}: the statement has not failed")
    finally:
        timer.cancel()
    connection.execute("RESET statement_timeout")
    if connection.execute("SELECT g(1)").fetchall() != [(2,)]:
        raise RuntimeError(f"{limit.what}: a later call gives something else")
    return ended - (moment if limit.is_cancelled else begun + limit.allowed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    add_outputs(parser)
    given = parser.parse_args()
    lines = [f"{_core.BUILD_PROFILE} build, {given.rounds} rounds", ""]
    lines += ["| what | median ms | most ms |", "|---|--:|--:|"]
    results = []
    limits = ("--udf-memory", "256MB", "--udf-timeout", str(TIMEOUT))
    with (
        serve("--listen", "127.0.0.1:0", *function_options(), *limits) as server,
        psycopg.connect(server.dsn, autocommit=True) as connection,
    ):
        connection.execute("CREATE FUNCTION g(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return x + 1 $$")
        for limit in LIMITS:
            found = [delay(connection, limit) * 1e3 for _ in range(given.rounds)]
            results.append({"what": limit.what, "milliseconds": found})
            lines.append(f"| {limit.what} | {statistics.median(found):.0f} | {max(found):.0f} |")
    write("\n".join(lines) + "\n", results, given)


if __name__ == "__main__":
    main()
