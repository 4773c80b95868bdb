"""Reads a table into an engine, as one contender of engines.py, in a process of its own: the environment of
`make test-engines` runs it, and needs nothing else of this folder.

    python bench/engines_client.py '{"engine": "dask", "way": "colonnade", "uri": …, "table": …, …}'

It starts the engine, writes a line, waits for one, reads the table twice, and writes a JSON object: the rows, and of
each reading the seconds, and the CPU seconds of this process and of all its descendants.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

#: The work of a contender: it reads the table and returns the number of rows.
Reading = Callable[[], int]
TICKS = os.sysconf("SC_CLK_TCK")


def descendants(pid: int) -> list[int]:
    found = [pid]
    with suppress(FileNotFoundError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += descendants(int(child))
    return found


def cpu_seconds() -> float:
    """User and system time of this process and its descendants, with those that ended and were waited for."""
    ticks = 0
    for pid in descendants(os.getpid()):
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / TICKS


def dask(asked: dict[str, Any]) -> Reading:
    import dask.dataframe
    from dask.distributed import Client, LocalCluster, wait

    workers = asked["workers"]
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None)
    client = Client(cluster)
    client.wait_for_workers(workers)

    def read() -> int:
        if asked["way"] == "colonnade":
            from colonnade.distributed import dask_frame

            frame = dask_frame(asked["uri"], f"select * from {asked['table']}", parts=asked["parts"])
        else:
            uri = asked["uri"].replace("postgresql:", "postgresql+psycopg:", 1)
            frame = dask.dataframe.read_sql_table(
                asked["table"], uri, index_col=asked["key"], npartitions=asked["parts"]
            )
        held = frame.persist()
        wait(held)
        return len(held)

    return read


def ray(asked: dict[str, Any]) -> Reading:
    import ray
    import ray.data

    ray.init(num_cpus=asked["workers"], include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    query, uri, workers = f"select * from {asked['table']}", asked["uri"], asked["parts"]

    def read() -> int:
        if asked["way"] == "colonnade":
            from colonnade.distributed import ray_dataset

            dataset = ray_dataset(uri, query, parts=workers)
        else:
            import psycopg

            # Blocks of the table by a hash of the key, which is the only cut that it has.
            dataset = ray.data.read_sql(
                query,
                lambda: psycopg.connect(uri),
                shard_keys=[asked["key"]],
                shard_hash_fn="hashint8",
                override_num_blocks=workers,
            )
        return dataset.materialize().count()

    return read


def spark(asked: dict[str, Any]) -> Reading:
    from pyspark.sql import Observation, SparkSession
    from pyspark.sql import functions as f

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(f"local[{asked['workers']}]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    builder = builder.config("spark.driver.memory", "3g").config("spark.jars", asked["jdbc"] or "")
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    session.range(10).count()

    def read() -> int:
        if asked["way"] == "colonnade":
            from colonnade.distributed import spark as frame_of

            frame = frame_of(session, asked["uri"], f"select * from {asked['table']}", parts=asked["parts"])
        else:
            place = urlsplit(asked["uri"])
            url = f"jdbc:postgresql://{place.hostname}:{place.port}{place.path}?user={place.username}"
            cuts = {"lowerBound": asked["low"], "upperBound": asked["high"], "numPartitions": asked["parts"]}
            reader = session.read.format("jdbc").option("url", url).option("dbtable", asked["table"])
            reader = reader.option("driver", "org.postgresql.Driver").option("fetchsize", 10_000)
            frame = reader.options(partitionColumn=asked["key"], **cuts).load()
        # All columns of all rows, and nothing is written.
        seen = Observation()
        frame.observe(seen, f.count(f.lit(1)).alias("rows")).write.format("noop").mode("overwrite").save()
        return seen.get["rows"]

    return read


def daft(asked: dict[str, Any]) -> Reading:
    import daft

    query = f"select * from {asked['table']}"

    def read() -> int:
        if asked["way"] == "colonnade":
            from colonnade.distributed import daft_frame

            frame = daft_frame(asked["uri"], query, parts=asked["parts"])
        else:
            frame = daft.read_sql(query, asked["uri"], partition_col=asked["key"], num_partitions=asked["parts"])
        return len(frame.collect())

    return read


def polars(asked: dict[str, Any]) -> Reading:
    import polars

    query = f"select * from {asked['table']}"

    def read() -> int:
        if asked["way"] == "colonnade":
            import colonnade

            return colonnade.scan_sql(asked["uri"], query).collect().height
        return polars.read_database_uri(
            query, asked["uri"], partition_on=asked["key"], partition_num=asked["parts"], engine="connectorx"
        ).height

    return read


ENGINES = {"dask": dask, "ray": ray, "spark": spark, "daft": daft, "polars": polars}


def main() -> None:
    asked = json.loads(sys.argv[1])
    read = ENGINES[asked["engine"]](asked)
    print("ready", flush=True)
    sys.stdin.readline()
    found: dict[str, float] = {}
    for suffix in ("", "_again"):
        cpu, wall = cpu_seconds(), time.perf_counter()
        rows = read()
        found |= {f"wall{suffix}": time.perf_counter() - wall, f"client_cpu{suffix}": cpu_seconds() - cpu}
    print(json.dumps({"rows": rows, **found}), flush=True)


if __name__ == "__main__":
    main()
