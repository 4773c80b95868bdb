"""TPC-H lineitem written into PostgreSQL, SQLite, MariaDB, `colonnade serve` and DuckDB, compared with every peer.

    python bench/writes.py [--scale 1m sf1] [--databases NAME …] [--only REGEX] [--rounds 3] [--peers PYTHON]
                           [--markdown FILE] [--json FILE]

Each database has an empty table, and each contender adds the rows to it. A contender has the rows as its library's own
form before the time begins: an Arrow table, a frame, or bytes. Each measurement has its own client process. The
contenders take turns, round by round; medians are reported, with the least and the greatest reading. After each, the
table's rows are counted; after a contender's first, the sums of all values are compared with the source's (`sums.py`).
`--peers` is the interpreter with the peers (tools/requirements/peers.txt). What Colonnade refuses to write is shown as
not supported, with its reason. Writing over links is measured by `writes_links.py`.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import data
from colonnade._cli.memory_state import memory_report
from turns import Contender, Row, reading
from writes_places import PLACES, TABLE, Source, Target, difference

HERE = Path(__file__).parent
#: Rows of lineitem at each scale. None: all, which are 6,001,215 at TPC-H's scale factor 1.
SCALES: dict[str, int | None] = {"1m": 1_000_000, "sf1": None}
#: Rows of a contender that makes Python's objects or SQL texts of each row. Seconds are shown for a million.
SLOW_ROWS = 20_000
STOCK = {"extension": False}
FLOORS = {
    "PostgreSQL": "floor: COPY binary from a file of the server",
    "MariaDB": "floor: LOAD DATA from a file of the server",
    "colonnade serve": "floor: CREATE TABLE AS in process",
    "DuckDB": "floor: CREATE TABLE AS in process",
}
LOAD_DATA = f"LOAD DATA {{}}INFILE '{{{{csv}}}}' INTO TABLE {TABLE} CHARACTER SET utf8mb4 FIELDS TERMINATED BY ',' "
LOAD_DATA += "OPTIONALLY ENCLOSED BY '\"' ESCAPED BY '' LINES TERMINATED BY '\\n'"


def copying(form: str) -> Contender:
    return Contender(f"psycopg, COPY {form} of prepared bytes", "psycopg_copy", {"form": form, "path": f"{{{form}}}"})


MULTI = {"method": "multi"}
PLAIN = {"plain": True}
POSTGRES = [
    Contender("Colonnade", "colonnade", STOCK),
    Contender("Colonnade, unix socket", "colonnade", {**STOCK, "unix": True}),
    Contender("Colonnade, with the extension", "colonnade"),
    Contender(
        FLOORS["PostgreSQL"], "psycopg_statement", {"statement": f"COPY {TABLE} FROM '{{binary}}' (FORMAT binary)"}
    ),
    copying("binary"),
    copying("text"),
    Contender("ADBC, adbc_ingest", "adbc", other=True),
    Contender("polars.write_database, ADBC", "polars", {"engine": "adbc"}, other=True),
    Contender("DuckDB, ATTACH and INSERT", "duckdb_attach", other=True),
    Contender("polars.write_database, SQLAlchemy", "polars", {"engine": "sqlalchemy"}, other=True, slow=True),
    Contender('pandas.to_sql(method="multi"), psycopg2', "pandas", MULTI, other=True, slow=True),
]
SQLITE = [
    Contender("Colonnade", "colonnade"),
    Contender("sqlite3.executemany", "sqlite3", other=True),
    Contender("ADBC, adbc_ingest, decimals as floats", "adbc", PLAIN, other=True),
    Contender("polars.write_database, ADBC, decimals as floats", "polars", {"engine": "adbc", **PLAIN}, other=True),
    Contender("DuckDB, ATTACH and INSERT", "duckdb_attach", other=True),
    Contender("pandas.to_sql, sqlite3, decimals as floats", "pandas", PLAIN, other=True),
]
MARIADB = [
    Contender("Colonnade", "colonnade"),
    Contender(FLOORS["MariaDB"], "pymysql_statement", {"statement": LOAD_DATA.format("")}, other=True),
    Contender(
        "PyMySQL, LOAD DATA LOCAL of a file", "pymysql_statement", {"statement": LOAD_DATA.format("LOCAL ")}, other=True
    ),
    Contender("DuckDB, ATTACH and INSERT", "duckdb_attach", other=True, slow=True),
    Contender("polars.write_database, SQLAlchemy", "polars", {"engine": "sqlalchemy"}, other=True, slow=True),
    Contender('pandas.to_sql(method="multi"), PyMySQL', "pandas", MULTI, other=True, slow=True),
]
SERVE = [Contender("Colonnade", "colonnade"), copying("binary"), copying("text")]
DUCKDB = [Contender("Colonnade", "colonnade"), Contender(FLOORS["DuckDB"], "duckdb")]
CONTENDERS = {"PostgreSQL": POSTGRES, "SQLite": SQLITE, "MariaDB": MARIADB, "colonnade serve": SERVE, "DuckDB": DUCKDB}
#: The floor of `colonnade serve` is measured in DuckDB's own file, in the same rounds.
SHARED = {"colonnade serve": ("DuckDB", FLOORS["DuckDB"])}


def filled(options: dict[str, Any], target: Target) -> dict[str, Any]:
    """The options with the names of the target's files."""
    return {
        name: value.format(**target.files) if isinstance(value, str) and "{" in value else value
        for name, value in options.items()
    }


