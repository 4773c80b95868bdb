"""One client process of the benchmark of destinations; `destinations.py` starts it.

    python bench/destinations_client.py SOURCE DESTINATION ADDRESS QUERY THREADS NAMES

SOURCE is colonnade or duckdb, DESTINATION one of arrow, dictionary, polars, pandas, pandas-pyarrow. NAMES are the
columns, separated by commas, whose texts are nearly all distinct: `dictionary` leaves them plain. It reads a small
result, prints `connected`, waits for a line, reads the query's result, and prints the cost as a line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import pandas  # noqa: F401  the imports are not part of reading
import polars  # noqa: F401
import pyarrow  # noqa: F401
from process import forget_peak, memory

Read = Callable[[str], Any]


def colonnade(destination: str, address: str, threads: str, plain: list[str]) -> Read:
    import colonnade

    connection = colonnade.connect(address)
    if address.startswith("duckdb:"):
        connection.execute(f"SET threads = {int(threads)}")
    kind, _, backend = destination.partition("-")
    options: dict[str, Any] = {"return_type": "arrow" if kind == "dictionary" else kind}
    if backend:
        options["dtype_backend"] = backend

    def read(query: str) -> Any:
        if kind == "dictionary" and not query.startswith("VALUES"):
            options["dtype"] = {str: "dictionary", **dict.fromkeys(plain, "utf8")}
        return colonnade.read_sql(connection, query, **options)

    return read


def duckdb(destination: str, address: str, threads: str, _: list[str]) -> Read:
    import duckdb

    connection = duckdb.connect(address, read_only=True)
    connection.execute(f"SET threads = {int(threads)}")
    method = {"arrow": "to_arrow_table", "polars": "pl", "pandas": "df"}[destination]
    return lambda query: getattr(connection.sql(query), method)()


def main() -> None:
    source, destination, address, query, threads, names = sys.argv[1:]
    plain = [name for name in names.split(",") if name]
    read = {"colonnade": colonnade, "duckdb": duckdb}[source](destination, address, threads, plain)
    read("VALUES (1, 'a')")
    me = os.getpid()
    print("connected", flush=True)
    sys.stdin.readline()
    forget_peak(me)
    before = memory(me, "VmRSS"), time.process_time(), time.perf_counter()
    made = read(query)
    wall, cpu = time.perf_counter() - before[2], time.process_time() - before[1]
    peak = memory(me, "VmHWM") - before[0]
    print(json.dumps({"wall": wall, "client_cpu": cpu, "client_peak": peak, "rows": len(made)}), flush=True)


main()
