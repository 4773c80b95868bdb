"""devUDF: from a failing query to a stopped breakpoint, and what fetching a function's inputs costs.

    python bench/devudf.py [--scale 1] [--rounds 5] [--markdown FILE]

1. A query over lineitem (scale factor 0.1) fails in a table function. `colonnade udf pull`, then `colonnade udf debug
   --listen`, then a client of the Debug Adapter Protocol that sets a breakpoint: the wall time until it has stopped.
2. The inputs of that function for lineitem: EXPLAIN (INPUTS …) against the query of the same columns, both into Arrow
   here, both then into a file, and both into an encrypted file. In turns; the least wall time and the least CPU
   time of server and client of the rounds.
3. A sample of 1,000 rows: the same, and the rows that the client gets.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import colonnade
import duckdb
import pyarrow as pa
from colonnade_serve._udf_tools import catalog, inputs
from colonnade_serve._udf_tools.sealed import KEY_BYTES, write_sealed

sys.path.insert(0, str(Path(__file__).parents[1]))
from process import cpu_seconds

from tests.testbed.serving import Server, function_options, serve

#: The columns that the function gets.
COLUMNS = "l_orderkey, l_quantity, l_extendedprice, l_discount, l_shipmode"
CREATE = """\
CREATE FUNCTION scored(l_orderkey BIGINT, l_quantity DECIMAL(15,2), l_extendedprice DECIMAL(15,2),
                       l_discount DECIMAL(15,2), l_shipmode VARCHAR)
RETURNS TABLE(l_orderkey BIGINT) LANGUAGE PYTHON AS $$
    rows = numpy.arange(len(l_orderkey) + 1)
    return {'l_orderkey': l_orderkey[rows]}
