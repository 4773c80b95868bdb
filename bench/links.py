"""The link laboratory: compares `auto` with each fixed configuration on each link. Needs root; `make bench-links`.

    python bench/links.py [--links NAME …] [--tables NAME …] [--rounds N] [--seconds S] [--json FILE] [--markdown FILE]

For each link and table, `auto` and the fixed configurations read the same rows in turns, from a `colonnade serve` in
one network namespace by a client in another (`laboratory.py`). A fixed configuration that takes more than
MAX_TIME_RATIO times as long as the best one is not run again. Regret is the median time of `auto` divided by that of
the best fixed configuration, minus one. `links_plots.py` draws the plots.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import data
import duckdb
import laboratory
from colonnade._cli.memory_state import memory_report
from laboratory import CHUNK_BYTES, Client, Link, Server, Swing, client, congestion_controls, serving, shaped

WANDERING = random.Random(1)
LINKS = [
    Link("10", 10, delay=5, queue=100_000),
    Link("100", 100, delay=1, queue=500_000),
    Link("1000", 1000, queue=1_000_000),
    Link("wan", 100, delay=25, loss=0.01, queue=1_500_000, congestion="bbr"),
    # The slow rate is first, so that a table that takes two seconds is read at both rates.
    Link("swing", 1000, queue=500_000, swings=(10, 1000)),
    # The same numbers in each run.
    Link("wander", 300, queue=500_000, swings=tuple(map(WANDERING.randint, [20] * 40, [300] * 40)), period=0.5),
    Link("loopback", None),
    Link("unix socket", None),
]
#: CUBIC treats each loss as a full queue, so 1 % loss leaves 3 Mbit/s. It is measured only on request.
SLOW_LINKS = [Link("wan-cubic", 100, delay=25, loss=0.01, queue=1_500_000)]
FIXED = ["plain", "light", "light+fsst", "light+lz4", "light+zstd-1", "light+zstd-3", "light+zstd-9"]
#: How many times longer than the best one a configuration may take. Beyond that it is not run again.
MAX_TIME_RATIO = 2.5
ALWAYS_RUN = ("auto", "light")
#: Approximate bytes on the wire for each plain byte; determines the number of rows for a link.
WIRE_RATIO = 0.2
#: A link within this machine gets the rows of a link with this rate.
LOCAL_RATE = 1000.0
#: Seconds of reading before anything is measured.
WARM_UP_SECONDS = 2.0
#: The minimum number of chunks of a transfer.
MIN_CHUNKS = 64
#: The target for the maximum of the regret.
MAX_REGRET = 0.05
#: The target for its median.
MEDIAN_REGRET = 0.02


def database(tables: list[str]) -> Path:
    """All tables in one DuckDB file, which is created once."""
    path = data.DIRECTORY / "links.duckdb"
    data.DIRECTORY.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(path) as connection:
        connection.execute("SET enable_progress_bar = false")
        there = {name for (name,) in connection.sql("SELECT table_name FROM duckdb_tables()").fetchall()}
        for name in set(tables) - there:
            connection.execute(f"CREATE TABLE {name} AS FROM read_parquet(?)", [str(data.write(name))])
    return path


def query_for(path: Path, table: str, link: Link, seconds: float) -> tuple[str, int]:
    """A query whose rows take about this time, and the number of rows. A small table is read repeatedly."""
    with duckdb.connect(path, read_only=True) as connection:
        [(there,)] = connection.sql(f"SELECT count(*) FROM {table}").fetchall()
        sample = connection.sql(f"FROM {table} LIMIT 20000").to_arrow_table()
    rates = (3.0,) if link in SLOW_LINKS else link.swings or (link.rate or LOCAL_RATE,)
    # Each of two alternating rates must occur twice; otherwise the end would have too much weight.
    seconds = max(seconds, 4 * link.period) if len(rates) == 2 else seconds
    bytes_ = sum(rates) / len(rates) * 1e6 / 8 * seconds / WIRE_RATIO
    rows = int(max(bytes_, MIN_CHUNKS * CHUNK_BYTES) / (sample.nbytes / sample.num_rows))
    return rows_of(table, rows, there), rows


def rows_of(table: str, rows: int, there: int) -> str:
    """A query for `rows` rows of a table with `there` rows."""
    whole, rest = divmod(rows, there)
    # With a LIMIT, DuckDB would produce all rows before it returns the first one.
    selects = [f"SELECT * FROM {table}"] * whole + [f"SELECT * FROM {table} WHERE rowid < {rest}"]
    return " UNION ALL ".join(selects)


def compare(
    link: Link, table: str, query: str, rows: int, rounds: int, server: Server, reader: Client, swing: Swing | None
) -> dict[str, Any]:
    """All configurations in turns."""
    readings: dict[str, list[dict[str, Any]]] = {name: [] for name in ["auto", *FIXED]}
    late: set[str] = set()
    # The first reading must not include waiting for a disk.
    reader.read(server.uri(link), query, "light", WARM_UP_SECONDS)
    for turn in range(rounds):
        for name in readings if turn % 2 == 0 else reversed(readings):
            if name in late:
                continue
            walls = [reading["wall"] for given in readings.values() for reading in given if reading["wall"]]
            limit = MAX_TIME_RATIO * min(walls) + 1 if walls and name not in ALWAYS_RUN else 600.0
            reader.drain_link(server.uri(link))
            if swing:
                swing.restart()
            before = server.cpu()
            reading = reader.read(server.uri(link), query, name, limit)
            reading["server_cpu"] = server.cpu() - before
            readings[name].append(reading)
            if reading["wall"] is None:
                late.add(name)
            shown = f"{reading['wall']:.2f} s" if reading["wall"] else f"more than {limit:.1f} s"
            print(
                f"{link.name:>12} {table:>10} {name:>13} {shown}, {reading['wire_bytes'] / 1e6:.1f} MB, "
                f"{reading['server_cpu']:.2f} s CPU, {reading['configurations']}",
                file=sys.stderr,
                flush=True,
            )
    medians = {
        name: statistics.median(reading["wall"] for reading in given)
        for name, given in readings.items()
        if given and name not in late
    }
    best = min((name for name in medians if name != "auto"), key=medians.__getitem__)
    return {
        "link": link.name,
        "described": link.described,
        "rate": link.rate,
        "swings": link.swings,
        "period": link.period,
        "table": table,
        "rows": rows,
        "medians": medians,
        "best": best,
        "regret": medians["auto"] / medians[best] - 1,
        "readings": readings,
    }


def regrets(results: list[dict[str, Any]]) -> list[str]:
    """One line for each link, one column for each table."""
    tables = list(dict.fromkeys(found["table"] for found in results))
    links: dict[str, dict[str, float]] = {}
    for found in results:
        links.setdefault(found["described"], {})[found["table"]] = found["regret"]
    lines = [f"| regret | {' | '.join(tables)} |", f"|---|{'--:|' * len(tables)}"]
    for link, cells in links.items():
        lines.append(f"| {link} | {' | '.join(f'{cells[t]:+.1%}' if t in cells else '' for t in tables)} |")
    return lines


def markdown(results: list[dict[str, Any]], load: float, memory: str) -> str:
    lines = [
        *regrets(results),
        "",
        f"Chunks of {CHUNK_BYTES >> 10} KiB. "
        f"{os.cpu_count()} CPUs; load average {load:.1f} when the run began. Seconds are medians; CPU is the server's. "
        f"{memory}",
        "",
        "| link | table | rows | best fixed | s | CPU s | auto s | CPU s | regret | what auto chose |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for found in results:
        medians, best = found["medians"], found["best"]
        readings = found["readings"]
        cpu = {name: statistics.median(one["server_cpu"] for one in readings[name]) for name in ("auto", best)}
        chosen = ", ".join(f"{name} ×{count}" for name, count in readings["auto"][-1]["configurations"].items())
        lines.append(
            f"| {found['described']} | {found['table']} | {found['rows']:,} | {best} | {medians[best]:.2f} "
            f"| {cpu[best]:.2f} | {medians['auto']:.2f} | {cpu['auto']:.2f} | {found['regret']:+.1%} | {chosen} |"
        )
    all_ = [found["regret"] for found in results]
    lines += ["", f"Regret in the median {statistics.median(all_):+.1%}, at most {max(all_):+.1%}."]
    return "\n".join(lines) + "\n"


def main() -> None:
    names = [link.name for link in LINKS]
    parser = laboratory.arguments(__doc__, [*names, *(link.name for link in SLOW_LINKS)], names)
    parser.add_argument("--tables", nargs="*", choices=list(data.TABLES), default=list(data.LINKED), metavar="NAME")
    parser.add_argument("--seconds", type=float, default=4, help="how long a transfer is to take, about (default: 4)")
    arguments = laboratory.begin(parser)
    load, path, results = os.getloadavg()[0], database(arguments.tables), []
    memory = memory_report()
    for link in (*LINKS, *SLOW_LINKS):
        if link.name not in arguments.links:
            continue
        if link.congestion not in congestion_controls():
            print(f"{link.name}: left out, since this kernel has no {link.congestion.upper()}", file=sys.stderr)
            continue
        with (
            tempfile.TemporaryDirectory() as directory,
            shaped(link, arguments.shaper) as swing,
            serving(path, Path(directory) / "socket") as server,
            client(link) as reader,
        ):
            for table in arguments.tables:
                query, rows = query_for(path, table, link, arguments.seconds)
                results.append(compare(link, table, query, rows, arguments.rounds, server, reader, swing))
        if arguments.json:
            arguments.json.write_text(json.dumps(results))
        if arguments.markdown:
            arguments.markdown.write_text(markdown(results, load, memory))
    print(markdown(results, load, memory))


if __name__ == "__main__":
    main()
