"""End to end: TPC-H lineitem from DuckDB over a socket of this machine into pyarrow, compared with Arrow Flight.

    python bench/end_to_end.py [--rounds 5] [--markdown FILE] [--json FILE]

Each measurement has a new server and a new client. The contenders take turns, round by round, and medians are reported.
All servers read the same DuckDB file with the same settings (DuckDB's defaults). The time does not include importing,
connecting and the start of the server. `warm` clients have read the result once before on the same connection. Every
result's row count and checksum are compared with DuckDB's own.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import data
import duckdb
from colonnade._cli.memory_state import memory_report
from process import cpu_seconds, memory

HERE = Path(__file__).parent
QUERY = "SELECT * FROM lineitem"
#: Rows of Flight's batches.
FLIGHT_ROWS = 65536
# A query whose result grows while its table does not.
REPEATED = "SELECT l.* FROM (SELECT * FROM lineitem LIMIT 500000) AS l, range({times})"
REPEATS = (1, 12)

Row = dict[str, Any]


@dataclass(frozen=True)
class Contender:
    """A way to read a DuckDB file into pyarrow."""

    name: str
    source: str
    # tcp, unix, or empty for the engine in the client's own process.
    transport: str


CONTENDERS = [
    Contender("Colonnade, unix socket", "colonnade", "unix"),
    Contender("Colonnade, TCP", "colonnade", "tcp"),
    Contender("Arrow Flight, unix socket", "flight", "unix"),
    Contender("Arrow Flight, TCP", "flight", "tcp"),
    Contender("DuckDB in process (no transfer)", "duckdb", ""),
]


@contextmanager
def served(contender: Contender, database: Path, batch_rows: int) -> Iterator[tuple[str, int | None]]:
    """A server for the contender: the address for its client, and the server's process."""
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/socket"
        match contender.source, contender.transport:
            case "colonnade", "unix":
                where, address = ["--unix", path], f"postgresql:///{database.stem}?host={path}"
            case "colonnade", _:
                where, address = ["--listen", "127.0.0.1:0"], f"postgresql://{{}}/{database.stem}"
            case "flight", "unix":
                where, address = [f"grpc+unix://{path}"], f"grpc+unix://{path}"
            case "flight", _:
                where, address = ["grpc://127.0.0.1:0"], "grpc://{}"
            case _:
                yield str(database), None
                return
        if contender.source == "colonnade":
            command = [sys.executable, "-m", "colonnade", "serve", str(database), "--read-only", *where]
        else:
            command = [sys.executable, str(HERE / "flight_server.py"), str(database), str(batch_rows), *where]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            # Both servers print their address when they listen.
            line = server.stdout.readline()
            if not line:
                raise RuntimeError(f"the server of {contender.name} did not start")
            try:
                yield address.format(line.removeprefix("listening on ").strip()), server.pid
            finally:
                server.terminate()


