"""ConnectorX's evaluation on few rows: every system that is here answers, with the source's rows, and all is shown.

The tests' environment stands in for the peers': it has pandas, SQLAlchemy, psycopg2, Dask and ADBC. What it lacks
(ConnectorX, PyMySQL, turbodbc) has to be named with the reason, and to keep nothing else from being measured.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import data
import pytest

from study import arrow, bandwidth, pandas_breakdown, partitions, queries, report
from study.experiment import SIZES, Context, Experiment, Finding, Row, Unmeasurable
from study.medians import cell, those
from study.parted import DASK, in_parts, named
from study.systems import EXTENSION, POSTGRES, by_name
from tests.testbed import postgres as pg

PANDAS, CONNECTORX, MARIADB = by_name(
    "PostgreSQL, pandas + SQLAlchemy", "PostgreSQL, ConnectorX", "MariaDB as it is, Colonnade"
)


@pytest.fixture(scope="module", autouse=True)
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """TPC-H of some thousand rows, and no more of DDoS."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "DIRECTORY", tmp_path_factory.mktemp("tables"))
        patch.setattr(data, "SCALE", "0.002")
        patch.setattr(data, "DDOS_ROWS", 4000)
        yield


@pytest.fixture
def context() -> Iterator[Context]:
    with pg.scratch() as scratch:
        scratch.chmod(0o755)
        yield Context(SIZES["tiny"], sys.executable, Path(), scratch)


def shown(experiment: Experiment, rows: list[Row], directory: Path) -> str:
    facts = {"size": "tiny", "seconds": 1.0, "machine": {"Machine": "this one"}}
    measured = [(experiment, {"experiment": "one", "rows": rows, **facts})]
    return report.write(directory, measured).read_text()


def check_readings(rows: list[Row], ours: set[str]) -> None:
    """What could be read is the source's, and ours could."""
    for row in those(rows):
        if "error" in row:
            assert "ModuleNotFoundError" in row["error"], row
        else:
            assert row["checked"] == "values"
            assert row["wall"] > 0 and row["client_peak"] >= row["client_before"] > 0
    fine = {row["system"] for row in those(rows) if "error" not in row}
    assert ours <= fine


def test_variants_name_a_key_where_one_is_needed() -> None:
    assert in_parts(CONNECTORX, 0, "k") == CONNECTORX
    assert in_parts(CONNECTORX, 4, "k").options == {"partition_on": "k", "partition_num": 4}
    assert in_parts(CONNECTORX, 4, "k").name == "PostgreSQL, ConnectorX, 4 parts"
    assert in_parts(POSTGRES, 4, "k").options == {"partition_num": 4}
    assert in_parts(POSTGRES, 4, "k", is_join=True).options == {"partition_on": "k", "partition_num": 4}
    assert in_parts(MARIADB, 1, "k").options == {"partition_on": "k", "partition_num": 1}
    assert in_parts(DASK, 0, "k").options == {"partition_on": "k", "partition_num": 1}
    assert named("a", 1) == "a, 1 part"


def test_the_steps_of_pandas(context: Context, tmp_path: Path) -> None:
    rows = pandas_breakdown.EXPERIMENT.run(context)
    fine = {row["mode"]: row for row in rows if row["database"] == "PostgreSQL" and not row.get("paper")}
    assert set(fine) == {"steps", "whole", "100", "1000"}
    for row in fine.values():
        assert "error" not in row, row
        assert row["rows"] == fine["steps"]["rows"] >= 1000
        assert row["frame_bytes"] == pytest.approx(fine["whole"]["frame_bytes"], rel=0.01)
        assert row["raw_bytes"] > 100 * row["rows"]
    steps = fine["steps"]
    walls = [steps[f"{step}_wall"] for step in pandas_breakdown.STEPS]
    assert all(wall > 0 for wall in walls) and sum(walls) <= steps["wall"]
    text = shown(pandas_breakdown.EXPERIMENT, rows, tmp_path)
    assert "PostgreSQL (paper)" in text and "Reading in chunks" in text
    assert len(pandas_breakdown.EXPERIMENT.findings(rows)) == 3


@pytest.mark.study
def test_parts(context: Context, tmp_path: Path) -> None:
    rows = partitions.EXPERIMENT.run(context)
    client = those(rows, part="client")
    once = {POSTGRES.name, EXTENSION.name, MARIADB.name, "SQLite, Colonnade", PANDAS.name, "SQLite, pandas + sqlite3"}
    check_readings([row for row in client if row["table"] == "ddos"], once)
    twice = {named(name, 2) for name in (POSTGRES.name, EXTENSION.name, MARIADB.name, "SQLite, Colonnade", DASK.name)}
    check_readings([row for row in client if row["table"] == "lineitem"], {*once, *twice, DASK.name})
    for row in those(rows, part="server"):
        # Neither twice for two parts, nor a part left out.
        if "error" not in row:
            assert 0.9 < row["scans"] < 1.9, row
    text = shown(partitions.EXPERIMENT, rows, tmp_path)
    assert "MySQL, ConnectorX (paper)" in text and "partitions made by the server, 16 parts (paper)" in text
    assert "No module named" in text
    assert [finding.holds for finding in partitions.EXPERIMENT.findings(rows)][:3] == [None] * 3


