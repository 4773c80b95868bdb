"""Engines' own ways to read lineitem from PostgreSQL, against colonnade.distributed: wall time and CPU time.

    python bench/engines.py --engines .venv-engines/bin/python [--jdbc JAR] [--rounds 3] [--only dask ray …]
                            [--markdown FILE] [--json FILE]

Each contender has a process of its own in each round (`engines_client.py`), which starts the engine before the time
begins, and reads twice: engines compile and import at their first reading. All columns
of all rows arrive in the engine: in the memory of Dask's and Ray's workers, in Daft and Polars, and in Spark's tasks,
which discard them. The ways of the engines are cut by the key, which has an index. Contenders take turns in each round.
The CPU time is that of all processes of the engine, and of PostgreSQL. The figures are medians.
"""

from __future__ import annotations

import argparse
import json
import statistics
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
from data import DIRECTORY
from postgres_tables import SETTINGS, cpu, load, without_extension
from turns import Row, add_outputs, reading, write

from tests.testbed import postgres as pg

TABLE, KEY = "lineitem", "l_orderkey"
CLIENT = Path(__file__).with_name("engines_client.py")


@dataclass(frozen=True)
class Contender:
    """A way to read a table into an engine."""

    engine: str
    name: str
    #: `own` is the engine's.
    way: str
    #: Whether PostgreSQL has the extension, which only the ways of this package notice.
    has_extension: bool = True


OWN = {
    "dask": "read_sql_table",
    "ray": "read_sql",
    "spark": "JDBC, partitionColumn",
    "daft": "read_sql",
    "polars": "read_database_uri, partition_on",
}
OURS = {"dask": "dask_frame", "ray": "ray_dataset", "spark": "spark", "daft": "daft_frame", "polars": "scan_sql"}


def contenders(engines: list[str]) -> list[Contender]:
    found = []
    for engine in engines:
        found.append(Contender(engine, f"{engine}: {OWN[engine]}", "own"))
        found.append(Contender(engine, f"{engine}: colonnade's {OURS[engine]}", "colonnade"))
        found.append(Contender(engine, f"{engine}: the same, no extension", "colonnade", has_extension=False))
    return found


def measure(arguments: argparse.Namespace) -> list[Row]:
    source = DIRECTORY / f"{TABLE}.parquet"
    rows = pq.read_metadata(source).num_rows
    results: list[Row] = []
    with pg.installed() as installation, pg.cluster(installation, SETTINGS) as cluster:
        with cluster.connect() as session:
            session.execute("CREATE EXTENSION colonnade")
        load(cluster, f"read_parquet('{source}')", TABLE)
        with cluster.connect() as session:
            session.execute(f"CREATE INDEX ON {TABLE} ({KEY})")
            session.execute(f"ANALYZE {TABLE}")
            ((low, high),) = session.execute(f"SELECT min({KEY}), max({KEY}) FROM {TABLE}").fetchall()
        asked = {"uri": cluster.uri(tcp=True), "table": TABLE, "key": KEY, "low": low, "high": high + 1}
        asked |= {"workers": arguments.workers, "parts": arguments.parts, "jdbc": arguments.jdbc}
        for number in range(arguments.rounds):
            for contender in contenders(arguments.only):
                question = json.dumps({**asked, "engine": contender.engine, "way": contender.way})
                command = [arguments.engines, str(CLIENT), question]
                if contender.has_extension:
                    result = reading(command, lambda: cpu(cluster))
                else:
                    with without_extension(cluster):
                        result = reading(command, lambda: cpu(cluster))
                if "error" not in result:
                    # PostgreSQL does the same work for both.
                    result["server_cpu"] /= 2
                if "error" not in result and result["rows"] != rows:
                    result = {"error": f"{result['rows']} of {rows} rows"}
                results.append({"contender": contender.name, "round": number, **result})
                print(results[-1], flush=True)
    return results


def report(results: list[Row], engines: list[str]) -> str:
    lines = [
        "| lineitem from PostgreSQL | first: wall s | CPU s of the engine | again: wall s | CPU s of the engine |"
        " CPU s of PostgreSQL |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for contender in contenders(engines):
        rows = [row for row in results if row["contender"] == contender.name]
        good = [row for row in rows if "error" not in row]
        if not good:
            reason = rows[0]["error"].replace("|", "/") if rows else "not run"
            lines.append(f"| {contender.name} | not measured: {reason} | | | | |")
            continue

        fields = ("wall", "client_cpu", "wall_again", "client_cpu_again", "server_cpu")
        cells = [f"{statistics.median(row[field] for row in good):.2f}" for field in fields]
        lines.append(f"| {contender.name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", required=True, help="the interpreter of the engines' environment")
    parser.add_argument("--jdbc", help="PostgreSQL's JDBC driver, for Spark's own way")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2, help="worker processes, or threads of Spark")
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--only", nargs="*", choices=list(OWN), default=list(OWN))
    add_outputs(parser)
    arguments = parser.parse_args()
    results = measure(arguments)
    write(report(results, arguments.only), results, arguments)


if __name__ == "__main__":
    main()
