"""One client process of the end-to-end benchmark; `end_to_end.py` starts it.

    python bench/client.py SOURCE ADDRESS QUERY warm|cold|stream [TIMES]

It connects, prints `connected`, waits for a line, reads the result, and prints the cost as a line of JSON. The parent
process measures the server before and after. `warm` reads the result once before, on the same connection. `stream`
reads batch by batch and keeps none. TIMES (default: 1) is how often the others read it; the cost is that of all.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from process import forget_peak, memory, received_bytes

# A source gives two functions: the query's result as a table, and as batches.
Source = tuple[Callable[[], pa.Table], Callable[[], Iterator[pa.RecordBatch]]]


def colonnade(address: str, query: str) -> Source:
    import colonnade

    connection = colonnade.connect(address)

    def batches() -> Iterator[pa.RecordBatch]:
        yield from pa.RecordBatchReader.from_stream(connection.query(query))

    return lambda: connection.query(query).to_arrow(), batches


def flight(address: str, query: str) -> Source:
    from pyarrow import flight

    client = flight.connect(address)
    ticket = flight.Ticket(query.encode())

    def batches() -> Iterator[pa.RecordBatch]:
        yield from client.do_get(ticket).to_reader()

    return lambda: client.do_get(ticket).read_all(), batches


def duckdb(address: str, query: str) -> Source:
    """No transfer: the engine in this process."""
    import duckdb

    connection = duckdb.connect(address, read_only=True)
    return lambda: connection.sql(query).to_arrow_table(), lambda: iter(connection.sql(query).to_arrow_reader(65536))


SOURCES = {"colonnade": colonnade, "flight": flight, "duckdb": duckdb}


def checksum(table: pa.Table) -> str:
    """A number that depends on every value but not on the order of the rows."""
    import duckdb

    with duckdb.connect() as connection:
        connection.register("result", table)
        [(checksum,)] = connection.sql("SELECT sum(hash(result)::HUGEINT) FROM result").fetchall()
    return str(checksum)


def main() -> None:
    kind, address, query, mode, *times = sys.argv[1:]
    read_table, read_batches = SOURCES[kind](address, query)
    if mode == "warm":
        read_table()
    me = os.getpid()
    print("connected", flush=True)
    sys.stdin.readline()

    forget_peak(me)
    before = memory(me, "VmRSS"), received_bytes(), time.process_time(), time.perf_counter()
    table, rows = None, 0
    if mode == "stream":
        for batch in read_batches():
            rows += batch.num_rows
    else:
        for _ in range(int(times[0]) if times else 1):
            table = None
            table = read_table()
            rows = table.num_rows
    wall = time.perf_counter() - before[3]
    found: dict[str, Any] = {
        "wall": wall,
        "client_cpu": time.process_time() - before[2],
        "wire_bytes": received_bytes() - before[1],
        "client_peak": memory(me, "VmHWM") - before[0],
        "client_base": before[0],
        "rows": rows,
    }
    print(json.dumps(found), flush=True)
    if table is not None:
        print(json.dumps({"arrow_bytes": table.nbytes, "checksum": checksum(table)}), flush=True)


if __name__ == "__main__":
    main()
