"""The client of `links.py`: answers each line of JSON with what a reading took. Connecting is inside the clock.

A line with nothing but an address only connects.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import colonnade
import pyarrow  # noqa: F401  importing is not reading


def read(uri: str, query: str, options: dict[str, Any], limit: float) -> dict[str, Any]:
    cpu, start = time.process_time(), time.perf_counter()
    progress: list[tuple[float, int]] = []
    rows = plain_bytes = 0
    with colonnade.connect(uri) as connection:
        result = connection.query(query, **options)
        for batch in result:
            # Kept, they would cost the next reading what it takes to get that much memory again.
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


def answer(uri: str, **question: Any) -> object:
    if question:
        return read(uri, **question)
    return colonnade.connect(uri).close()


for line in sys.stdin:
    print(json.dumps(answer(**json.loads(line))), flush=True)
