"""The client of `links.py`: answers each line of JSON with the cost of a reading, including connecting.

A line that contains only an address connects and does nothing else. With `times`, it reads this number of times on one
connection. The times of these readings do not include connecting.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import colonnade
import pyarrow  # noqa: F401  the import is not part of reading


def read(uri: str, query: str, options: dict[str, Any], limit: float) -> dict[str, Any]:
    cpu, start = time.process_time(), time.perf_counter()
    progress: list[tuple[float, int]] = []
    rows = plain_bytes = 0
    with colonnade.connect(uri) as connection:
        result = connection.query(query, **options)
        for batch in result:
            # If the batches were kept, the next reading would include the time to allocate this memory again.
            rows += batch.num_rows
            plain_bytes += batch.nbytes
            progress.append((time.perf_counter() - start, rows))
            if progress[-1][0] > limit:
                result.close()
                break
        wall = time.perf_counter() - start
        stats = result.stats
    return {
        "wall": wall if wall <= limit else None,
        "client_cpu": time.process_time() - cpu,
        "rows": rows,
        "plain_bytes": plain_bytes,
        "wire_bytes": stats.wire_bytes,
        "chunks": stats.chunks,
        "configurations": getattr(stats, "configurations", stats.codecs),
        "progress": progress,
    }


def repeat(uri: str, query: str, options: dict[str, Any], times: int) -> list[dict[str, Any]]:
    found = []
    with colonnade.connect(uri) as connection:
        for _ in range(times):
            cpu, start = time.process_time(), time.perf_counter()
            result = connection.query(query, **options)
            rows = sum(batch.num_rows for batch in result)
            wall = time.perf_counter() - start
            found.append(
                {"wall": wall, "client_cpu": time.process_time() - cpu, "rows": rows, "choice": result.stats.choice}
            )
    return found


def answer(uri: str, **question: Any) -> object:
    if "times" in question:
        return repeat(uri, **question)
    if question:
        return read(uri, **question)
    return colonnade.connect(uri).close()


for line in sys.stdin:
    print(json.dumps(answer(**json.loads(line))), flush=True)
