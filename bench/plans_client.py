"""A reader of plans_readers.py: reads its parts of a plan, one after another, and keeps nothing.

It reads a pickled pair from its standard input, the parts and the URI by which they are read. Then it writes a line,
waits for one, and answers with a JSON object: rows, seconds, CPU seconds.
"""

from __future__ import annotations

import json
import pickle
import sys
import time

import colonnade  # noqa: F401  the import is not part of reading
import pyarrow  # noqa: F401

parts, uri = pickle.load(sys.stdin.buffer)
print("ready", flush=True)
sys.stdin.buffer.readline()
cpu, wall = time.process_time(), time.perf_counter()
rows = sum(batch.num_rows for part in parts for batch in part.batches(uri=uri))
print(json.dumps({"rows": rows, "wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}), flush=True)
