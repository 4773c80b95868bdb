"""The measurements of writing: every contender that the tests' environment has fills the table, and a wrong table has
no time."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
import writes
import writes_aims
import writes_links
import writes_places
from turns import Contender
from writes_places import PLACES, Source, Target

ROWS = 3_000
#: With the names and types of TPC-H's, and awkward values: fractions of cents, quotes, separators, all scripts.
LINEITEM = f"""
    SELECT i // 4 AS l_orderkey, i * 7919 % 200000 AS l_partkey, (i % 4 + 1)::INTEGER AS l_linenumber,
        (i * 37 % 10000000 / 100)::DECIMAL(15, 2) AS l_extendedprice, (i % 11 / 100)::DECIMAL(15, 2) AS l_discount,
        DATE '1992-01-02' + (i % 2500)::INTEGER AS l_shipdate,
        ['N', 'a "quoted, word"', 'tab\there', 'żółć 漢字 🏛', 'back\\slash'][i % 5 + 1] AS l_comment
    FROM range({ROWS}) AS t(i)
"""
#: What only the peers' environment has.
ABSENT = {"duckdb_attach", "pymysql_statement"}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    file = tmp_path_factory.mktemp("tables") / "lineitem.parquet"
    duckdb.sql(f"COPY ({LINEITEM}) TO '{file}'")
    return Source.of(file)


def arguments(kind: str) -> argparse.Namespace:
    return argparse.Namespace(databases=[kind], only="", rounds=2, peers=sys.executable)


@pytest.mark.long
@pytest.mark.parametrize("kind", PLACES)
def test_each_contender_fills_the_table(kind: str, source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    def stock(given: Source) -> Any:
        return writes_places.postgres(given, has_extension=False)

    monkeypatch.setitem(PLACES, "PostgreSQL", stock)
    present = [
        one
        for one in writes.CONTENDERS[kind]
        if one.peer not in ABSENT and not (kind == "MariaDB" and one.other)  # PyMySQL is a peer
    ]
    monkeypatch.setitem(writes.CONTENDERS, kind, present)
    rows = writes.run("1m", {False: source, True: source}, arguments(kind))
    assert {row["contender"] for row in rows} == {one.name for one in present}
    for row in rows:
        if "error" in row:
            # A database that this version does not write to.
            assert row["contender"] == "Colonnade" and "NotSupportedError" in row["error"], row
            continue
        assert row["rows"] == ROWS and row["wall"] > 0 and row["client_cpu"] > 0
        if (
            kind in ("PostgreSQL", "colonnade serve")
            and "file" not in row["contender"]
            and "unix" not in row["contender"]
        ):
            assert row["wire_bytes"] > ROWS
    page = writes.markdown(rows, {"1m": ROWS}, 2, "")
    assert f"### {kind}: {ROWS:,} rows" in page
    assert all(f"| {one.name}" in page for one in present)
    assert {row["round"] for row in rows if "floor" in row["contender"]} <= {0, 1}


def target(path: Path) -> Target:
    return Target({"kind": "duckdb", "path": str(path)}, lambda: None, reader="duckdb")


def test_a_wrong_table_is_noticed(source: Source, tmp_path: Path) -> None:
    def made(name: str, query: str) -> Target:
        path = tmp_path / name
        with duckdb.connect(path) as connection:
            connection.execute(f"CREATE TABLE written AS {query}")
        return target(path)

    right = made("right", f"FROM {source.relation}")
    assert writes_places.difference(right, source, ROWS, summed=True) is None
    assert writes_places.difference(right, source, ROWS, summed=False) is None
    fewer = made("fewer", f"FROM {source.relation} LIMIT {ROWS - 1}")
    for summed in (True, False):
        assert (
            writes_places.difference(fewer, source, ROWS, summed=summed) == f"the table has {ROWS - 1} rows, not {ROWS}"
        )
    columns = "* REPLACE (CASE WHEN l_orderkey = 7 THEN l_discount + 0.01 ELSE l_discount END AS l_discount)"
    other = made("other", f"SELECT {columns} FROM {source.relation}")
    assert "column 5" in (writes_places.difference(other, source, ROWS, summed=True) or "")
    missing = replace(right, place={"kind": "duckdb", "path": str(tmp_path / "missing")})
    assert "cannot be read" in (writes_places.difference(missing, source, ROWS, summed=True) or "")


def test_a_contender_that_writes_something_else_has_no_time(source: Source, tmp_path: Path) -> None:
    """The floor of DuckDB writes to its own table, so a count of other rows is an error."""
    path = tmp_path / "file"
    half = replace(source, rows=ROWS // 2)
    found = writes.measure(target(path), Contender("half", "duckdb"), half, sys.executable, summed=False)
    assert found["rows"] == ROWS // 2
    found = writes.measure(target(path), Contender("half", "duckdb"), half, sys.executable, summed=True)
    assert "wrong: column" in found["error"] or "values in column" in found["error"]


def row(part: str, contender: str, table: str = "1m", **figures: float) -> dict[str, Any]:
    costs = {"client_cpu": 1.0, "server_cpu": 1.0, "wall": 1.0, "client_peak": 2e6, "client_before": 1e6}
    costs |= {"wire_bytes": 1e8, "rows": 1e6}
    return {"part": part, "table": table, "contender": contender, "round": 0, **costs, **figures}


def test_targets_are_judged_from_the_medians() -> None:
    floor = writes.FLOORS["PostgreSQL"]
    results = [
        *(row("PostgreSQL", "Colonnade", client_cpu=cost, server_cpu=1.04) for cost in (0.1, 0.3, 0.9)),
        row("PostgreSQL", floor),
        row("PostgreSQL", writes_aims.EXTENSION, server_cpu=0.9),
        row("SQLite", "Colonnade", client_cpu=0.5),
        row("SQLite", "sqlite3.executemany", client_cpu=2.0),
        row("SQLite", "DuckDB, ATTACH and INSERT", client_cpu=1.0),
        {"part": "MariaDB", "table": "1m", "contender": "Colonnade", "round": 0, "error": "NotSupportedError: no"},
        row("MariaDB", writes.FLOORS["MariaDB"]),
        row("DuckDB", writes.FLOORS["DuckDB"], wall=1.0),
        row("colonnade serve", "Colonnade", wall=2.0),
    ]
    part = "1000 Mbit/s"
    links = [
        row(part, writes_aims.EXTENSION, "lan", wall=1.0),
        row(part, "ADBC, adbc_ingest", "lan", wall=2.0),
        row(part, "psycopg, COPY binary of prepared bytes", "lan", wall=0.1),
    ]
    text = "\n".join(writes_aims.aims(results, links))
    assert "client CPU: 0.30 s for a million rows ✓ (≤ 0.4 s)" in text
    assert "Colonnade, server CPU: 1.04 x COPY binary from a file ✓ (≤ 1.05)" in text
    assert "with the extension, server CPU: 0.90 x COPY binary from a file ✗ (≤ 0.75)" in text
    assert "Writing to SQLite, 1m, CPU: 0.50 x DuckDB, ATTACH and INSERT ✓ (≤ 0.8)" in text
    assert "Writing to MariaDB, 1m, server CPU: not measured (target: ≤ 1.1 x LOAD DATA from a file)" in text
    assert "Writing to colonnade serve, 1m, wall: 2.00 x CREATE TABLE AS in process ✗ (≤ 1.3)" in text
    assert f"Writing to PostgreSQL over {part}, {writes_aims.EXTENSION}, wall: 0.50 x ADBC, adbc_ingest ✓" in text


def test_pages_show_spreads_and_reasons() -> None:
    results = [row("SQLite", "Colonnade", wall=wall, rows=2e6) for wall in (1.0, 2.0, 6.0)]
    results.append({"part": "SQLite", "table": "1m", "contender": "sqlite3.executemany", "error": "a|b"})
    page = writes.markdown(results, {"1m": 2_000_000}, 3, "")
    # Seconds for a million rows.
    assert "| Colonnade | 0.50 (0.50 to 0.50) | 0.50 (0.50 to 0.50) | 1.00 | 1.00 (0.50 to 3.00) | 50 | 1 |" in page
    assert "| sqlite3.executemany | not measured: a/b |" in page
    refused = {"part": "x", "table": "lan", "contender": "Colonnade", "error": "colonnade.NotSupportedError: why"}
    assert "| Colonnade | not supported: colonnade.NotSupportedError: why |" in writes_links.markdown(
        [refused], 1, 1, ""
    )
