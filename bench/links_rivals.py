"""A million rows of a table into pyarrow over emulated links, by Colonnade and by competing systems; `make
bench-links`.

    python bench/links_rivals.py [--links 10 100 lan wan wan-cubic] [--tables lineitem …] [--contenders NAME …]
                                 [--rows N] [--rounds N] [--peers PYTHON] [--json FILE] [--markdown FILE]

Needs root: servers are in one network namespace, clients in another (`laboratory.py`). The servers are `colonnade
serve` and Arrow Flight over one DuckDB file, and PostgreSQL with the extension, which the other clients read without
it. Each reading has its own client process; the time includes connecting and excludes imports.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import data
import duckdb
import laboratory
import links
from colonnade._cli.memory_state import memory_report
from laboratory import (
    CLIENT_SIDE,
    SERVER,
    SERVER_SIDE,
    USER,
    Link,
    congestion_controls,
    inside,
    serving,
    shaped,
    within,
)
from postgres_tables import SETTINGS, let_in, load, pg, place
from turns import Contender, Row, median, reading, reason

HERE = Path(__file__).parent
LINKS = [
    *(link for link in links.LINKS if link.name in ("10", "100")),
    Link("lan", 1000, delay=0.3, queue=2_000_000),
    *(link for link in links.LINKS if link.name == "wan"),
]
#: Mbit/s. Slower links get fewer rows.
FULL_RATE = 100.0
FLIGHT_ROWS = 65536
#: Each has the name of its place and its reader.
CONTENDERS = [
    Contender("Colonnade, colonnade serve over TLS", "serve colonnade"),
    Contender("Colonnade, PostgreSQL", "postgres colonnade"),
    Contender("Arrow Flight, ZSTD", "flight:zstd flight"),
    Contender("Arrow Flight", "flight:none flight"),
    Contender("DuckDB postgres_scan", "postgres duckdb_scan", other=True),
    Contender("ConnectorX", "postgres connectorx", other=True),
]
RIVALS = [contender.name for contender in CONTENDERS if not contender.name.startswith("Colonnade")]


@contextmanager
def flight_server(database: Path, codec: str) -> Iterator[str]:
    command = [sys.executable, str(HERE / "flight_server.py"), str(database), str(FLIGHT_ROWS), "grpc://127.0.0.1:0"]
    with subprocess.Popen(
        [*command, *([codec] if codec != "none" else [])], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().rpartition(":")[2].strip()
        finally:
            process.terminate()


def database(directory: Path, table: str, rows: int) -> tuple[Path, int]:
    """A DuckDB file with so many rows of a table, or with all if it has fewer; and their number."""
    path = directory / "rivals.duckdb"
    with duckdb.connect(path) as connection:
        source = str(data.write(table))
        connection.execute(f"CREATE TABLE {table} AS FROM read_parquet(?) LIMIT {rows}", [source])
        [(found,)] = connection.sql(f"SELECT count(*) FROM {table}").fetchall()
    return path, found


def over(link: Link, table: str, arguments: argparse.Namespace) -> list[Row]:
    results: list[Row] = []
    assert link.rate is not None
    wanted = int(arguments.rows * min(1.0, link.rate / FULL_RATE))
    contenders = [contender for contender in CONTENDERS if contender.name in arguments.contenders]
    with ExitStack() as stack:
        path, rows = database(Path(stack.enter_context(tempfile.TemporaryDirectory())), table, wanted)
        stack.enter_context(shaped(link, arguments.shaper))
        server = stack.enter_context(serving(path, path.with_suffix(".socket")))
        user, _, password = USER.partition(":")
        login = {"user": user, "password": password, "is_far": True}
        places = {"serve": {"kind": "serve", "host": SERVER, "port": server.port, **login}}
        with within(SERVER_SIDE):
            for codec in ("zstd", "none"):
                port = stack.enter_context(flight_server(path, codec))
                places[f"flight:{codec}"] = {"kind": "flight", "host": SERVER, "port": int(port)}
            if any(contender.peer.startswith("postgres ") for contender in contenders):
                cluster = stack.enter_context(pg.cluster(stack.enter_context(pg.installed()), SETTINGS))
                let_in(cluster)
                with cluster.connect() as session:
                    session.execute("CREATE EXTENSION colonnade")
                load(cluster, f"read_parquet('{data.write(table)}')", table, rows)
                places["postgres"] = place(cluster, SERVER)
        # Before the first round, each contender runs once.
        for number in range(-1, arguments.rounds):
            for contender in contenders:
                where, _, peer = contender.peer.rpartition(" ")
                question = {"reader": peer, "place": places[where], "table": table}
                python = arguments.peers if contender.other else sys.executable
                command = [python, str(HERE / "read.py"), json.dumps(question)]
                row = reading(inside(CLIENT_SIDE, *command))
                if row.get("rows") not in (None, rows):
                    raise RuntimeError(f"{contender.name} gave {row['rows']} rows")
                if number < 0:
                    continue
                results.append({"part": link.described, "table": table, "contender": contender.name, **row})
                results[-1].update(link=link.name, rate=link.rate, is_steady=link.loss == 0, round=number)
                shown = row.get("error") or f"{row['wall']:.2f} s"
                print(f"{link.name} {table} {contender.name}: {shown}", file=sys.stderr, flush=True)
    return results


def markdown(results: list[Row], memory: str) -> str:
    lines = [memory, ""]
    for part, table in dict.fromkeys((row["part"], row["table"]) for row in results):
        found = [row for row in results if (row["part"], row["table"]) == (part, table)]
        rows = next((row["rows"] for row in found if "rows" in row), 0)
        lines += [f"### {rows:,} rows of {table} over {part}", "", "| | wall s | client CPU s |", "|---|--:|--:|"]
        for name in dict.fromkeys(row["contender"] for row in found):
            wall, cpu = (median(results, part, table, name, field) for field in ("wall", "client_cpu"))
            known = wall is not None and cpu is not None
            cells = f"{wall:.2f} | {cpu:.2f}" if known else f"{reason(results, table, name)} |"
            lines.append(f"| {name} | {cells} |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    every = [*LINKS, *links.SLOW_LINKS]
    parser = laboratory.arguments(__doc__, [link.name for link in every], [link.name for link in LINKS])
    parser.add_argument("--tables", nargs="+", choices=list(data.TABLES), default=["lineitem"], metavar="NAME")
    everyone = [contender.name for contender in CONTENDERS]
    parser.add_argument("--contenders", nargs="+", choices=everyone, default=everyone, metavar="NAME")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--peers", default=sys.executable, help="the interpreter that has the peers")
    arguments = laboratory.begin(parser)
    memory = memory_report()
    results: list[Row] = []
    for link in every:
        if link.name in arguments.links and link.congestion in congestion_controls():
            for table in arguments.tables:
                results += over(link, table, arguments)
    text = markdown(results, memory)
    print(text)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    if arguments.markdown:
        arguments.markdown.write_text(text)


if __name__ == "__main__":
    main()
