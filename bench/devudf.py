"""devUDF: from a failing query to a stopped breakpoint, and what fetching a function's inputs costs.

    python bench/devudf.py [--scale 1] [--rounds 5] [--markdown FILE]

1. A query over lineitem (scale factor 0.1) fails in a table function. `colonnade udf pull`, then `colonnade udf debug
   --listen`, then a client of the Debug Adapter Protocol that sets a breakpoint: the wall time until it has stopped.
2. The inputs of that function for lineitem: wall time of EXPLAIN (INPUTS …) against the query of the same columns, both
   into Arrow in this process, in turns; the least of the rounds.
3. A sample of 1,000 rows: wall time, and the rows that the client gets.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import colonnade
import duckdb

sys.path.insert(0, str(Path(__file__).parents[1]))
from testbed.serving import Server, function_options, serve

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


def least(rounds: int, *ways: Callable[[], object]) -> list[float]:
    """The least wall time of each way, in seconds; they take turns."""
    found = [float("inf")] * len(ways)
    for _ in range(rounds):
        for at, way in enumerate(ways):
            begin = time.perf_counter()
            way()
            found[at] = min(found[at], time.perf_counter() - begin)
    return found


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
        with serve(large, *function_options()) as server, colonnade.connect(uri_of(server)) as connection:
            connection.execute(CREATE)
            plain = f"SELECT {COLUMNS} FROM lineitem"
            inputs = f"SELECT * FROM scored(({plain}))"
            all_rows, captured, sampled = least(
                args.rounds,
                lambda: connection.query(plain).to_arrow(),
                lambda: connection.query(f"EXPLAIN (INPUTS scored) {inputs}").to_arrow(),
                lambda: connection.query(f"EXPLAIN (INPUTS scored, SAMPLE 1000) {inputs}").to_arrow(),
            )
            table = connection.query(f"EXPLAIN (INPUTS scored, SAMPLE 1000) {inputs}").to_arrow()
            lines.append(
                f"| inputs of {rows:,} rows, {captured:.2f} s, against the same columns of a query, {all_rows:.2f} s "
                f"| {captured / all_rows:.2f}x | 1.2x |"
            )
            lines.append(
                f"| a sample of 1,000 rows of {rows:,}: {sampled:.2f} s | {table.num_rows:,} rows, with the one of "
                "values | one scan, 1,000 rows |"
            )
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if args.markdown is not None:
        args.markdown.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
