"""The targets next to the measurements: the lines with which report.py begins each section."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import adbc_driver
import end_to_end_tables
import links
import links_rivals
import postgres_peers
import sources as sources_bench
import turns

# Targets for lineitem: at most this many bytes per row, at least this many million rows per second encoded and
# decoded.
AIMS = {
    "light": (43.0, 20.0, 35.0),
    "light+fsst": (26.0, 12.0, 30.0),
    "light+zstd-1": (23.5, 6.0, 20.0),
    "light+zstd-3": (22.8, None, None),
}
# The machine for which the speeds were set: two other formats' million rows of lineitem per second there, encoded and
# decoded.
YARDSTICKS = {"Arrow IPC, ZSTD-1": (4.0, 10.1), "the paper's layout, Snappy": (5.8, 9.3)}
CHUNK_SIZE_AIM = 0.15
# The controller's CPU divided by that of encoding.
OVERHEAD_AIM = 0.01
MEMORY_AIM = 1.15
# The extension, on lineitem: a backend's CPU divided by that of COPY binary, and by that of the floor.
OVER_BINARY = {"Colonnade plain": 0.28, "Colonnade light": 0.35}
OVER_FLOOR = {"Colonnade plain": 1.8}
# Its client's CPU seconds. The best peer's CPU and wall time divided by its own.
CLIENT_CPU_AIM, CPU_AIM, WALL_AIM = 0.5, 4.0, 3.0
# PostgreSQL without the extension: the client's CPU divided by the best peer's, the wall time divided by that of COPY
# binary whose result is discarded; for pandas, CPU and memory divided by ConnectorX's.
STOCK = "Colonnade, no extension"
STOCK_CPU_AIM, STOCK_WALL_AIM, PANDAS_AIM = 0.6, 1.1, 0.6
# MariaDB and SQLite: the client's CPU divided by the best peer's.
SOURCES_AIM = 0.7
# A million rows over an emulated link: wall time divided by that of the best competitor.
RIVALS_AIM = {"lan": 0.5, "wan": 0.55, "wan-cubic": 0.55}


# The ADBC driver: the client's CPU divided by that of `colonnade.connect`.
ADBC_AIM = 1.05
#: Two parts: CPU of both sides divided by that of one part.
PARTS_AIM = 1.1


@dataclass(frozen=True)
class Source:
    """A database without an extension: the names of our readers into Arrow and into pandas, and all contenders."""

    name: str
    ours: str
    pandas: str
    #: The target for the client's CPU divided by the best peer's.
    cpu_aim: float
    contenders: Sequence[turns.Contender]


def verdict(found: float, aim: float | None, *, most: bool) -> str:
    if aim is None:
        return f"{found:.1f}"
    met = found <= aim if most else found >= aim
    return f"{found:.1f} {'✓' if met else '✗'} ({'≤' if most else '≥'} {aim:g})"


def wire_aims(tables: list[dict[str, Any]]) -> list[str]:
    lines = [
        "| lineitem | bytes/row | encode M rows/s | decode M rows/s |",
        "|---|--:|--:|--:|",
    ]
    for table in tables:
        contenders = {row["contender"]: row for row in table.get("contenders", ()) if table["table"] == "lineitem"}
        for config, (size, encode, decode) in AIMS.items():
            if row := contenders.get(f"Colonnade {config}"):
                cells = [
                    verdict(row["bytes_per_row"], size, most=True),
                    verdict(row["encode_mrows_per_s"], encode, most=False),
                    verdict(row["decode_mrows_per_s"], decode, most=False),
                ]
                lines.append(f"| {config} | {' | '.join(cells)} |")
        for name, (encode, decode) in YARDSTICKS.items():
            if row := contenders.get(name):
                cells = [
                    f"{row['bytes_per_row']:.1f}",
                    f"{row['encode_mrows_per_s']:.1f} (there: {encode})",
                    f"{row['decode_mrows_per_s']:.1f} (there: {decode})",
                ]
                lines.append(f"| yardstick: {name} | {' | '.join(cells)} |")
    lines += [
        "",
        "The target speeds were set for another machine. The rows `yardstick` have the speeds of two other formats,"
        " and in parentheses their speeds on that machine.",
        "",
    ]
    for table in tables:
        if sizes := table.get("chunk_sizes"):
            more = sizes[0]["light_bytes_per_row"] / sizes[-1]["light_bytes_per_row"] - 1
            mark = "✓" if more <= CHUNK_SIZE_AIM else "✗"
            lines.append(f"- 274 columns, 1 MB chunks over 16 MB chunks: {more:+.1%} {mark} (≤ {CHUNK_SIZE_AIM:.0%})")
        if (share := table.get("share")) is not None:
            mark = "✓" if share <= OVERHEAD_AIM else "✗"
            name = table["overhead_of"]
            lines.append(
                f"- The controller, {name}: {share:.2%} of encoding light chunks {mark} (≤ {OVERHEAD_AIM:.0%})"
            )
    return lines


def end_to_end_aims(rows: list[dict[str, Any]]) -> list[str]:
    def median(contender: str, mode: str, *fields: str) -> float:
        return statistics.median(
            sum(row[field] for field in fields) for row in rows if (row["contender"], row["mode"]) == (contender, mode)
        )

    lines = []
    for transport in ("unix socket", "TCP"):
        for what, fields in (("CPU", ("client_cpu", "server_cpu")), ("wall", ("wall",))):
            ours, theirs = (median(f"{name}, {transport}", "warm", *fields) for name in ("Colonnade", "Arrow Flight"))
            mark = "✓" if ours <= theirs else "✗"
            lines.append(f"- End to end, {transport}, {what}: {ours:.2f} s {mark} (Arrow Flight: {theirs:.2f} s)")
        name = f"Colonnade, {transport}"
        ratio = median(name, "cold", "client_peak") / median(name, "cold", "arrow_bytes")
        mark = "✓" if ratio <= MEMORY_AIM else "✗"
        lines.append(f"- Client peak memory, {transport}: {ratio:.2f} x the table {mark} (≤ {MEMORY_AIM})")
    return lines


def flight_aims(results: list[dict[str, Any]]) -> list[str]:
    """Results of several sizes and shapes: the CPU of both sides divided by Flight's."""
    lines = []
    for table in dict.fromkeys(row["table"] for row in results):
        for transport in end_to_end_tables.TRANSPORTS:
            ours, theirs = (
                turns.median(results, end_to_end_tables.PART, table, f"{name}, {transport}", "client_cpu", "server_cpu")
                for name in ("Colonnade", "Arrow Flight")
            )
            lines += compared((ours, theirs), end_to_end_tables.MOST_CPU, f"{table}, {transport}, CPU", "Flight")
    return lines