def command(python: str, contender: Contender, target: Target, source: Source, **more: Any) -> list[str]:
    question = {"writer": contender.peer, "place": target.place, "table": TABLE, "file": str(source.file)}
    options = {name: value for name, value in contender.options.items() if name != "extension"}
    question |= {"rows": source.rows, "options": filled(options, target), **more}
    return [python, str(HERE / "write.py"), json.dumps(question)]


def measure(target: Target, contender: Contender, source: Source, peers: str, summed: bool) -> Row:
    """One contender writes once; the result is an error if the table is not the source."""
    target.empty()
    python = peers if contender.other else sys.executable
    if contender.options.get("extension", True):
        row = reading(command(python, contender, target, source), target.cpu)
    else:
        with target.without_extension():
            row = reading(command(python, contender, target, source), target.cpu)
    if "error" not in row and (wrong := difference(target, source, source.rows, summed)):
        return {"error": f"wrong: {wrong}"}
    return row


def run(scale: str, sources: dict[bool, Source], arguments: argparse.Namespace) -> list[Row]:
    """All databases with the rows of one scale. `sources` has those of slow contenders at True."""
    results: list[Row] = []
    for kind in arguments.databases:
        wanted = [one for one in CONTENDERS[kind] if re.search(arguments.only, one.name)]
        dead: set[str] = set()
        print(f"{scale}: starting {kind} …", file=sys.stderr, flush=True)
        with PLACES[kind](sources[False]) as target:
            for number in range(arguments.rounds):
                for contender in wanted:
                    # A slow contender's time a million rows does not depend on the scale.
                    if contender.name in dead or (contender.slow and (number > 0 or scale != "1m")):
                        continue
                    row = measure(target, contender, sources[contender.slow], arguments.peers, number == 0)
                    if "error" in row:
                        # A contender that failed once is not run again; the table shows the reason.
                        dead.add(contender.name)
                    results.append({"part": kind, "table": scale, "contender": contender.name, "round": number, **row})
                    shown = row.get("error") or f"{row['wall']:.2f} s, client {row['client_cpu']:.2f} s CPU"
                    print(f"round {number} {scale} {kind} {contender.name}: {shown}", file=sys.stderr, flush=True)
    return results


def per_million(results: list[Row], part: str, scale: str, contender: str, *fields: str) -> list[float]:
    """The sum of some fields, for a million rows, in each round."""
    return [
        sum(row[field] or 0.0 for field in fields) * 1e6 / row["rows"]
        for row in results
        if (row["part"], row["table"], row["contender"]) == (part, scale, contender) and "error" not in row
    ]