$$"""
#: The line of the file on which the debugger stops.
LINE = 5


class Editor:
    """A client of the Debug Adapter Protocol."""

    def __init__(self, port: int) -> None:
        self.stream = socket.create_connection(("127.0.0.1", port), timeout=60).makefile("rwb")
        self.number = 0

    def send(self, command: str, **arguments: Any) -> None:
        self.number += 1
        request = {"seq": self.number, "type": "request", "command": command, "arguments": arguments}
        body = json.dumps(request).encode()
        self.stream.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.stream.flush()

    def until(self, name: str) -> dict[str, Any]:
        """The next event or answer with this name."""
        while True:
            length = 0
            while line := self.stream.readline().strip():
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            if not length:
                raise RuntimeError("the debugged process has ended")
            message = json.loads(self.stream.read(length))
            if name in (message.get("event"), message.get("command")):
                return message.get("body") or {}


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def lineitem(file: Path, scale: float) -> int:
    """A database with lineitem, made by tpchgen. Returns the number of rows."""
    tpchgen = Path(sys.executable).with_name("tpchgen-cli")
    command = [tpchgen, "parquet", "-s", str(scale), "--tables=lineitem", f"--output-dir={file.parent}"]
    subprocess.run(command, check=True)
    generated = file.parent / "lineitem.parquet"
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE lineitem AS FROM read_parquet(?)", [str(generated)])
        ((rows,),) = connection.execute("SELECT count(*) FROM lineitem").fetchall()
    generated.unlink()
    return rows


def uri_of(server: Server) -> str:
    return f"postgresql://bench@{server.host}:{server.port}/"


def stopped(server: Server) -> tuple[float, float]:
    """Seconds of `pull`, and from the command `debug` to the stopped breakpoint."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"COLONNADE_URI": uri_of(server)}
        udf = [sys.executable, "-m", "colonnade", "udf"]
        begin = time.perf_counter()
        subprocess.run([*udf, "pull"], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
        pulled = time.perf_counter()
        port = free_port()
        query = f"SELECT * FROM scored((SELECT {COLUMNS} FROM lineitem))"
        command = [*udf, "debug", "scored", "--sql", query, "--listen", str(port)]
        with subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr is not None
            while "waiting for a debugger" not in (line := process.stderr.readline()):
                assert line, "the command has ended"
            editor = Editor(port)
            editor.send("initialize", adapterID="bench", pathFormat="path", linesStartAt1=True, columnsStartAt1=True)
            editor.send("attach", justMyCode=True)
            editor.until("initialized")
            file = str(Path(folder).resolve() / "udf/public/scored.py")
            editor.send("setBreakpoints", source={"path": file}, breakpoints=[{"line": LINE}])
            editor.send("configurationDone")
            assert editor.until("stopped")["reason"] == "breakpoint"
            end = time.perf_counter()
            process.kill()
    return pulled - begin, end - pulled


@dataclass
class Cost:
    """The least seconds of the rounds: wall time, and CPU time of the server's worker and of this process."""

    wall: float = float("inf")
    cpu: float = float("inf")

    def __str__(self) -> str:
        return f"{self.wall:.2f} s (CPU {self.cpu:.2f} s)"


def least(rounds: int, server: Server, *ways: Callable[[], object]) -> list[Cost]:
    """What each way costs; they take turns. Before each measurement the way runs once, so that none is charged for
    memory that the allocators have kept, or given back, for the way before it."""
    found = [Cost() for _ in ways]
    for _ in range(rounds):
        for cost, way in zip(found, ways, strict=True):
            way()
            cpu, begin = cpu_seconds(server.worker) + time.process_time(), time.perf_counter()
            way()
            cost.wall = min(cost.wall, time.perf_counter() - begin)
            cost.cpu = min(cost.cpu, cpu_seconds(server.worker) + time.process_time() - cpu)
    return found


def inputs_of(server: Server, rounds: int, rows: int) -> list[str]:
    """The lines of the table for the inputs of a query over all of lineitem."""
    plain = f"SELECT {COLUMNS} FROM lineitem"
    query = f"SELECT * FROM scored(({plain}))"
    key = secrets.token_bytes(KEY_BYTES)
    with tempfile.TemporaryDirectory() as folder, colonnade.connect(uri_of(server)) as connection:
        connection.execute(CREATE)
        (function,) = catalog.functions(connection, ["scored"])
        file = Path(folder) / "rows"

        def read(statement: str) -> pa.Table:
            return connection.query(statement).to_arrow()

        def fetched(key: bytes | None = None) -> None:
            with inputs.arriving(connection, function.file.declaration, query, inputs.Wanted()) as found:
                found.save(file, key)

        def written() -> None:
            table = read(plain)
            with pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table)

        def sealed() -> None:
            table = read(plain)
            with file.open("wb") as output:
                write_sealed(output, table.schema, table.to_batches(), key)

        sample = f"EXPLAIN (INPUTS scored, SAMPLE 1000) {query}"
        found = least(
            rounds,
            server,
            lambda: read(plain),
            lambda: read(f"EXPLAIN (INPUTS scored) {query}"),
            written,
            fetched,
            sealed,
            lambda: fetched(key),
            lambda: read(sample),
        )
        count = read(sample).num_rows
    lines = []
    for where, at in (("in memory", 0), ("in a file", 2), ("in an encrypted file", 4)):
        rest, captured = found[at : at + 2]
        lines.append(
            f"| inputs of {rows:,} rows {where}, {captured}, against the same columns of a query, {rest} "
            f"| {captured.wall / rest.wall:.2f}x, CPU {captured.cpu / rest.cpu:.2f}x | 1.2x |"
        )
    about = f"{count:,} rows, with the one of values"
    return [*lines, f"| a sample of 1,000 rows of {rows:,}: {found[-1]} | {about} | one scan, 1,000 rows |"]


def main() -> int:
    """Measures, and writes a table. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1, help="scale factor of lineitem for the inputs")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--markdown", type=Path)
    args = parser.parse_args()
    lines = ["| what | measured | aim |", "|---|--:|--:|"]
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder) / "small.duckdb", Path(folder) / "large.duckdb"
        lineitem(small, 0.1)
        rows = lineitem(large, args.scale)
        with serve(small, *function_options()) as server, colonnade.connect(uri_of(server)) as connection:
            connection.execute(CREATE)
            times = [stopped(server) for _ in range(args.rounds)]
            pull, debug = min(times, key=sum)
            lines.append(
                f"| from a failing query on lineitem (scale factor 0.1) to a stopped breakpoint: `pull` {pull:.2f} s, "
                f"`debug` {debug:.2f} s | {pull + debug:.2f} s, 2 commands | 5 s, 3 commands |"
            )
        with serve(large, *function_options()) as server:
            lines += inputs_of(server, args.rounds, rows)
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if args.markdown is not None:
        args.markdown.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
