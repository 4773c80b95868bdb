"""One client process of a benchmark; the peers have an interpreter of their own.

    python bench/read.py QUESTION

QUESTION is JSON: the `reader`, the `place` and the `table`; if need be the `query`, `options` and `destination`
(`readers.py` says what these are). `kinds` of columns ask for sums of what was read (`sums.py`), and `is_alone` says
that nobody else uses this network namespace. It imports what it needs, says `ready`, waits for a line, reads, and
prints what that took as a line of JSON. Connecting is inside the clock.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import readers_bare  # noqa: F401  its readers are found by their names, too
from place import Place
from process import forget_peak, memory, received_bytes
from readers import CONNECTED, EXECUTED, READERS, Asked, Received, Step


def network_bytes() -> int:
    """What the devices of this network namespace have received: all packets, headers included. The loopback device
    receives what goes in either direction, acknowledgements above all, where the answer is large."""
    lines = Path("/proc/self/net/dev").read_text().splitlines()[2:]
    return sum(int(line.partition(":")[2].split()[0]) for line in lines)


def measured(question: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """What the reading took, and what was read."""
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
        # Where connecting has no moment of its own, it is within this.
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
    """The sums of what was read, unless it was thrown away."""
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
    # Freeing gigabytes object by object is nobody's measurement.
    os._exit(0)


if __name__ == "__main__":
    main()