def middle(results: list[Row], part: str, scale: str, contender: str, *fields: str) -> float | None:
    """The median."""
    found = per_million(results, part, scale, contender, *fields)
    return statistics.median(found) if found else None


def increase(results: list[Row], part: str, scale: str, contender: str) -> float:
    """The most bytes that a client needed in addition to the rows that it had."""
    return max(
        row["client_peak"] - row["client_before"]
        for row in results
        if (row["part"], row["table"], row["contender"]) == (part, scale, contender) and "error" not in row
    )


def spread(found: list[float]) -> str:
    """The median, with the least and the greatest reading if there are several."""
    if not found:
        return "-"
    shown = f"{statistics.median(found):.2f}"
    return shown if len(found) == 1 else f"{shown} ({min(found):.2f} to {max(found):.2f})"


def reason(results: list[Row], part: str, scale: str, contender: str) -> str:
    """Why there is no measurement."""
    for row in results:
        if (row["part"], row["table"], row["contender"]) == (part, scale, contender) and "error" in row:
            error = row["error"].replace("|", "/")
            return f"not supported: {error}" if "NotSupportedError" in error else f"not measured: {error}"
    return "not measured"


def table_of(results: list[Row], part: str, scale: str, contenders: Sequence[Contender]) -> list[str]:
    """Times for a million rows, in Markdown."""
    lines = [
        "| a million rows | client CPU s | server CPU s | total CPU s | wall s | bytes/row | client's memory MB |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for contender in contenders:
        where = part, scale, contender.name
        if not (walls := per_million(results, *where, "wall")):
            if not contender.slow or scale == "1m":
                lines.append(f"| {contender.name} | {reason(results, *where)} | | | | | |")
            continue
        cpu = [spread(per_million(results, *where, field)) for field in ("client_cpu", "server_cpu")]
        total = middle(results, *where, "client_cpu", "server_cpu") or 0.0
        size = (middle(results, *where, "wire_bytes") or 0.0) / 1e6
        grown = increase(results, *where)
        name = f"{contender.name} ({SLOW_ROWS:,} rows)" if contender.slow else contender.name
        shown = f"{size:.0f}" if size else "-"
        lines.append(f"| {name} | {cpu[0]} | {cpu[1]} | {total:.2f} | {spread(walls)} | {shown} | {grown / 1e6:.0f} |")
    return [*lines, ""]


def markdown(results: list[Row], rows: dict[str, int], rounds: int, state: str) -> str:
    lines = [
        f"Seconds for a million rows of lineitem: medians of {rounds} rounds, with the least and the greatest. Each "
        "measurement has its own client process; the time includes connecting and excludes making the library's own "
        f"form of the rows. Memory is the increase of the client's. Slow contenders write {SLOW_ROWS:,} rows once. "
        f"PostgreSQL writes a WAL, without fsync. {state}",
        "",
    ]
    for scale, count in rows.items():
        for kind, contenders in CONTENDERS.items():
            if any((row["part"], row["table"]) == (kind, scale) for row in results):
                lines += [f"### {kind}: {count:,} rows", "", *table_of(results, kind, scale, contenders)]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", nargs="*", choices=SCALES, default=list(SCALES))
    parser.add_argument("--databases", nargs="*", choices=CONTENDERS, default=list(CONTENDERS), metavar="NAME")
    parser.add_argument("--only", default="", help="only contenders whose name matches this regular expression")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", default=sys.executable, help="the interpreter that has the peers")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    file, state = data.write("lineitem"), memory_report()
    slow = Source.of(file, SLOW_ROWS)
    results: list[Row] = []
    rows: dict[str, int] = {}
    for scale in arguments.scale:
        source = Source.of(file, SCALES[scale])
        rows[scale] = source.rows
        results += run(scale, {False: source, True: slow}, arguments)
    text = markdown(results, rows, arguments.rounds, state)
    print(text)
    if arguments.markdown:
        arguments.markdown.write_text(text)
    if arguments.json:
        arguments.json.write_text(json.dumps({"state": state, "results": results, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
