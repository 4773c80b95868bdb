"""One client process of the study that measures the steps of `pandas.read_sql`; `study/pandas_breakdown.py` starts it.

    python bench/breakdown_client.py URL QUERY steps|whole|CHUNK

URL is SQLAlchemy's. `whole` is `pandas.read_sql`. `steps` is the same, with the time of each step: executing the query,
fetching all rows, making a frame. A number is the rows of a chunk; the chunks are read from the server one by one and
joined at the end. It prints a line of JSON: seconds of wall time and CPU, bytes of memory and on the wire, the number
of rows, and sums of columns for comparison.
"""

from __future__ import annotations

import io
import json
import os
import socket
import sys
import time
from typing import Any

import pandas as pd
import sqlalchemy
from process import forget_peak, memory, received_bytes


class Waited(io.RawIOBase):
    """A socket that measures the time of its reads, for a driver that receives and decodes at the same time."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.seconds = 0.0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        begun = time.perf_counter()
        count = self.connection.recv_into(buffer)
        self.seconds += time.perf_counter() - begun
        return count


def timed(connection: sqlalchemy.Connection) -> Waited | None:
    """PyMySQL creates Python objects while it receives, so its socket is timed. psycopg2 receives everything first."""
    driver = connection.connection.driver_connection
    if type(driver).__module__.partition(".")[0] != "pymysql":
        return None
    waited = Waited(driver._sock)
    driver._rfile = io.BufferedReader(waited)
    return waited


class Clock:
    """Wall time, CPU and memory of consecutive steps."""

    def __init__(self) -> None:
        self.found: dict[str, float] = {}
        self.now = self.read()

    def read(self) -> tuple[float, float, int]:
        return time.perf_counter(), time.process_time(), memory(os.getpid(), "VmRSS")

    def step(self, name: str) -> None:
        before, self.now = self.now, self.read()
        for part, was, is_ in zip(("wall", "cpu", "memory"), before, self.now, strict=True):
            self.found[f"{name}_{part}"] = is_ - was


def steps(connection: sqlalchemy.Connection, query: str) -> tuple[pd.DataFrame, dict[str, float]]:
    waited = timed(connection)
    clock = Clock()
    fetchall = sqlalchemy.CursorResult.fetchall

    def noted(result: sqlalchemy.CursorResult[Any]) -> Any:
        clock.step("transfer")
        rows = fetchall(result)
        clock.step("objects")
        return rows

    sqlalchemy.CursorResult.fetchall = noted
    frame = pd.read_sql(sqlalchemy.text(query), connection)
    clock.step("frame")
    found = clock.found
    if waited:
        # The driver's time without waiting for the server is the time of creating objects.
        decoding = found["transfer_wall"] - waited.seconds
        found["transfer_wall"] -= decoding
        found["objects_wall"] += decoding
        found["objects_memory"] += found["transfer_memory"]
        found["transfer_memory"] = 0
    return frame, found


def chunks(connection: sqlalchemy.Connection, query: str, size: int) -> pd.DataFrame:
    streaming = connection.execution_options(stream_results=True, max_row_buffer=size)
    return pd.concat(pd.read_sql(sqlalchemy.text(query), streaming, chunksize=size), ignore_index=True)


def main() -> None:
    url, query, mode = sys.argv[1:]
    engine = sqlalchemy.create_engine(url)
    with engine.connect() as connection:
        # The cost of a connection's first statement is part of connecting.
        connection.execute(sqlalchemy.text("select 1")).fetchall()
        forget_peak(os.getpid())
        before, received = memory(os.getpid(), "VmRSS"), received_bytes()
        wall, cpu = time.perf_counter(), time.process_time()
        found: dict[str, Any] = {}
        if mode == "steps":
            frame, found = steps(connection, query)
        elif mode == "whole":
            frame = pd.read_sql(sqlalchemy.text(query), connection)
        else:
            frame = chunks(connection, query, int(mode))
        found |= {
            "wall": time.perf_counter() - wall,
            "cpu": time.process_time() - cpu,
            "peak_bytes": memory(os.getpid(), "VmHWM") - before,
            "raw_bytes": received_bytes() - received,
            "frame_bytes": int(frame.memory_usage(deep=True).sum()),
            "rows": len(frame),
            "sums": [float(frame[name].sum()) for name in frame.select_dtypes("number").columns],
        }
    print(json.dumps(found), flush=True)
    # Freeing millions of objects one by one is not part of a measurement.
    os._exit(0)


if __name__ == "__main__":
    main()
