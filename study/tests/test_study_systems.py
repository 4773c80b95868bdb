"""The study's readings of whole systems: everything runs at its smallest size, on real servers, and is what it says."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import data
import duckdb
import pytest
import sums
from laboratory import Link

from study import codec_links, databases, links, networks, report, systems, transfer
from study.experiment import SIZES, Context, Experiment, Row, Unmeasurable
from tests.testbed import postgres as pg

is_root = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")

ROWS = SIZES["tiny"].rows
#: With the names and types of TPC-H's.
LINEITEM = f"""
    SELECT i // 4 AS l_orderkey, i * 7919 % 200000 AS l_partkey, i * 104729 % 10000 AS l_suppkey,
        (i % 4 + 1)::INTEGER AS l_linenumber, (i % 50 + 1)::DECIMAL(15, 2) AS l_quantity,
        (i * 37 % 10000000 / 100)::DECIMAL(15, 2) AS l_extendedprice, (i % 11 / 100)::DECIMAL(15, 2) AS l_discount,
        (i % 9 / 100)::DECIMAL(15, 2) AS l_tax, ['A', 'N', 'R'][i % 3 + 1] AS l_returnflag,
        ['F', 'O'][i % 2 + 1] AS l_linestatus, DATE '1992-01-02' + (i % 2500)::INTEGER AS l_shipdate,
        DATE '1992-01-31' + (i % 2400)::INTEGER AS l_commitdate,
        DATE '1992-01-04' + (i % 2600)::INTEGER AS l_receiptdate,
        ['NONE', 'COLLECT COD'][i % 2 + 1] AS l_shipinstruct, ['AIR', 'RAIL', 'SHIP'][i % 3 + 1] AS l_shipmode,
        'the same words in each row, and the number ' || i * 7919 % 1000003 AS l_comment
    FROM range({2 * ROWS}) AS t(i)
"""
#: What loading a table by way of a text file, and reading it as text, may spoil.
AWKWARD = """
    SELECT i::INTEGER AS number, nullif(i % 5, 0)::INTEGER AS perhaps, i / 7 AS fraction, i % 3 = 0 AS truth,
        TIMESTAMP '2013-01-01 05:00:00.25' + INTERVAL (i) HOUR AS moment,
        ['', 'NULL', NULL, 'a "quoted, word"', 'two\nlines\ttab', 'back\\slash \\N', 'żółć 漢字 🏛'][i % 7 + 1] AS text
    FROM range(700) AS t(i)
"""


@pytest.fixture(scope="module", autouse=True)
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tables of a few rows in place of the benchmark's."""
    directory = tmp_path_factory.mktemp("tables")
    for name, query in (("lineitem", LINEITEM), ("flights", AWKWARD)):
        duckdb.sql(f"COPY ({query}) TO '{directory / name}.parquet'")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "DIRECTORY", directory)
        patch.setattr(data, "ACS_ROWS", 300)
        patch.setattr(data, "DDOS_ROWS", 4000)
        for variable in ("COLONNADE_ONTIME", "COLONNADE_PUMS"):
            patch.delenv(variable, raising=False)
        yield


