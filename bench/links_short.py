"""Short results: `auto` against fixed configurations on a new connection and on one that has read before. Needs root.

    python bench/links_short.py [--links NAME …] [--tables NAME …] [--plain-mb MB …] [--rounds N]
        [--json FILE] [--markdown FILE]

In each round every configuration opens a connection and reads the same rows twice (`laboratory.py`): the first query of
a connection, and a later one. The configurations take turns, alternately forwards and backwards. The time excludes
connecting. Regret is the median time of `auto` divided by the smallest median of a fixed configuration, minus one.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import data
import duckdb
import laboratory
from laboratory import Client, Link, Server, client, serving, shaped
from links import LINKS, database, rows_of

#: Plain chunks are several times slower here, and light+zstd-9 needs more CPU time than such links allow.
FIXED = ["light", "light+fsst", "light+lz4", "light+zstd-1", "light+zstd-3"]
QUERIES = ("first", "later")
#: The measured links; `links.py` describes them.
NAMES = ("1000", "100")


def compare(link: Link, query: str, rounds: int, server: Server, reader: Client) -> dict[str, list[dict[str, Any]]]:
    """The readings of each round for each configuration, with the server's CPU seconds of both queries."""
    readings: dict[str, list[dict[str, Any]]] = {name: [] for name in ["auto", *FIXED]}
    # The first reading must not include waiting for a disk.
    reader.repeat(server.uri(link), query, "light", 1)
    for turn in range(rounds):
        for name in readings if turn % 2 == 0 else reversed(readings):
            reader.drain_link(server.uri(link))
            before = server.cpu()
            found = reader.repeat(server.uri(link), query, name, len(QUERIES))
            readings[name].append({"readings": found, "server_cpu": server.cpu() - before})
    return readings


def summary(readings: dict[str, list[dict[str, Any]]], query: int) -> dict[str, Any]:
    """Medians of the first or the later query, and the quartiles of `auto`."""
    walls = {name: [one["readings"][query]["wall"] for one in given] for name, given in readings.items()}
    medians = {name: statistics.median(given) for name, given in walls.items()}
    best = min(FIXED, key=medians.__getitem__)
    spreads = {name: statistics.quantiles(walls[name], method="inclusive")[::2] for name in ("auto", best)}
    cpu = {name: statistics.median(one["server_cpu"] for one in readings[name]) for name in ("auto", best)}
    choice = readings["auto"][-1]["readings"][query]["choice"]
    return {
        "medians": medians,
        "best": best,
        "regret": medians["auto"] / medians[best] - 1,
        "spreads": spreads,
        "cpu": cpu,
        "choice": choice,
    }


def markdown(results: list[dict[str, Any]], load: float) -> str:
    lines = [
        f"{os.cpu_count()} CPUs; load average {load:.1f} when the run began. Seconds are medians, with quartiles; "
        "CPU is the server's, of both queries.",
        "",
        "| link | table | plain MB | query | best fixed | s | CPU s | auto s | CPU s | regret |",
        "|---|---|--:|---|---|--:|--:|--:|--:|--:|",
    ]
    for found in results:
        for query in QUERIES:
            one = found[query]
            best = one["best"]
            shown = {
                name: f"{one['medians'][name]:.3f} ({one['spreads'][name][0]:.3f} to {one['spreads'][name][1]:.3f})"
                for name in ("auto", best)
            }
            lines.append(
                f"| {found['link']} | {found['table']} | {found['plain_mb']:g} | {query} | {best} | {shown[best]} "
                f"| {one['cpu'][best]:.2f} | {shown['auto']} | {one['cpu']['auto']:.2f} | {one['regret']:+.1%} |"
            )
    for key in dict.fromkeys((found["link"], found["plain_mb"]) for found in results):
        for query in QUERIES:
            regrets = [found[query]["regret"] for found in results if (found["link"], found["plain_mb"]) == key]
            lines += [
                "",
                f"{key[0]}, {key[1]:g} MB, {query} query: {statistics.median(regrets):+.1%} in the median, "
                f"{max(regrets):+.1%} at most.",
            ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = laboratory.arguments(__doc__, NAMES, rounds=9)
    parser.add_argument("--tables", nargs="*", choices=list(data.SHORT), default=list(data.SHORT), metavar="NAME")
    parser.add_argument("--plain-mb", nargs="*", type=float, default=[1, 10, 100], metavar="MB")
    arguments = laboratory.begin(parser)
    load, path, results = os.getloadavg()[0], database(arguments.tables), []
    for link in (link for link in LINKS if link.name in arguments.links):
        with (
            tempfile.TemporaryDirectory() as directory,
            shaped(link, arguments.shaper),
            serving(path, Path(directory) / "socket") as server,
            client(link) as reader,
        ):
            for plain_mb in arguments.plain_mb:
                for table in arguments.tables:
                    with duckdb.connect(path, read_only=True) as connection:
                        [(there,)] = connection.sql(f"SELECT count(*) FROM {table}").fetchall()
                        sample = connection.sql(f"FROM {table} LIMIT 20000").to_arrow_table()
                    rows = int(plain_mb * 1e6 / (sample.nbytes / sample.num_rows))
                    readings = compare(link, rows_of(table, rows, there), arguments.rounds, server, reader)
                    found = {"link": link.described, "table": table, "plain_mb": plain_mb, "rows": rows}
                    found |= {query: summary(readings, number) for number, query in enumerate(QUERIES)}
                    results.append(found)
                    for query in QUERIES:
                        one = found[query]
                        print(
                            f"{link.name:>6} {table:>10} {plain_mb:g} MB {query:>6}: {one['regret']:+.1%} "
                            f"of {one['best']} {one['medians'][one['best']]:.3f} s; {one['choice']}",
                            file=sys.stderr,
                            flush=True,
                        )
                    if arguments.json:
                        arguments.json.write_text(json.dumps(results))
                    if arguments.markdown:
                        arguments.markdown.write_text(markdown(results, load))
    print(markdown(results, load))


if __name__ == "__main__":
    main()
