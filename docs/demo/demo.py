"""Generates TPC-H lineitem, serves it, and reads it over TCP and over a unix socket.

    python docs/demo/demo.py [--scale 1]

Each read happens in its own process. The result is compared with DuckDB's own: the number of rows and a checksum over
every value. `make demo` installs what this needs and runs it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

DATA = Path(__file__).parent / ".data"
QUERY = "SELECT * FROM lineitem"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", default="1", help="TPC-H scale factor: 1 is 6 million rows (default: 1)")
    parser.add_argument("--read", nargs=2, metavar=("URI", "INTO"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read:
        read(*arguments.read)
        return

    database = generate(arguments.scale)
    print("asking DuckDB itself …", flush=True)
    expected = own_answer(database)
    with tempfile.TemporaryDirectory() as directory, served(database, Path(directory) / "colonnade.sock") as uris:
        print(f"{'':22}{'rows':>12}{'seconds':>9}{'MB/s':>8}{'wire B/row':>12}{'peak MB':>9}  same as DuckDB")
        same = [report(how, uri, into, expected) for how, uri in uris.items() for into in ("arrow", "pandas")]
    if not all(same):
        sys.exit("error: a result differs from DuckDB's")


def generate(scale: str) -> Path:
    """The DuckDB file with lineitem. It is created unless it exists."""
    directory = DATA / f"sf{scale}"
    database = directory / "lineitem.duckdb"
    if not database.exists():
        print(f"generating lineitem at scale factor {scale} …", flush=True)
        directory.mkdir(parents=True, exist_ok=True)
        tpchgen = Path(sys.executable).with_name("tpchgen-cli")
        subprocess.run(
            [tpchgen, "parquet", "-s", scale, "--tables=lineitem", f"--output-dir={directory}"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        unfinished = database.with_suffix(".unfinished")
        unfinished.unlink(missing_ok=True)
        with duckdb.connect(str(unfinished)) as connection:
            parquet = directory / "lineitem.parquet"
            connection.execute("CREATE TABLE lineitem AS FROM read_parquet(?)", [str(parquet)])
        parquet.unlink()
        unfinished.rename(database)
    return database


@contextmanager
def served(database: Path, path: Path) -> Iterator[dict[str, str]]:
    """`colonnade serve` on a free TCP port and on a unix socket; yields the URI of each."""
    command = [sys.executable, "-m", "colonnade", "serve", str(database), "--read-only"]
    command += ["--listen", "127.0.0.1:0", "--unix", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        # It prints one line for each address when it listens there.
        lines = [server.stdout.readline().strip() for _ in ("TCP", "unix")]
        print("\n".join(lines), flush=True)
        try:
            yield {
                "TCP": f"postgresql://{lines[0].removeprefix('listening on ')}/lineitem",
                "unix socket": f"postgresql:///lineitem?host={path}",
            }
        finally:
            server.terminate()


def report(how: str, uri: str, into: str, expected: tuple[int, str]) -> bool:
    """Reads in a new process and prints a line of the table. Returns whether the result is DuckDB's."""
    command = [sys.executable, __file__, "--read", uri, into]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    same = (found["rows"], found["checksum"]) == expected
    print(
        f"{how + ' into ' + into:22}{found['rows']:12,}{found['seconds']:9.2f}"
        f"{found['arrow_bytes'] / found['seconds'] / 1e6:8.0f}{found['wire_bytes'] / found['rows']:12.1f}"
        f"{found['peak_bytes'] / 1e6:9.0f}  {'yes' if same else 'NO'}",
        flush=True,
    )
    return same


def read(uri: str, into: str) -> None:
    """Reads the table and prints the cost. MB/s counts the bytes of the Arrow table."""
    import colonnade
    import pyarrow as pa

    if into == "pandas":
        import pandas as pd  # noqa: F401  the import is not part of reading
    with colonnade.connect(uri) as connection:
        start = time.perf_counter()
        result = connection.query(QUERY)
        data = result.to_arrow() if into == "arrow" else result.to_pandas("exact")
        seconds = time.perf_counter() - start
    peak = peak_bytes()
    table = data if into == "arrow" else pa.Table.from_pandas(data, schema=result.schema, preserve_index=False)
    found = {
        "rows": len(data),
        "seconds": seconds,
        "arrow_bytes": table.nbytes,
        "wire_bytes": result.stats.wire_bytes,
        "peak_bytes": peak,
        "checksum": checksum(table),
    }
    print(json.dumps(found))


#: A number that depends on every value but not on the order of the rows.
CHECKSUM = "sum(hash({0})::HUGEINT)::VARCHAR"


def own_answer(database: Path) -> tuple[int, str]:
    """The number of rows and the checksum of lineitem, computed by DuckDB from its file."""
    with duckdb.connect(str(database), read_only=True) as connection:
        [answer] = connection.sql(f"SELECT count(*), {CHECKSUM.format('lineitem')} FROM lineitem").fetchall()
    return answer


def checksum(table: Any) -> str:
    """The number of rows and the checksum of a table that was read."""
    with duckdb.connect() as connection:
        connection.register("result", table)
        [(checksum,)] = connection.sql(f"SELECT {CHECKSUM.format('result')} FROM result").fetchall()
    return checksum


def peak_bytes() -> int:
    """The peak memory of this process."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    main()
