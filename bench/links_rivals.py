"""A million rows of lineitem into pyarrow over emulated links, by Colonnade and by competing systems; `make
bench-links`.

    python bench/links_rivals.py [--links 10 100 lan wan] [--rows N] [--rounds N] [--peers PYTHON]
                                 [--json FILE] [--markdown FILE]

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
    Link("wan", 100, delay=25, loss=0.01, queue=1_500_000, congestion="bbr"),
]
#: Mbit/s. Slower links get fewer rows.
FULL_RATE = 100.0
TABLE = "lineitem1m"
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


def database(directory: Path, rows: int) -> Path:
    path = directory / "rivals.duckdb"
    with duckdb.connect(path) as connection:
        source = str(data.write("lineitem"))
        connection.execute(f"CREATE TABLE {TABLE} AS FROM read_parquet(?) LIMIT {rows}", [source])
    return path


def over(link: Link, arguments: argparse.Namespace) -> list[Row]:
    results: list[Row] = []
    assert link.rate is not None
    rows = int(arguments.rows * min(1.0, link.rate / FULL_RATE))
    with ExitStack() as stack:
        path = database(Path(stack.enter_context(tempfile.TemporaryDirectory())), rows)
        stack.enter_context(shaped(link, arguments.shaper))
        server = stack.enter_context(serving(path, path.with_suffix(".socket")))
        user, _, password = USER.partition(":")
        login = {"user": user, "password": password, "is_far": True}
        places = {"serve": {"kind": "serve", "host": SERVER, "port": server.port, **login}}
        with within(SERVER_SIDE):
            cluster = stack.enter_context(pg.cluster(stack.enter_context(pg.installed()), SETTINGS))
            let_in(cluster)
            with cluster.connect() as session:
                session.execute("CREATE EXTENSION colonnade")
            load(cluster, f"read_parquet('{data.write('lineitem')}')", TABLE, rows)
            for codec in ("zstd", "none"):
                port = stack.enter_context(flight_server(path, codec))
                places[f"flight:{codec}"] = {"kind": "flight", "host": SERVER, "port": int(port)}
            places["postgres"] = place(cluster, SERVER)
        # Before the first round, each contender runs once.
        for number in range(-1, arguments.rounds):
            for contender in CONTENDERS:
                where, _, peer = contender.peer.rpartition(" ")
                question = {"reader": peer, "place": places[where], "table": TABLE}
                python = arguments.peers if contender.other else sys.executable
                command = [python, str(HERE / "read.py"), json.dumps(question)]
                row = reading(inside(CLIENT_SIDE, *command))
                if row.get("rows") not in (None, rows):
                    raise RuntimeError(f"{contender.name} gave {row['rows']} rows")
                if number < 0:
                    continue
                results.append({"part": link.described, "table": TABLE, "contender": contender.name, **row})
                results[-1].update(link=link.name, rate=link.rate, is_steady=link.loss == 0, round=number)
                shown = row.get("error") or f"{row['wall']:.2f} s"
                print(f"{link.name} {contender.name}: {shown}", file=sys.stderr, flush=True)
    return results


def markdown(results: list[Row], memory: str) -> str:
    lines = [memory, ""]
    for part in dict.fromkeys(row["part"] for row in results):
        rows = next(row["rows"] for row in results if row["part"] == part and "rows" in row)
        lines += [f"### {rows:,} rows of lineitem over {part}", "", "| | wall s | client CPU s |", "|---|--:|--:|"]
        for contender in CONTENDERS:
            wall, cpu = (median(results, part, TABLE, contender.name, field) for field in ("wall", "client_cpu"))
            known = wall is not None and cpu is not None
            cells = f"{wall:.2f} | {cpu:.2f}" if known else f"{reason(results, TABLE, contender.name)} |"
            lines.append(f"| {contender.name} | {cells} |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    parser = laboratory.arguments(__doc__, [link.name for link in LINKS])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--peers", default=sys.executable, help="the interpreter that has the peers")
    arguments = laboratory.begin(parser)
    memory = memory_report()
    results: list[Row] = []
    for link in LINKS:
        if link.name in arguments.links and link.congestion in congestion_controls():
            results += over(link, arguments)
    text = markdown(results, memory)
    print(text)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    if arguments.markdown:
        arguments.markdown.write_text(text)


if __name__ == "__main__":
    main()