def postgres_aims(results: list[dict[str, Any]]) -> list[str]:
    def median(part: str, contender: str, *fields: str) -> float:
        return turns.median(results, part, "lineitem", contender, *fields) or float("nan")

    lines = []
    for base, aims in (("COPY binary", OVER_BINARY), (postgres_peers.FLOOR, OVER_FLOOR)):
        for name, aim in aims.items():
            ratio = median("server", name, "server_cpu") / median("server", base, "server_cpu")
            lines.append(f"- PostgreSQL, {name}: {ratio:.2f} x {base} {'✓' if ratio <= aim else '✗'} (≤ {aim})")
    serial, parallel = (median("server", f"Colonnade plain{workers}", "wall") for workers in ("", ", 2 workers"))
    lines.append(f"- PostgreSQL, plain, wall: 2 workers {parallel:.2f} s, serial {serial:.2f} s")
    client = median("end to end", "Colonnade", "client_cpu")
    mark = "✓" if client <= CLIENT_CPU_AIM else "✗"
    lines.append(f"- PostgreSQL, client CPU: {client:.2f} s {mark} (≤ {CLIENT_CPU_AIM} s)")
    for what, aim, fields in (("CPU", CPU_AIM, ("client_cpu", "server_cpu")), ("wall", WALL_AIM, ("wall",))):
        peers = {
            contender.name: turns.median(results, "end to end", "lineitem", contender.name, *fields)
            for contender in postgres_peers.END_TO_END
            if contender.other
        }
        seconds, best = min((seconds, name) for name, seconds in peers.items() if seconds is not None)
        times = seconds / median("end to end", "Colonnade", *fields)
        mark = "✓" if times >= aim else "✗"
        lines.append(f"- PostgreSQL, end to end, {what}: {times:.1f} x less than {best} {mark} (≥ {aim:g} x)")
    return lines


def compared(found: tuple[float | None, float | None], aim: float, what: str, whose: str) -> list[str]:
    """One line: our figure divided by another's. Nothing if one of them was not measured."""
    ours, theirs = found
    if ours is None or theirs is None:
        return []
    ratio = ours / theirs
    return [f"- {what}: {ratio:.2f} x {whose} {'✓' if ratio <= aim else '✗'} (≤ {aim})"]


