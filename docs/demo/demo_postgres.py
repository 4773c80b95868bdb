"""The extension compared with PostgreSQL's own COPY: a private PostgreSQL with TPC-H lineitem, read in three formats.

    python docs/demo/demo_postgres.py [--scale 1]

Each read happens in its own process, over a unix socket. pyarrow's CSV reader parses COPY text into Arrow. COPY binary
is only received, because pyarrow has no reader for it. The result is compared with the values that were loaded: the
number of rows and a checksum over every value. `make demo-postgres` installs what this needs and runs it.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
from demo import QUERY, checksum, generate, own_answer, peak_bytes

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from postgres_tables import SETTINGS, cpu, load, pg

WAYS = ["COPY text", "COPY binary", "colonnade plain", "colonnade light"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", default="1", help="TPC-H scale factor: 1 is 6 million rows (default: 1)")
    parser.add_argument("--read", nargs=3, metavar=("WAY", "URI", "DSN"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read:
        read(*arguments.read)
        return

    database = generate(arguments.scale)
    expected = own_answer(database)
    # A quarter of the memory, as PostgreSQL's documentation recommends.
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (4 << 20)
    print("starting PostgreSQL with the extension, and loading lineitem …", flush=True)
    with pg.installed() as installation, pg.cluster(installation, SETTINGS | {"shared_buffers": f"{memory}MB"}) as own:
        with duckdb.connect(str(database), read_only=True) as connection, own.connect() as session:
            session.execute("CREATE EXTENSION colonnade")
            parquet = Path(own.directory) / "lineitem.parquet"
            connection.execute(f"COPY lineitem TO '{parquet}' (FORMAT parquet, COMPRESSION lz4)")
        load(own, f"read_parquet('{parquet}')", "lineitem")
        parquet.unlink()
        titles = f"{'seconds':>9}{'server CPU':>12}{'client CPU':>12}{'MB/s':>8}{'wire B/row':>12}{'peak MB':>9}"
        print(f"{'':16}{titles}  values")
        same = [report(own, way, expected) for way in WAYS]
    if not all(same):
        sys.exit("error: a result differs from what was loaded")


def report(own: pg.Cluster, way: str, expected: tuple[int, str]) -> bool:
    """Reads in a new process and prints a line of the table. Returns whether the result is the loaded data."""
    command = [sys.executable, __file__, "--read", way, own.uri(), own.dsn()]
    before = cpu(own)
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    time.sleep(0.3)
    server = cpu(own) - before
    if "checksum" in found:
        same = (found["rows"], found["checksum"]) == expected
        values = "the same" if same else "DIFFERENT"
    else:
        same, values = True, "not decoded"
    rows = expected[0]
    # Megabytes per second of the table in Arrow's form, for every format; COPY binary is not decoded.
    speed = f"{found['arrow_bytes'] / found['seconds'] / 1e6:8.0f}" if found["arrow_bytes"] else f"{'-':>8}"
    print(
        f"{way:16}{found['seconds']:9.2f}{server:12.2f}{found['client_cpu']:12.2f}{speed}"
        f"{found['wire_bytes'] / rows:12.1f}{found['peak_bytes'] / 1e6:9.0f}  {values}",
        flush=True,
    )
    return same


def read(way: str, uri: str, dsn: str) -> None:
    """Reads the table and prints the cost."""
    import pyarrow as pa

    columns: dict[str, Any] = {}
    table: pa.Table | None = None
    if way.startswith("colonnade"):
        import colonnade

        connection = colonnade.connect(uri)
        cpu_before, start = time.process_time(), time.perf_counter()
        result = connection.query(QUERY, compression=way.partition(" ")[2])
        table = result.to_arrow()
        columns = {"wire_bytes": result.stats.wire_bytes}
    else:
        import psycopg
        import pyarrow.csv as csv

        with psycopg.connect(dsn) as session, session.cursor() as cursor:
            # The columns' types, which neither format contains.
            names = {name: arrow_type(type_) for name, type_ in session.execute(DESCRIBE).fetchall()}
            cpu_before, start = time.process_time(), time.perf_counter()
            if way == "COPY text":
                with cursor.copy("COPY lineitem TO STDOUT") as copy:
                    received = b"".join(copy)
                table = csv.read_csv(
                    io.BytesIO(received),
                    read_options=csv.ReadOptions(column_names=list(names)),
                    parse_options=csv.ParseOptions(delimiter="\t", quote_char=False),
                    convert_options=csv.ConvertOptions(column_types=names),
                )
                columns = {"wire_bytes": len(received)}
            else:
                with cursor.copy("COPY lineitem TO STDOUT (FORMAT binary)") as copy:
                    columns = {"wire_bytes": sum(len(data) for data in copy)}
    seconds, client_cpu = time.perf_counter() - start, time.process_time() - cpu_before
    found = {"seconds": seconds, "client_cpu": client_cpu, "peak_bytes": peak_bytes(), "arrow_bytes": 0, **columns}
    if table is not None:
        found |= {"arrow_bytes": table.nbytes, "rows": table.num_rows, "checksum": checksum(table)}
    print(json.dumps(found))


DESCRIBE = """SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
              WHERE attrelid = 'lineitem'::regclass AND attnum > 0 ORDER BY attnum"""


def arrow_type(name: str) -> Any:
    import pyarrow as pa

    types = {"bigint": pa.int64(), "integer": pa.int32(), "date": pa.date32(), "character varying": pa.string()}
    return types.get(name) or pa.decimal128(15, 2)


if __name__ == "__main__":
    main()