@pytest.fixture(scope="module")
def programs() -> Path:
    subprocess.run(["cargo", "build", "--quiet", "--locked", "-p", "colonnade-shaper"], cwd=pg.ROOT, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", pg.ROOT / "target")) / "debug"


@pytest.fixture
def context(programs: Path) -> Iterator[Context]:
    """Without the peers' environment."""
    with pg.scratch() as scratch:
        scratch.chmod(0o755)
        yield Context(SIZES["tiny"], "", programs, scratch)


def reported(experiment: Experiment, rows: list[Row], into: Path) -> str:
    """The report of these rows alone."""
    machine = {"Machine": "that of the tests"}
    measured: dict[str, Any] = {"experiment": "it", "size": "tiny", "seconds": 1, "machine": machine, "rows": rows}
    return report.write(into, [(experiment, measured)]).read_text()


def test_all_systems_give_what_the_source_has(context: Context, tmp_path: Path) -> None:
    rows = transfer.run(context)
    measured = {row["system"]: row for row in rows if not row.get("paper")}
    assert list(measured) == [system.name for system in systems.available("")]
    assert not {name: row["error"] for name, row in measured.items() if "error" in row}
    assert {row["rows"] for row in measured.values()} == {ROWS}
    thrown = {name for name, row in measured.items() if row["checked"] == "rows"}
    assert thrown == {name for name in measured if name.startswith("CSV") or name.endswith("thrown away")}
    for name, row in measured.items():
        assert row["wall"] > 0 and row["client_peak"] > 0
        assert row["transfer"] is None or row["transfer"] <= row["wall"]
        if os.geteuid() == 0 and name not in ("SQLite, Colonnade", "DuckDB in process"):
            assert row["wire_bytes"] > ROWS, name
    if os.geteuid() == 0:
        csv = [measured[f"CSV through a socket{codec}"]["wire_bytes"] for codec in (", gzip", ", snappy", "")]
        assert csv == sorted(csv)
        flight = [measured[f"DuckDB, Arrow Flight{codec}"]["wire_bytes"] for codec in (", ZSTD", "")]
        assert flight == sorted(flight)
    page = reported(transfer.EXPERIMENT, rows, tmp_path)
    assert all(name in page for name in (*measured, "MongoDB (paper)", "DBMS X (paper)", "MonetDB (paper)"))
    assert (tmp_path / "systems.svg").exists()
    assert len(transfer.findings(rows)) == 4


#: Peers that the tests' own environment has.
PRESENT = [
    "PostgreSQL, ODBC (arrow-odbc)",
    "PostgreSQL, psycopg",
    "PostgreSQL, pandas + SQLAlchemy",
    "PostgreSQL, ADBC",
    "PostgreSQL as it is, Colonnade",
    "PostgreSQL with the extension, Colonnade",
    "MariaDB, ODBC (arrow-odbc)",
    "MariaDB, ODBC, compressed",
    "MariaDB as it is, Colonnade",
    "SQLite, pandas + sqlite3",
    "SQLite, ADBC",
    "SQLite, Colonnade",
    "DuckDB, Arrow Flight, ZSTD",
    "DuckDB in process",
    "colonnade serve, Colonnade",
]


@pytest.mark.study
def test_awkward_values_come_through_every_system(context: Context) -> None:
    chosen = systems.by_name(*PRESENT)
    with databases.started(
        replace(context, peers=sys.executable), {"flights": ROWS, "lineitem": ROWS}, chosen
    ) as there:
        for destination in ("arrow", "pandas"):
            rows = there.readings(chosen, "flights", destination=destination)
            assert not {row["system"]: row["error"] for row in rows if "error" in row}
            assert {(row["rows"], row["checked"]) for row in rows} == {(700, "values")}
        loose, squeezed = (there.reading(one, "lineitem") for one in systems.by_name(*PRESENT[6:8]))
        if os.geteuid() == 0:
            assert squeezed["wire_bytes"] < loose["wire_bytes"] / 2
        # Any query will do, and is compared with what DuckDB makes of it.
        query = "SELECT l_shipmode, count(*) AS n FROM lineitem GROUP BY l_shipmode"
        assert there.reading(systems.EXTENSION, "lineitem", query=query)["rows"] == 3


def test_a_result_that_is_not_the_sources_has_no_time(context: Context) -> None:
    [system] = systems.by_name("SQLite, Colonnade")
    with databases.started(context, {"lineitem": ROWS}, [system]) as there:
        file = there.started["sqlite"].place["path"]
        with sqlite3.connect(file) as session:
            session.execute("UPDATE lineitem SET l_tax = 0.05 WHERE rowid = 7")
        changed = there.reading(system, "lineitem")
        with sqlite3.connect(file) as session:
            session.execute("DELETE FROM lineitem WHERE rowid = 7")
        shorter = there.reading(system, "lineitem")
    assert changed["error"].startswith("wrong: column 8 sums up to") and "wall" not in changed
    assert shorter["error"] == f"wrong: {ROWS - 1} rows, not {ROWS}" and "wall" not in shorter


def test_what_does_not_start_or_cannot_read_says_why(context: Context) -> None:
    """Quack and MonetDB are not in this environment."""
    chosen = systems.by_name("DuckDB, Quack", "MonetDB, pymonetdb", "PostgreSQL, turbodbc", "DuckDB in process")
    with databases.started(replace(context, peers=sys.executable), {"lineitem": ROWS}, chosen) as there:
        *failed, missing, read = there.readings(chosen, "lineitem")
    for name, row in zip(("quack", "monetdb"), failed, strict=True):
        assert row["error"].startswith(f"{name} did not start")
    assert "turbodbc" in missing["error"]
    assert read["rows"] == ROWS


@pytest.mark.study
@is_root
def test_networks(context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {"CSV through a socket", "PostgreSQL with the extension, Colonnade", "colonnade serve, Colonnade"}
    monkeypatch.setattr(networks, "QUICK", few)
    rows = networks.run(context)
    measured = [row for row in rows if not row.get("paper")]
    assert not [row["error"] for row in measured if "error" in row]
    cells = {(row["system"], row["table"], row["link"]) for row in measured}
    assert cells == {(name, table, link) for name in few for table in networks.DATA for link in networks.NETWORKS}
    # A packet that is lost is sent again: on the WAN connecting alone takes a round trip of 50 ms.
    assert all(row["wall"] > 0.05 for row in measured if row["link"] == "WAN")
    page = reported(networks.EXPERIMENT, rows, tmp_path)
    assert "Hive (paper)" in page and "over an hour" in page
    assert len(networks.findings(rows)) == 4


@pytest.mark.study
@is_root
def test_latency_and_throughput(context: Context, tmp_path: Path) -> None:
    rows = links.run(context)
    assert not [row["error"] for row in rows if "error" in row]
    assert {row["sweep"] for row in rows} == {"latency", "throughput"}
    assert {row["system"] for row in rows} == {system.name for system in links.wanted("")}
    # The answer comes once: headers and what was sent again are a part of the bytes.
    csv = next(row for row in rows if row["sweep"] == "throughput" and row["system"] == "CSV through a socket")
    assert csv["bytes"] < csv["wire_bytes"] < 1.3 * csv["bytes"]
    reported(links.EXPERIMENT, rows, tmp_path)
    assert len(links.findings(rows)) == 4


@pytest.mark.study
@is_root
def test_codecs_by_link(context: Context, tmp_path: Path) -> None:
    rows = codec_links.run(context)
    measured = [row for row in rows if not row.get("paper")]
    assert not [row["error"] for row in measured if "error" in row]
    assert {row["link"] for row in measured} == {"local", "100 Mbit/s"}
    sizes = {row["system"]: row["wire_bytes"] for row in measured if row["link"] == "100 Mbit/s"}
    order = [sizes[f"Colonnade, {one}"] for one in ("light+zstd-9", "light", "plain")]
    assert order == sorted(order)
    assert "XZ (paper)" in reported(codec_links.EXPERIMENT, rows, tmp_path)
    assert len(codec_links.findings(rows)) == 4


@is_root
def test_a_reading_ends_at_its_time_limit(context: Context) -> None:
    limited = replace(context, size=replace(context.size, time_limit=0.2))
    with databases.started(limited, {"lineitem": ROWS}, [systems.FLOOR]) as there:
        row = there.reading(systems.FLOOR, "lineitem", Link("crawl", 0.5, delay=50))
    assert row["error"] == "took more than 0.2 s"


@pytest.mark.parametrize("module", [networks, links, codec_links])
def test_without_root_there_are_no_links(module: Any, context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(Unmeasurable, match="root"):
        module.run(context)


def test_sums_are_the_same_in_all_types() -> None:
    with duckdb.connect() as connection:
        kinds = ["number", "time", "truth", "text", "text"]
        exact = "(1.25::DECIMAL(9, 2), DATE '2013-01-01', true, 'x', NULL), (-2.5, NULL, false, 'y', '')"
        loose = "(1.25::DOUBLE, '2013-01-01', 1, 'x', NULL), (-2.5, NULL, 0, 'y', '')"
        other = "(1.25::DOUBLE, '2013-01-02', 1, 'x', NULL), (-2.5, NULL, 0, 'y', '')"
        found = [
            sums.of(connection, f"(VALUES {rows}) AS t(c0, c1, c2, c3, c4)", kinds) for rows in (exact, loose, other)
        ]
    assert sums.difference(found[1], found[0]) is None
    assert "column 2" in (sums.difference(found[2], found[0]) or "")
    assert sums.difference(found[0][:4], found[0]) == "4 columns, not 5"


def test_the_ddos_table_has_what_the_paper_says_of_it() -> None:
    relation = duckdb.sql(f"FROM read_parquet('{data.write('ddos')}')")
    types = [str(type_).partition("(")[0] for type_ in relation.types]
    assert [types.count(one) for one in ("DECIMAL", "INTEGER", "VARCHAR")] == [51, 29, 5] and len(types) == 85
    quarters = duckdb.sql(
        f"SELECT id >> 28, count(*) / {data.DDOS_ROWS} FROM relation GROUP BY 1 ORDER BY 1"
    ).fetchall()
    assert [share for _, share in quarters] == pytest.approx([0.5, 0.25, 0.125, 0.125], abs=0.03)
    [(width,)] = duckdb.sql("SELECT avg(strlen(concat_ws(',', *COLUMNS(*)))) FROM relation").fetchall()
    assert 400 < width < 580


def test_the_users_own_files_become_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match="set COLONNADE_ONTIME to the folder"):
        data.write("ontime")
    header = '"Year","Month","FlightDate","Reporting_Airline","Origin","DepTime","DepDelay","Div5TailNum",'
    lines = ['2013,1,2013-01-02,"AA","JFK","0805",-3.00,"",', '2013,1,2013-01-03,"UA","EWR","",,"",']
    for month in (1, 2):
        (tmp_path / f"On_Time_{month}.csv").write_text("\n".join([header, *lines]) + "\n")
    monkeypatch.setenv("COLONNADE_ONTIME", str(tmp_path))
    found = duckdb.sql(f"FROM read_parquet('{data.write('ontime')}')")
    assert found.columns == [name.lower() for name in header.replace('"', "").split(",") if name]
    assert len(found) == 4
    assert str(found.types[6]) == "DOUBLE" and str(found.types[2]) == "DATE"

    people = tmp_path / "people"
    people.mkdir()
    (people / "psam_pusa.csv").write_text(
        "RT,SERIALNO,PUMA,AGEP,WAGP\nP,2013000000001,00100,41,52000\nP,2013000000002,01300,3,\n"
    )
    monkeypatch.setenv("COLONNADE_PUMS", str(people))
    assert duckdb.sql(f"FROM read_parquet('{data.write('pums')}')").columns == [
        "rt",
        "serialno",
        "puma",
        "agep",
        "wagp",
    ]
