"""MariaDB and SQLite into pyarrow and pandas, beside every peer that reads them.

    python bench/sources.py [--rounds 3] [--peers PYTHON] [--markdown FILE] [--json FILE]

A private MariaDB on TCP, and a SQLite file in the page cache. Each measurement has a client process of its own; they
take turns, round after round; medians are reported. `--peers` is the interpreter that has the peers
(requirements/peers.txt).
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import data
import duckdb
from process import cpu_seconds
from turns import Contender, Row, reading, table_of_clients

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import mariadb

HERE = Path(__file__).parent
#: Tables, and the rows that are taken of them.
TABLES = {"lineitem": 1_000_000, "flights": 1_000_000}
#: The primary key, which the tables have beside the data's own columns. ConnectorX needs to be told of it.
KEY = "id"
PANDAS = {"return_type": "pandas"}
THEIR_TYPES = {**PANDAS, "dtype_backend": "connectorx"}
COMMON = [
    Contender("Colonnade", "colonnade"),
    Contender("Colonnade, 2 partitions", "colonnade", {"partition_num": 2}),
    Contender("ConnectorX", "connectorx", other=True),
    Contender("ConnectorX, 2 partitions", "connectorx", {"partition_num": 2}, other=True),
    Contender("Colonnade into pandas", "colonnade", PANDAS),
    Contender("Colonnade into pandas, ConnectorX's types", "colonnade", THEIR_TYPES),
    Contender("ConnectorX into pandas", "connectorx", PANDAS, other=True),
]
CONTENDERS = {
    "MariaDB": [
        *COMMON,
        Contender("DuckDB mysql_scanner", "duckdb_scan", other=True),
        Contender("pandas, SQLAlchemy, PyMySQL", "pandas_driver", other=True),
    ],
    "SQLite": [
        *COMMON,
        Contender("DuckDB sqlite_scanner", "duckdb_scan", other=True),
        Contender("ADBC", "adbc", other=True),
        Contender("pandas, sqlite3", "pandas_driver", other=True),
    ],
}
TYPES = {
    "MariaDB": {"VARCHAR": "text", "TIMESTAMP": "datetime(6)"},
    "SQLite": {"VARCHAR": "text", "TIMESTAMP": "timestamp"},
}


def columns(kind: str, table: str) -> list[str]:
    """Names and types of a table in a database's own words."""
    relation = duckdb.sql(f"FROM read_parquet('{data.write(table)}')")
    quote = "`" if kind == "MariaDB" else '"'
    types = [TYPES[kind].get(str(type_), str(type_).lower()) for type_ in relation.types]
    named = [f"{quote}{name}{quote} {type_}" for name, type_ in zip(relation.columns, types, strict=True)]
    return [*named, f"{KEY} INTEGER PRIMARY KEY"]


def sqlite_file(directory: Path) -> Path:
    path = directory / "bench.sqlite"
    with sqlite3.connect(path) as connection:
        for table, rows in TABLES.items():
            connection.execute(f"CREATE TABLE {table} ({', '.join(columns('SQLite', table))})")
            result = duckdb.sql(f"SELECT {plain(table)}, {KEY} FROM ({keyed(table, rows)})")
            marks = ", ".join("?" * len(result.columns))
            for batch in result.to_arrow_reader(10_000):
                rows_of = zip(*(column.to_pylist() for column in batch.columns), strict=True)
                connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows_of)
    return path


def keyed(table: str, rows: int) -> str:
    """A query for the rows, in their order, with the key."""
    return f"SELECT *, row_number() OVER () AS {KEY} FROM read_parquet('{data.write(table)}') LIMIT {rows}"


def plain(table: str) -> str:
    """The columns as SQLite has them: dates and times as text, decimals as numbers."""
    relation = duckdb.sql(f"FROM read_parquet('{data.write(table)}')")
    casts = {"DATE": "VARCHAR", "TIMESTAMP": "VARCHAR"}
    shown = []
    for name, type_ in zip(relation.columns, map(str, relation.types), strict=True):
        target = "DOUBLE" if type_.startswith("DECIMAL") else casts.get(type_)
        shown.append(f'"{name}"::{target}' if target else f'"{name}"')
    return ", ".join(shown)


