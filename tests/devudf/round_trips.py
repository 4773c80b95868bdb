"""Generated functions are created in a database, pulled as files, dropped, and pushed from the files. Their bodies are
the same bytes, and the files have their statements.

    python -m tests.devudf.round_trips URI --count 10000

It runs in each version of Python, because this one reads and writes the files. `make test-bodies` runs all.
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import re
import shutil
import sys
import tempfile
from contextlib import chdir, redirect_stdout
from pathlib import Path

import colonnade
from colonnade._cli.main import main as command
from colonnade_serve._udf.compiled import parse
from colonnade_serve._udf.failures import SourceError
from colonnade_serve._udf_tools import catalog
from colonnade_serve._udf_tools.file import FunctionFile
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.devudf.generated import bodies

#: How many functions are pushed at once.
BATCH = 100
#: How many bodies are generated with one seed.
ROUND = 200
#: Their schema, which is dropped with them.
SCHEMA = "bodies"
VERSION = ".".join(map(str, sys.version_info[:3]))
#: The line of a file with the id of what was pulled.
ID = re.compile(r"(?m)^# id [0-9a-f]{16}")


def head(number: int) -> str:
    return f"CREATE FUNCTION {SCHEMA}.f{number}(i integer, j text) RETURNS real LANGUAGE python_map"


def is_python(body: str) -> bool:
    try:
        parse(body)
    except SourceError:
        return False
    return True


def udf(*arguments: str) -> None:
    """`colonnade udf`, which must succeed."""
    written = io.StringIO()
    with redirect_stdout(written):
        status = command(["udf", *arguments])
    assert status == 0, written.getvalue()


def stored(connection: colonnade.Connection) -> dict[str, str]:
    """The bodies that the database has, by the name of the function."""
    rows = connection.query("SELECT proname, prosrc FROM pg_proc WHERE proname ~ '^f[0-9]+$'").to_arrow().to_pylist()
    return {row["proname"]: row["prosrc"] for row in rows}


def drop(connection: colonnade.Connection) -> None:
    """Drop all functions at once, because each DROP FUNCTION lists all functions of DuckDB."""
    connection.execute(f"DROP SCHEMA {SCHEMA} CASCADE")
    connection.execute(f"CREATE SCHEMA {SCHEMA}")


def check(connection: colonnade.Connection, batch: list[str]) -> None:
    """Create, pull, drop and push these functions."""
    expected = {f"f{number}": body for number, body in enumerate(batch)}
    for number, body in enumerate(batch):
        connection.execute(catalog.statement(FunctionFile(head(number), body), is_replaced=False))
    assert stored(connection) == expected
    shutil.rmtree("udf", ignore_errors=True)
    udf("pull")
    files = sorted(Path("udf", SCHEMA).glob("f*.py"))
    assert len(files) == len(batch)
    for file in files:
        body = expected[file.stem]
        (definition,) = [node for node in ast.parse(file.read_bytes()).body if isinstance(node, ast.FunctionDef)]
        assert [ast.dump(one) for one in definition.body] == [ast.dump(one) for one in parse(body)], body
    drop(connection)
    for file in files:
        text = file.read_bytes().decode()
        file.write_bytes(ID.sub("# id new", text, count=1).encode())
    udf("push")
    assert stored(connection) == expected
    drop(connection)


def run(uri: str, count: int, number: int) -> int:
    """Check this many functions. Returns how many generated texts were no Python."""
    batch: list[str] = []
    done, refused = 0, 0

    @settings(
        max_examples=ROUND,
        deadline=None,
        database=None,
        # An example fills a batch, so a failure is not one of the example.
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
    @given(bodies())
    def generate(body: str) -> None:
        nonlocal done, refused
        if done >= count:
            return
        if not is_python(body):
            refused += 1
            return
        batch.append(body)
        if len(batch) >= min(BATCH, count - done):
            check(connection, batch)
            done += len(batch)
            batch.clear()
            if done % 1000 == 0:
                print(f"Python {VERSION}: {done} of {count}", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as folder, chdir(folder), colonnade.connect(uri) as connection:
        os.environ["COLONNADE_URI"] = uri
        connection.execute(f"CREATE SCHEMA {SCHEMA}")
        try:
            # A generator that has reached its goal would go on to the last of its examples.
            for round_number in range(number, number + 4 * (count // ROUND + 1)):
                if done < count:
                    seed(round_number)(generate)()
        finally:
            del os.environ["COLONNADE_URI"]
            connection.execute(f"DROP SCHEMA {SCHEMA} CASCADE")
    assert done == count, f"only {done} functions were generated"
    return refused


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.devudf.round_trips")
    parser.add_argument("uri")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    refused = run(args.uri, args.count, args.seed)
    print(
        f"Python {VERSION}: {args.count} functions came back byte for byte; {refused} texts were no Python", flush=True
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