def read(contender: Contender, address: str, server: int | None, query: str, mode: str, times: int = 1) -> Row:
    """One client process reads one result so many times. Times are those of all readings."""
    command = [sys.executable, str(HERE / "client.py"), contender.source, address, query, mode, str(times)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdin is not None and client.stdout is not None
        if client.stdout.readline() != "connected\n":
            raise RuntimeError(f"the client of {contender.name} did not connect")
        before = cpu_seconds(server) if server else 0.0
        client.stdin.write("go\n")
        client.stdin.flush()
        line = client.stdout.readline()
        row: Row = json.loads(line)
        row["server_cpu"] = cpu_seconds(server) - before if server else 0.0
        row["server_peak"] = memory(server, "VmHWM") if server else 0
        if mode != "stream":
            row |= json.loads(client.stdout.readline())
    if client.returncode != 0:
        raise RuntimeError(f"the client of {contender.name} failed")
    return {"contender": contender.name, "mode": mode, **row}


def prepare(table: str, rows: int | None = None) -> Path:
    """A DuckDB file with one of the benchmark's tables, or with so many rows of it."""
    source = data.write(table)
    database = source.with_name(f"{table}{rows or ''}.duckdb")
    if not database.exists():
        unfinished = database.with_suffix(".unfinished")
        unfinished.unlink(missing_ok=True)
        limit = f" LIMIT {rows}" if rows else ""
        with duckdb.connect(str(unfinished)) as connection:
            connection.execute(f"CREATE TABLE {table} AS FROM read_parquet(?){limit}", [str(source)])
        unfinished.rename(database)
    return database


def expected(database: Path, query: str) -> tuple[int, str]:
    """The number of rows of a query, and DuckDB's own checksum of them."""
    with duckdb.connect(str(database), read_only=True) as connection:
        [(rows, checksum)] = connection.sql(f"SELECT count(*), sum(hash(t)::HUGEINT) FROM ({query}) AS t").fetchall()
    return rows, str(checksum)


def measure(rounds: int, batch_rows: int) -> tuple[list[Row], list[Row]]:
    database = prepare("lineitem")
    rows, checksum = expected(database, QUERY)
    results: list[Row] = []
    for number in range(rounds):
        for mode in ("warm", "cold", "stream"):
            for contender in CONTENDERS:
                with served(contender, database, batch_rows) as (address, server):
                    row = read(contender, address, server, QUERY, mode)
                if row["rows"] != rows or row.get("checksum", checksum) != checksum:
                    raise RuntimeError(f"{contender.name} returned another result than DuckDB")
                results.append({**row, "round": number})
                print(f"round {number} {mode:6} {contender.name}: {row['wall']:.2f} s", file=sys.stderr)
    growth: list[Row] = []
    for contender in CONTENDERS:
        if contender.transport:
            with served(contender, database, batch_rows) as (address, server):
                for times in REPEATS:
                    row = read(contender, address, server, REPEATED.format(times=times), "stream")
                    growth.append({**row, "times": times})
    return results, growth


def markdown(results: list[Row], growth: list[Row], rounds: int, state: str) -> str:
    def median(contender: Contender, mode: str, field: str) -> float:
        rows = (row for row in results if row["contender"] == contender.name and row["mode"] == mode)
        return statistics.median(row[field] for row in rows)

    count, size = results[0]["rows"], results[0]["arrow_bytes"]
    lines = [
        f"### lineitem SF1 from DuckDB into a pyarrow.Table: {count} rows, {size / 1e6:.0f} MB of Arrow",
        "",
        f"Medians of {rounds} rounds, with new processes and warm clients. The time excludes connecting. {state}",
        "",
        "| | wall s | client CPU s | server CPU s | total CPU s | MB on the wire | bytes/row |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for contender in CONTENDERS:
        wall, client, server, wire = (
            median(contender, "warm", field) for field in ("wall", "client_cpu", "server_cpu", "wire_bytes")
        )
        total = statistics.median(
            row["client_cpu"] + row["server_cpu"]
            for row in results
            if row["contender"] == contender.name and row["mode"] == "warm"
        )
        sent = f"{wire / 1e6:.0f} | {wire / count:.1f}" if wire else "- | -"
        lines.append(f"| {contender.name} | {wall:.2f} | {client:.2f} | {server:.2f} | {total:.2f} | {sent} |")
    lines += [
        "",
        "First result of a new client, and the increase of its peak memory:",
        "",
        "| | wall s | total CPU s | peak MB, table | peak / Arrow size | peak MB, batch by batch |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for contender in CONTENDERS:
        wall, peak = median(contender, "cold", "wall"), median(contender, "cold", "client_peak")
        cpu = median(contender, "cold", "client_cpu") + median(contender, "cold", "server_cpu")
        stream = median(contender, "stream", "client_peak")
        lines.append(
            f"| {contender.name} | {wall:.2f} | {cpu:.2f} | {peak / 1e6:.0f} | {peak / size:.2f} | {stream / 1e6:.0f} |"
        )
    lines += [
        "",
        "Peak memory of the server's process after results of "
        + " and then ".join(f"{times * 0.5:g} M rows" for times in REPEATS)
        + ":",
        "",
        "| | " + " | ".join(f"MB after {times * 0.5:g} M rows" for times in REPEATS) + " |",
        "|---|" + "--:|" * len(REPEATS),
    ]
    for contender in CONTENDERS:
        peaks = [row["server_peak"] / 1e6 for row in growth if row["contender"] == contender.name]
        if peaks:
            lines.append(f"| {contender.name} | " + " | ".join(f"{peak:.0f}" for peak in peaks) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch-rows", type=int, default=FLIGHT_ROWS, help="rows of Flight's batches")
    parser.add_argument("--only", default="", help="only contenders whose name contains this text")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    CONTENDERS[:] = [contender for contender in CONTENDERS if arguments.only in contender.name]
    state = memory_report()
    results, growth = measure(arguments.rounds, arguments.batch_rows)
    text = markdown(results, growth, arguments.rounds, state)
    print(text)
    if arguments.markdown:
        arguments.markdown.write_text(text)
    if arguments.json:
        arguments.json.write_text(json.dumps({"state": state, "results": results, "growth": growth}, indent=1) + "\n")


if __name__ == "__main__":
    main()
