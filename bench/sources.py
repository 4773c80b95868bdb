"""MariaDB and SQLite into pyarrow and pandas, compared with every peer that reads them.

    python bench/sources.py [--rounds 3] [--peers PYTHON] [--markdown FILE] [--json FILE]

A private MariaDB on TCP, and an SQLite file in the page cache. Each measurement has its own client process. The
contenders take turns, round by round, and medians are reported. `--peers` is the interpreter with the peers
(tools/requirements/peers.txt).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import data
from colonnade._cli.memory_state import memory_report
from process import cpu_seconds
from sources_tables import LOGIN, maria, sqlite_file
from turns import Contender, Row, reading, table_of_clients

HERE = Path(__file__).parent
#: Tables, and the number of rows to read.
TABLES = {"lineitem": 1_000_000, "flights": 1_000_000}
#: The primary key, a column in addition to the data's own. ConnectorX must be told about it.
KEY = "id"
PANDAS = {"return_type": "pandas"}
#: The types that the tables name.
EXACT = {**PANDAS, "dtype_backend": "exact"}
THEIR_TYPES = {**PANDAS, "dtype_backend": "connectorx"}
COMMON = [
    Contender("Colonnade", "colonnade"),
    Contender("Colonnade, 2 partitions", "colonnade", {"partition_num": 2}),
    Contender("ConnectorX", "connectorx", other=True),
    Contender("ConnectorX, 2 partitions", "connectorx", {"partition_num": 2}, other=True),
    Contender("Colonnade into pandas", "colonnade", EXACT),
    Contender("Colonnade into pandas, ConnectorX's types", "colonnade", THEIR_TYPES),
    Contender("ConnectorX into pandas", "connectorx", PANDAS, other=True),
]
CONTENDERS = {
    "MariaDB": [
        *COMMON,
        Contender("DuckDB mysql_scanner", "duckdb_scan", other=True),
        Contender("pandas, SQLAlchemy, PyMySQL", "sqlalchemy", other=True),
    ],
    "SQLite": [
        *COMMON,
        Contender("DuckDB sqlite_scanner", "duckdb_scan", other=True),
        Contender("ADBC", "adbc", other=True),
        Contender("pandas, sqlite3", "sqlite3", other=True),
    ],
}


def sources() -> dict[str, str]:
    """The relations from which DuckDB reads the tables' rows."""
    return {table: f"(FROM read_parquet('{data.write(table)}') LIMIT {rows})" for table, rows in TABLES.items()}


def measure(place: dict[str, Any], pid: int | None, contender: Contender, table: str, peers: str) -> Row:
    options = dict(contender.options)
    if "partition_num" in options and contender.other:
        options["partition_on"] = KEY
    python = peers if contender.other else sys.executable
    question = {"reader": contender.peer, "place": place, "table": table, "options": options}
    command = [python, str(HERE / "read.py"), json.dumps(question)]
    return reading(command, lambda: cpu_seconds(pid) if pid else 0.0)


def run(places: dict[str, tuple[dict[str, Any], int | None]], arguments: argparse.Namespace) -> list[Row]:
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
                        # A contender that failed once is not run again; the table shows the reason.
                        dead.add((kind, table, contender.name))
                    results.append({"part": kind, "table": table, "contender": contender.name, "round": number, **row})
                    shown = row.get("error") or f"{row['wall']:.2f} s, client {row['client_cpu']:.2f} s CPU"
                    print(f"round {number} {kind} {table} {contender.name}: {shown}", file=sys.stderr, flush=True)
    return results


def markdown(results: list[Row], rounds: int, memory: str) -> str:
    lines = [f"Medians of {rounds} rounds. Each has its own client process; the time includes connecting. {memory}", ""]
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
    with tempfile.TemporaryDirectory(dir="/tmp") as directory, maria(sources(), KEY) as server:
        file = Path(directory) / "bench.sqlite"
        sqlite_file(file, sources(), KEY)
        login = dict.fromkeys(("user", "password", "database"), LOGIN)
        places = {
            "MariaDB": ({"kind": "mariadb", "port": server.port, **login}, server.process.pid),
            "SQLite": ({"kind": "sqlite", "path": str(file)}, None),
        }
        memory = memory_report()
        results = run(places, arguments)
    for row in results:
        if row.get("rows") not in (None, TABLES[row["table"]]):
            raise RuntimeError(f"{row['contender']} gave {row['rows']} rows of {row['table']}")
    text = markdown(results, arguments.rounds, memory)
    print(text)
    if arguments.markdown:
        arguments.markdown.write_text(text)
    if arguments.json:
        arguments.json.write_text(json.dumps({"state": memory, "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
