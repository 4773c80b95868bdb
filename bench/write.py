"""One client process of `writes.py`. The peers have their own interpreter.

    python bench/write.py QUESTION

QUESTION is JSON: the `writer`, the `place`, the `table`, the Parquet `file` and the number of its `rows`; optionally
`options` (see `writers.py`). `is_alone` means that no other process uses this network namespace. It makes the rows
ready in the library's own form, prints `ready`, waits for a line, writes, and prints the cost as a line of JSON. The
time includes connecting.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from place import Place
from process import forget_peak, memory, sent_bytes
from writers import WRITERS, Given


def network_bytes() -> int:
    """The bytes that the devices of this network namespace have sent: all packets, including headers."""
    lines = Path("/proc/self/net/dev").read_text().splitlines()[2:]
    return sum(int(line.partition(":")[2].split()[8]) for line in lines)


def measured(question: dict[str, Any]) -> dict[str, Any]:
    """Writes, and returns the cost."""
    place, rows = Place(**question["place"]), question["rows"]
    given = Given(place, question["table"], question["file"], rows, question.get("options", {}))
    run = WRITERS[question["writer"]](given)
    print("ready", flush=True)
    sys.stdin.readline()

    me, is_alone = os.getpid(), question.get("is_alone", False)
    forget_peak(me)
    before = memory(me, "VmRSS")
    sent, cpu, start = network_bytes(), time.process_time(), time.perf_counter()
    # The connection stays open until the bytes of its socket are read.
    connection = run()
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    on_wire = network_bytes() - sent if is_alone else sent_bytes()
    found = {
        "wall": wall,
        "client_cpu": cpu,
        "client_peak": memory(me, "VmHWM"),
        "client_before": before,
        "wire_bytes": on_wire or None,
        "rows": rows,
    }
    del connection
    return found


def main() -> None:
    print(json.dumps(measured(json.loads(sys.argv[1]))), flush=True)
    # Freeing gigabytes object by object is not part of a measurement.
    os._exit(0)


if __name__ == "__main__":
    main()
