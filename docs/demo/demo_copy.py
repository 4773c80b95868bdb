"""Copies lineitem from database to database with `colonnade copy`, and compares the values in each of them.

    python docs/demo/demo_copy.py [--scale 1]

The way is PostgreSQL, MariaDB, SQLite, `colonnade serve`, and PostgreSQL again. The databases are private ones in a
temporary directory. After each copy, the table is read, and its rows and a checksum over every value are compared with
the values that were loaded. `make demo-copy` installs what this needs and runs it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import colonnade
import duckdb
from demo import QUERY, checksum, generate, own_answer

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.testbed import mariadb
from tests.testbed import postgres as pg
from tests.testbed.serving import serve


@dataclass(frozen=True)
class Place:
    """A database on the way."""

    name: str
    uri: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", default="1", help="TPC-H scale factor: 1 is 6 million rows (default: 1)")
    arguments = parser.parse_args()

    database = generate(arguments.scale)
    expected = own_answer(database)
    with places() as way, duckdb.connect(str(database), read_only=True) as connection:
        schema = connection.sql(f"{QUERY} LIMIT 0").to_arrow_table().schema
        first, *others = way
        print(f"loading lineitem into {first.name} …", flush=True)
        lineitem = connection.sql(QUERY).to_arrow_reader(100_000)
        colonnade.write_sql(lineitem, first.uri, "lineitem", if_exists="replace")
        same = [is_same(first, schema, expected)]
        print(f"{'':28}{'seconds':>9}  values")
        for source, target in zip(way, others, strict=False):
            seconds = copy(source, target)
            same.append(is_same(target, schema, expected))
            verdict = "the same" if same[-1] else "DIFFERENT"
            print(f"{source.name + ' → ' + target.name:28}{seconds:9.2f}  {verdict}", flush=True)
    if not all(same):
        sys.exit("error: a copy differs from what was loaded")


@contextmanager
def places() -> Iterator[list[Place]]:
    """The databases, in the order of the copies."""
    with (
        tempfile.TemporaryDirectory() as directory,
        pg.cluster(pg.stock()) as postgres,
        mariadb.server() as maria,
        serve("--listen", "127.0.0.1:0") as server,
    ):
        file = Path(directory) / "copy.db"
        # An empty file is an empty SQLite database.
        file.touch()
        postgresql = Place("PostgreSQL", postgres.uri())
        yield [
            postgresql,
            Place("MariaDB", maria.uri()),
            Place("SQLite", f"sqlite:///{file}"),
            Place("serve", f"postgresql://{server.host}:{server.port}/"),
            postgresql,
        ]


def copy(source: Place, target: Place) -> float:
    """Copies by the command line. Returns the seconds."""
    begun = time.perf_counter()
    command = [sys.executable, "-m", "colonnade", "copy", source.uri, QUERY, target.uri, "lineitem"]
    subprocess.run([*command, "--if-exists", "replace"], check=True)
    return time.perf_counter() - begun


def is_same(place: Place, schema: Any, expected: tuple[int, str]) -> bool:
    """Whether the table has the values that were loaded. Integers may be wider, and texts have other types of text."""
    table = colonnade.read_sql(place.uri, QUERY, return_type="arrow").cast(schema)
    return (table.num_rows, checksum(table)) == expected


if __name__ == "__main__":
    main()
