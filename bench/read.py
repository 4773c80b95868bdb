"""One client process of a benchmark. The peers have their own interpreter.

    python bench/read.py QUESTION

QUESTION is JSON: the `reader`, the `place` and the `table`; optionally the `query`, `options` and `destination` (see
`readers.py`). With `kinds` of columns, it also reports sums of the values (`sums.py`). `is_alone` means that no other
process uses this network namespace. It imports what it needs, prints `ready`, waits for a line, reads, and prints the
cost as a line of JSON. The time includes connecting.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import readers_bare  # noqa: F401  its readers are also found by their names
from place import Place
from process import forget_peak, memory, received_bytes
from readers import CONNECTED, EXECUTED, READERS, Asked, Received, Step


def network_bytes() -> int:
    """The bytes that the devices of this network namespace have received: all packets, including headers. The loopback
    device receives both directions. If the answer is large, the other direction is mainly acknowledgements."""
    lines = Path("/proc/self/net/dev").read_text().splitlines()[2:]
    return sum(int(line.partition(":")[2].split()[0]) for line in lines)


def measured(question: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """The cost of the reading, and the result."""
    options = dict(question.get("options", {}))
    destination = options.pop("return_type", question.get("destination", "arrow"))
    table = question["table"]
    query = question.get("query") or f"SELECT * FROM {table}"
    asked = Asked(Place(**question["place"]), table, query, destination, options)
    steps = READERS[question["reader"]](asked)
    next(steps)
    print("ready", flush=True)
    sys.stdin.readline()

    me = os.getpid()
    forget_peak(me)
    before = memory(me, "VmRSS")
    received, cpu, start = network_bytes(), time.process_time(), time.perf_counter()
    moments: dict[Step, float] = {}
    found: Any = None
    for found in steps:
        if not isinstance(found, Step):
            break
        moments[found] = time.perf_counter() - start
    if destination == "pandas" and hasattr(found, "to_pandas"):
        found = found.to_pandas()
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    on_wire = network_bytes() - received if question.get("is_alone") else received_bytes()
    connected, executed = moments.get(CONNECTED), moments.get(EXECUTED)
    took = {
        "wall": wall,
        "connect": connected,
        # If the library does not separate connecting, it is included here.
        "execute": None if executed is None else executed - (connected or 0.0),
        "transfer": None if executed is None else wall - executed,
        "client_cpu": cpu,
        "client_peak": memory(me, "VmHWM"),
        "client_before": before,
        "wire_bytes": on_wire or None,
        "arrow_bytes": getattr(found, "nbytes", None),
        "rows": found.rows if isinstance(found, Received) else len(found),
        "bytes": found.bytes if isinstance(found, Received) else None,
    }
    return took, found


def summed(found: Any, kinds: list[str]) -> list[Any] | None:
    """The sums of the values, unless they were discarded."""
    if isinstance(found, Received):
        return None
    import duckdb
    import pyarrow as pa
    import sums

    table = found if isinstance(found, pa.Table) else pa.Table.from_pandas(found, preserve_index=False)
    if table.num_columns != len(kinds):
        raise ValueError(f"{table.num_columns} columns were read, not {len(kinds)}")
    with duckdb.connect() as connection:
        connection.register("found", table.rename_columns([f"c{number}" for number in range(len(kinds))]))
        return [list(one) for one in sums.of(connection, "found", kinds)]


def main() -> None:
    question = json.loads(sys.argv[1])
    took, found = measured(question)
    if "kinds" in question:
        took["sums"] = summed(found, question["kinds"])
    print(json.dumps(took), flush=True)
    # Freeing gigabytes object by object is not part of a measurement.
    os._exit(0)


if __name__ == "__main__":
    main()