def test_parts_that_have_no_cores_of_their_own_tell_nothing() -> None:
    def claims(cores: int) -> list[bool | None]:
        walls = {named(CONNECTORX.name, parts): wall for parts, wall in ((0, 4.0), (4, 1.0))}
        rows = [
            {"part": "client", "table": "lineitem", "system": system, "wall": wall, "cores": cores}
            for system, wall in walls.items()
        ]
        return [finding.holds for finding in partitions.findings(rows) if "four make ConnectorX" in finding.claim]

    assert claims(2) == [None]
    assert claims(8) == [True]


def test_a_cell_of_several_readings_has_their_spread() -> None:
    rows: list[Row] = [{"system": "a", "wall": wall} for wall in (3.0, 1.0, 2.0)] + [{"system": "b", "wall": 4.0}]
    assert report.number(cell(rows, "wall", system="a")) == "2.00 <small>1.00–3.00</small>"
    assert report.number(cell(rows, "wall", 10, system="b")) == "40.0"
    assert cell([{"system": "c", "error": "why"}], "wall", system="c") == "why"


@pytest.mark.study
def test_into_arrow(context: Context, tmp_path: Path) -> None:
    rows = arrow.EXPERIMENT.run(context)
    ours = {named(name, parts) for name in (POSTGRES.name, EXTENSION.name, "SQLite, Colonnade") for parts in (0, 4)}
    check_readings(rows, {*ours, "PostgreSQL, ADBC", "PostgreSQL, ODBC (arrow-odbc)", "SQLite, ADBC"})
    assert "Into Arrow" in shown(arrow.EXPERIMENT, rows, tmp_path)
    assert all(finding.holds is None for finding in arrow.EXPERIMENT.findings(rows))


@pytest.mark.study
def test_queries_with_joins(context: Context, tmp_path: Path) -> None:
    rows = queries.EXPERIMENT.run(context)
    check_readings(rows, {PANDAS.name, POSTGRES.name, named(POSTGRES.name, 4), EXTENSION.name})
    assert {row["table"] for row in those(rows)} == set(queries.FEW["tiny"])
    assert all(row["rows"] > 0 for row in those(rows) if "error" not in row)
    assert "Times pandas&#x27; speed" in shown(queries.EXPERIMENT, rows, tmp_path)


def test_every_query_begins_with_its_key() -> None:
    assert list(queries.QUERIES) == [f"Q{number}" for number in range(1, 23)]
    for query in queries.QUERIES.values():
        assert query.removeprefix("SELECT ").partition(",")[0].endswith("key")


@pytest.mark.study
def test_links_need_root_and_the_shaper(context: Context) -> None:
    with pytest.raises(Unmeasurable, match="colonnade-shaper is missing" if os.geteuid() == 0 else "need root"):
        bandwidth.EXPERIMENT.run(context)


def on_links(walls: dict[str, list[float]], cores: int) -> list[Row]:
    """Rows as readings over two links would give them."""
    return [
        {"system": name, "table": "lineitem", "link": link, "wall": wall, "wire_bytes": 1e6, "cores": cores}
        for name, both in walls.items()
        for link, wall in zip(("local", "200 Mbit/s"), both, strict=True)
    ]


@pytest.mark.parametrize(
    ("walls", "holds"),
    [
        ({PANDAS.name: [14.0, 6.0], CONNECTORX.name: [3.0, 2.1], bandwidth.BASE: [1.0, 2.0]}, [True, True, True]),
        ({PANDAS.name: [2.0, 9.0], CONNECTORX.name: [3.0, 4.0], bandwidth.BASE: [1.0, 2.0]}, [False, False, True]),
        (
            {
                PANDAS.name: [9.0, 9.0],
                CONNECTORX.name: [3.0, 4.0],
                bandwidth.BASE: [1.0, 2.0],
                POSTGRES.name: [1.0, 1.0],
            },
            [True, False, False],
        ),
        ({CONNECTORX.name: [3.0, 4.0]}, []),
    ],
)
def test_what_links_are_found_to_say(walls: dict[str, Any], holds: list[bool], tmp_path: Path) -> None:
    rows = on_links(walls, cores=8)
    rows.append({"system": "Modin", "table": "lineitem", "link": "10 Gbit/s", "paper": True, "slower": 3.45})
    found: list[Finding] = bandwidth.EXPERIMENT.findings(rows)
    assert [finding.holds for finding in found] == holds
    assert "200 Mbit/s" in shown(bandwidth.EXPERIMENT, rows, tmp_path)
    # Whether partitions help is told only where each part has free cores.
    few = bandwidth.EXPERIMENT.findings(on_links(walls, cores=2))
    assert [finding.holds for finding in few] == [*holds[:1], *[None] * (len(holds) > 0), *holds[2:]]


@pytest.mark.parametrize(("cores", "holds"), [(2, None), (8, True), (None, None)])
def test_parts_of_a_join_are_compared_only_where_each_has_free_cores(cores: int | None, holds: bool | None) -> None:
    walls = {PANDAS.name: 9.0, CONNECTORX.name: 3.0, named(CONNECTORX.name, 4): 4.0, POSTGRES.name: 1.0}
    known = {} if cores is None else {"cores": cores}
    rows = [{"table": "Q1", "system": system, "wall": wall, **known} for system, wall in walls.items()]
    [first, second] = queries.EXPERIMENT.findings(rows)
    assert (first.holds, second.holds) == (True, holds)
    assert second.today.endswith("each part had a core on either side.") is (holds is None)
