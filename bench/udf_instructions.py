"""How many instructions a statement that calls no function takes, in servers with and without functions in Python.

    python bench/udf_instructions.py [--launches 3] [--statements 1000]

Two processes of the same server differ by several us a statement, because their memory is laid out differently
(`udf_short.py`). Instructions tell whether functions add work. valgrind counts those of the server's process (Debian:
`apt install valgrind`): the difference of a long and a short launch, divided by the statements that the long one has
more.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import psycopg

#: No function is called, so their isolation does not matter. valgrind does not know the system calls of the sandbox.
FUNCTIONS = ("--udf", "--udf-isolation", "process", "--udf-user", "root")
FUNCTION = b"CREATE FUNCTION f(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP IMMUTABLE AS $$ return x % 100 $$"
#: Statements of the short launch, after which the server has settled.
SETTLED = 200


def instructions(statements: int, *, prepared: bool, functions: bool) -> int:
    """Those of one launch: of the process that counted most, which is the one with the engine."""
    with tempfile.TemporaryDirectory() as directory:
        valgrind = [
            "valgrind",
            "--tool=callgrind",
            f"--callgrind-out-file={directory}/out.%p",
            f"--log-file={directory}/log.%p",
            "--trace-children=yes",
            "--trace-children-skip-by-arg=*_udf*",
        ]
        serve = [sys.executable, "-m", "colonnade", "serve", "--listen", "127.0.0.1:0"]
        command = [*valgrind, *serve, *(FUNCTIONS if functions else ())]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            said = process.stdout.readline()
            found = re.search(r"listening on (\S+):(\d+)", said)
            if found is None:
                raise SystemExit(f"the server did not start: {said}")
            dsn = f"host={found[1]} port={found[2]} user=tester connect_timeout=300"
            with psycopg.connect(dsn, autocommit=True) as connection:
                if functions:
                    connection.execute(FUNCTION)
                cursor = connection.cursor() if prepared else psycopg.ClientCursor(connection)
                for _ in range(statements):
                    cursor.execute(b"SELECT 1", prepare=prepared).fetchall()
            process.terminate()
        logs = [path.read_text() for path in Path(directory).glob("log.*")]
        return max(int(count) for log in logs for count in re.findall(r"Collected : (\d+)", log))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launches", type=int, default=3)
    parser.add_argument("--statements", type=int, default=1000)
    args = parser.parse_args()
    print("| SELECT 1 | instructions | launches |\n|---|--:|--:|")
    for prepared in (False, True):
        for functions in (False, True):
            each = []
            for _ in range(args.launches):
                short, long = (
                    instructions(count, prepared=prepared, functions=functions)
                    for count in (SETTLED, SETTLED + args.statements)
                )
                each.append((long - short) / args.statements)
            name = f"{'prepared' if prepared else 'simple'}{', with --udf' if functions else ''}"
            print(f"| {name} | {median(each):,.0f} | {min(each):,.0f} to {max(each):,.0f} |", flush=True)


if __name__ == "__main__":
    main()
