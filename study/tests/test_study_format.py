"""The study's experiments on bytes: each runs at its smallest size, with every way to write a table, and shows what it
found."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import data
import duckdb
import pytest

from study import report
from study.encodings import one, ours, theirs, values
from study.experiment import SIZES, Context, Experiment, Row, Unmeasurable

pytestmark = pytest.mark.study

ROOT = Path(__file__).parents[2]
ROWS = SIZES["tiny"].rows
#: Tables with the names, the types and something of the values of the benchmark's.
TABLES = {
    "lineitem": """
        SELECT i // 4 AS l_orderkey, i * 7919 % 200000 AS l_partkey, i * 104729 % 10000 AS l_suppkey,
            (i % 7 + 1)::INTEGER AS l_linenumber, (i * 31 % 50 + 1)::DECIMAL(15, 2) AS l_quantity,
            (i * 7919 % 10000000 / 100)::DECIMAL(15, 2) AS l_extendedprice,
            (i * 13 % 11 / 100)::DECIMAL(15, 2) AS l_discount, (i * 17 % 9 / 100)::DECIMAL(15, 2) AS l_tax,
            ['A', 'N', 'R'][i * 7 % 3 + 1] AS l_returnflag, ['F', 'O'][i % 2 + 1] AS l_linestatus,
            DATE '1992-01-02' + (i * 7919 % 2526)::INTEGER AS l_shipdate,
            DATE '1992-01-31' + (i * 7919 % 2466)::INTEGER AS l_commitdate,
            DATE '1992-01-04' + (i * 7919 % 2554)::INTEGER AS l_receiptdate,
            ['NONE', 'COLLECT COD', 'DELIVER IN PERSON'][i % 3 + 1] AS l_shipinstruct,
            ['AIR', 'RAIL', 'SHIP'][i * 5 % 3 + 1] AS l_shipmode,
            left('carefully ' || i * 7919 % 1000003 || ' the requests sleep', (10 + i % 34)::INTEGER) AS l_comment
        FROM range(5000) AS t(i)
    """,
    "flights": """
        SELECT 2013 AS year, nullif(i * 31 % 2400, 7)::INTEGER AS dep_time, (i % 60 - 20)::INTEGER AS dep_delay,
            ['UA', 'AA', 'B6'][i % 3 + 1] AS carrier, nullif('N' || i * 37 % 4000, 'N1000') AS tailnum,
            TIMESTAMP '2013-01-01 05:00:00' + INTERVAL (i) MINUTE AS time_hour
        FROM range(5000) AS t(i)
    """,
    "acs": "SELECT 2013000000000 + i AS serialno, "
    + ", ".join(f"nullif(i * {7 * k + 1} % {5 + k}, 3)::SMALLINT AS c{k}" for k in range(60))
    + " FROM range(5000) AS t(i)",
}
PAPERS_LAYOUTS = {"MonetDB++", "PostgreSQL++"}
EXPERIMENTS = ("chunk_sizes", "row_or_column", "integers", "frameworks", "strings")


@pytest.fixture(scope="module")
def programs() -> Path:
    subprocess.run(["cargo", "build", "--quiet", "--locked", "-p", "colonnade-bench"], cwd=ROOT, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"


@pytest.fixture(scope="module")
def context(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Context]:
    """With small tables in place of the benchmark's."""
    tables = tmp_path_factory.mktemp("tables")
    for name, query in TABLES.items():
        duckdb.sql(query).write_parquet(str(tables / f"{name}.parquet"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "DIRECTORY", tables)
        yield Context(SIZES["tiny"], "", programs, tmp_path_factory.mktemp("scratch"))


@pytest.fixture(scope="module")
def measured(context: Context) -> Callable[[str], list[Row]]:
    """The rows of an experiment, which runs once."""
    found: dict[str, list[Row]] = {}

    def rows(name: str) -> list[Row]:
        if name not in found:
            found[name] = experiment(name).run(context)
        return found[name]

    return rows


def experiment(name: str) -> Experiment:
    return import_module(f"study.{name}").EXPERIMENT


def layouts(rows: list[Row]) -> set[str]:
    return set(values(rows, "layout"))


def size(rows: list[Row], **what: Any) -> int:
    return one(rows, **what)["bytes"]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_each_measurement_is_whole(measured: Callable[[str], list[Row]], name: str) -> None:
    rows = measured(name)
    assert {row.get("paper", False) for row in rows} == {True, False}
    for row in ours(rows):
        assert row["rows"] > 0 and row["bytes"] > 0 and row["encode_seconds"] > 0 and row["decode_seconds"] > 0, row


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_what_was_measured_can_be_shown(measured: Callable[[str], list[Row]], tmp_path: Path, name: str) -> None:
    rows = measured(name)
    facts = {"experiment": name, "size": "tiny", "seconds": 1, "machine": {}, "rows": rows}
    shown = report.write(tmp_path, [(experiment(name), facts)]).read_text()
    assert "(paper)" in shown and "Not measured" not in shown
    assert len(experiment(name).findings(rows)) >= 3


def test_chunks_are_measured_at_each_of_the_papers_sizes(measured: Callable[[str], list[Row]]) -> None:
    rows = measured("chunk_sizes")
    for table, columns in (("lineitem", 16), ("flights", 6), ("acs", 61)):
        sizes = [row["chunk_bytes"] for row in theirs(rows, table=table)]
        for layout in (*PAPERS_LAYOUTS, "Colonnade light"):
            found = ours(rows, table=table, layout=layout, codec="none")
            assert [row["chunk_bytes"] for row in found] == sizes
            assert {row["columns"] for row in found} == {columns}
            per_row = [row["bytes"] / row["rows"] for row in found]
            assert per_row[0] == max(per_row) > per_row[-1], layout
            if layout in PAPERS_LAYOUTS:
                # More rows a chunk never take more bytes each.
                assert per_row == sorted(per_row, reverse=True), layout
    [smallest, *_] = ours(rows, table="lineitem", layout="MonetDB++", codec="none")
    assert 10 < smallest["rows_per_chunk"] < 25


def test_codecs_make_columns_smaller(measured: Callable[[str], list[Row]]) -> None:
    rows = measured("row_or_column")
    assert values(rows, "codec")[:7] == ["none", "Snappy", "LZ4", "ZSTD-1", "ZSTD-3", "GZIP-6", "XZ-6"]
    for table in ("lineitem", "flights", "acs"):
        plain = size(rows, table=table, layout="columns", codec="none")
        # The same values: only the lengths of columns of text are not there.
        assert plain - 4 * 16 <= size(rows, table=table, layout="rows", codec="none") <= plain
        for codec in ("Snappy", "LZ4", "ZSTD-1", "ZSTD-3", "GZIP-6", "XZ-6"):
            assert size(rows, table=table, layout="columns", codec=codec) < plain
        heavy, light = (size(rows, table=table, layout="columns", codec=codec) for codec in ("XZ-6", "Snappy"))
        assert heavy < light


def test_integers_are_packed(measured: Callable[[str], list[Row]]) -> None:
    rows = measured("integers")
    assert layouts(rows) == PAPERS_LAYOUTS | {"binary packing", "PFOR", "Colonnade light"}
    # Without what does not fit four bytes, with lineitem's decimals.
    assert one(rows, table="lineitem", layout="PFOR", codec="none")["columns"] == 8
    assert one(rows, table="flights", layout="PFOR", codec="none")["columns"] == 3
    assert one(rows, table="acs", layout="PFOR", codec="none")["columns"] == 60
    for table in ("lineitem", "flights", "acs"):
        [plain] = ours(rows, table=table, layout="MonetDB++", codec="none")
        assert plain["bytes"] == plain["rows"] * plain["columns"] * 4 + 4
        pfor, binary = (size(rows, table=table, layout=layout, codec="none") for layout in ("PFOR", "binary packing"))
        assert pfor < plain["bytes"]
        # A missing value is a negative number, which only PFOR can set aside: acs has some in each block.
        assert pfor < binary or table == "lineitem"
        assert (binary < plain["bytes"]) == (table != "acs")


def test_protocol_buffers_are_larger_by_rows(measured: Callable[[str], list[Row]]) -> None:
    rows = measured("frameworks")
    protobuf = {f"Protocol Buffers, {how}" for how in ("a message a row", "packed columns")}
    assert layouts(rows) == PAPERS_LAYOUTS | protobuf | {"Arrow IPC", "Colonnade plain", "Colonnade light"}
    by_rows, packed, custom, arrow, light = (
        size(rows, layout=layout, codec="none")
        for layout in (*sorted(protobuf), "MonetDB++", "Arrow IPC", "Colonnade light")
    )
    assert light < packed < by_rows < custom < arrow


def test_text_takes_the_bytes_that_its_way_needs(measured: Callable[[str], list[Row]]) -> None:
    rows = measured("strings")
    flag, comment = ({"column": column, "codec": "none"} for column in ("l_returnflag", "l_comment"))
    assert size(rows, layout="VARCHAR(1)", **flag) == 4 + ROWS
    assert size(rows, layout="null-terminated", **flag) == size(rows, layout="varint prefix", **flag) == 4 + 2 * ROWS
    assert size(rows, layout="4-byte prefix", **flag) == 4 + 5 * ROWS
    assert size(rows, layout="offsets (Arrow)", **flag) == 4 + 4 + 5 * ROWS
    for width in (44, 100, 1_000, 10_000):
        fixed = one(rows, layout=f"VARCHAR({width})", **comment)
        chunks = -(-fixed["rows"] // fixed["rows_per_chunk"])
        assert fixed["bytes"] == chunks * 4 + fixed["rows"] * width
    assert size(rows, layout="Colonnade light", **comment) < size(rows, layout="null-terminated", **comment)


def test_a_program_that_is_missing_is_named(context: Context, tmp_path: Path) -> None:
    without = Context(context.size, "", tmp_path, context.scratch)
    with pytest.raises(Unmeasurable, match="cargo build"):
        experiment("frameworks").run(without)