@contextmanager
def maria() -> Iterator[mariadb.Server]:
    """A MariaDB with the tables in memory."""
    options = ["--innodb-buffer-pool-size=2G", "--local-infile=1", "--innodb-flush-log-at-trx-commit=0"]
    with mariadb.server(options) as server, tempfile.TemporaryDirectory(dir="/tmp") as directory:
        Path(directory).chmod(0o755)
        server.run("CREATE DATABASE bench; CREATE USER bench@'%' IDENTIFIED BY 'bench'; GRANT ALL ON *.* TO bench@'%'")
        for table, rows in TABLES.items():
            file = f"{directory}/{table}.csv"
            query = keyed(table, rows)
            duckdb.sql(f"COPY ({query}) TO '{file}' (HEADER false, DELIMITER '\t', NULLSTR '\\N', QUOTE '', ESCAPE '')")
            server.run(f"CREATE TABLE bench.{table} ({', '.join(columns('MariaDB', table))})")
            server.run(f"LOAD DATA LOCAL INFILE '{file}' INTO TABLE bench.{table}", "--local-infile=1")
            server.run(f"ANALYZE TABLE bench.{table}; SELECT count(*) FROM bench.{table}")
        yield server


def measure(place: str, pid: int | None, contender: Contender, table: str, peers: str) -> Row:
    options = dict(contender.options)
    if "partition_num" in options and contender.other:
        options["partition_on"] = KEY
    python = peers if contender.other else sys.executable
    command = [python, str(HERE / "sources_client.py"), contender.peer, place, table, json.dumps(options)]
    return reading(command, lambda: cpu_seconds(pid) if pid else 0.0)


def run(places: dict[str, tuple[str, int | None]], arguments: argparse.Namespace) -> list[Row]:
    results: list[Row] = []
    dead: set[tuple[str, str, str]] = set()
    for number in range(arguments.rounds):
        for kind, (place, pid) in places.items():
            for table in TABLES:
                for contender in CONTENDERS[kind]:
                    if (kind, table, contender.name) in dead:
                        continue
                    row = measure(place, pid, contender, table, arguments.peers)
                    if "error" in row:
                        # What does not work once does not work; it stays in the table, with its reason.
                        dead.add((kind, table, contender.name))
                    results.append({"part": kind, "table": table, "contender": contender.name, "round": number, **row})
                    shown = row.get("error") or f"{row['wall']:.2f} s, client {row['client_cpu']:.2f} s CPU"
                    print(f"round {number} {kind} {table} {contender.name}: {shown}", file=sys.stderr, flush=True)
    return results


def markdown(results: list[Row], rounds: int) -> str:
    lines = [f"Medians of {rounds} rounds; a client process each, connecting is inside the clock.", ""]
    for kind, contenders in CONTENDERS.items():
        for table, rows in TABLES.items():
            lines += [f"### {kind}: {table}, {rows} rows, into a pyarrow.Table unless it says otherwise", ""]
            lines += table_of_clients(results, kind, table, contenders)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", default=sys.executable, help="the interpreter that has the peers")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    print("loading …", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir="/tmp") as directory, maria() as server:
        file = sqlite_file(Path(directory))
        results = run({"MariaDB": (str(server.port), server.process.pid), "SQLite": (str(file), None)}, arguments)
    for row in results:
        if row.get("rows") not in (None, TABLES[row["table"]]):
            raise RuntimeError(f"{row['contender']} gave {row['rows']} rows of {row['table']}")
    text = markdown(results, arguments.rounds)
    print(text)
    if arguments.markdown:
        arguments.markdown.write_text(text)
    if arguments.json:
        arguments.json.write_text(json.dumps({"results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