def source_aims(results: list[dict[str, Any]], part: str, table: str, source: Source) -> list[str]:
    """The cost of reading a table from a database without an extension, compared with its peers."""

    def both(name: str, other: str, *fields: str) -> tuple[float | None, float | None]:
        ours, theirs = (turns.median(results, part, table, contender, *fields) for contender in (name, other))
        return ours, theirs

    what = f"{source.name}, {table}"
    costs = {
        contender.name: turns.median(results, part, table, contender.name, "client_cpu")
        for contender in source.contenders
        if contender.other and not contender.slow and "pandas" not in contender.name
    }
    lines = []
    if found := {name: cost for name, cost in costs.items() if cost is not None}:
        best = min(found, key=lambda name: found[name])
        lines += compared(both(source.ours, best, "client_cpu"), source.cpu_aim, f"{what}, client CPU", best)
    thrown = "COPY binary, thrown away"
    lines += compared(both(source.ours, thrown, "wall"), STOCK_WALL_AIM, f"{what}, wall", thrown)
    rows = [row for row in results if (row["part"], row["table"], row["contender"]) == (part, table, source.ours)]
    if sizes := [(row["client_peak"] - row["client_before"], row["arrow_bytes"]) for row in rows if "error" not in row]:
        peak, size = (statistics.median(figures) for figures in zip(*sizes, strict=True))
        lines += compared((peak, size), MEMORY_AIM, f"{what}, increase of the client's peak memory", "the table")
    parts = both(f"{source.ours}, 2 partitions", source.ours, "client_cpu", "server_cpu")
    lines += compared(parts, PARTS_AIM, f"{what}, 2 partitions, total CPU", "one")
    peer = "ConnectorX into pandas"
    for ours in (source.pandas, f"{source.pandas}, ConnectorX's types"):
        exact = "" if ours.endswith("types") else " with exact decimals"
        for field, measured in (("client_cpu", "client CPU"), ("client_peak", "peak memory")):
            lines += compared(both(ours, peer, field), PANDAS_AIM, f"{what} into pandas{exact}, {measured}", peer)
    return lines


def stock_aims(results: list[dict[str, Any]]) -> list[str]:
    pandas = "Colonnade into pandas, no extension"
    source = Source("PostgreSQL as it is", STOCK, pandas, STOCK_CPU_AIM, postgres_peers.END_TO_END)
    tables = ("lineitem", postgres_peers.SMALL, "flights", "acs")
    return [line for table in tables for line in source_aims(results, "end to end", table, source)]


def sources_aims(results: list[dict[str, Any]]) -> list[str]:
    lines = []
    for kind, contenders in sources_bench.CONTENDERS.items():
        source = Source(kind, "Colonnade", "Colonnade into pandas", SOURCES_AIM, contenders)
        lines += [line for table in sources_bench.TABLES for line in source_aims(results, kind, table, source)]
    return lines


def links_aims(results: list[dict[str, Any]], rivals: list[dict[str, Any]]) -> list[str]:
    """Adaptive compression, compared with the best fixed configuration of each link and table, and with competitors."""
    lines = []
    if steady := [found["regret"] for found in results if not found["swings"]]:
        for what, found, aim in (
            ("at most", max(steady), links.MAX_REGRET),
            ("in the median", statistics.median(steady), links.MEDIAN_REGRET),
        ):
            lines.append(f"- Links, regret {what}: {found:+.1%} {'✓' if found <= aim else '✗'} (≤ {aim:.0%})")
    if swinging := [found["regret"] for found in results if found["swings"]]:
        mark = "✓" if max(swinging) <= 0 else "✗"
        lines.append(f"- Links that swing, regret at most: {max(swinging):+.1%} {mark} (≤ 0)")
    for part, table in dict.fromkeys((row["part"], row["table"]) for row in rivals if row["link"] in RIVALS_AIM):
        found = [row for row in rivals if (row["part"], row["table"]) == (part, table)]
        walls = {
            contender.name: turns.median(rivals, part, table, contender.name, "wall")
            for contender in links_rivals.CONTENDERS
        }
        if theirs := {name: wall for name in links_rivals.RIVALS if (wall := walls[name]) is not None}:
            best = min(theirs, key=lambda name: theirs[name])
            ours = walls[links_rivals.CONTENDERS[0].name]
            aim, rows = RIVALS_AIM[found[0]["link"]], next(row["rows"] for row in found if "rows" in row)
            lines += compared((ours, theirs[best]), aim, f"{rows:,} rows of {table} over {part}, wall", best)
    return lines


def adbc_aims(results: list[dict[str, Any]]) -> list[str]:
    lines = []
    for source in dict.fromkeys(row["source"] for row in results):
        found = adbc_driver.ratio(results, source)
        mark = "✓" if found <= ADBC_AIM else "✗"
        lines.append(f"- ADBC driver, {source}, client CPU: {found:.2f} x colonnade.connect {mark} (≤ {ADBC_AIM:g})")
    return lines
