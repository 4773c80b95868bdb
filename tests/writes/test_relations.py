"""Relations of DuckDB: their values are those that a query of this package reads, and not those of DuckDB's plain
export."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import colonnade
import colonnade.aio
import duckdb
import pyarrow.parquet
import pytest
from colonnade._sources.duckdb_types.exact import quoted

from tests.writes.places import Place

#: Values that DuckDB's plain export changes, and their texts.
CHANGED = {
    "timetz": ("'12:34:56+05:30'::timetz", "12:34:56+05:30"),
    "uhugeint": ("340282366920938463463374607431768211455::uhugeint", "340282366920938463463374607431768211455"),
    "bit": ("'00101'::bit", "00101"),
    "bignum": ("(-1234567890123456789012345678901234567890)::bignum", "-1234567890123456789012345678901234567890"),
}
QUERY = f"select {', '.join(f'{value} as {name}' for name, (value, _) in CHANGED.items())}"
EXPECTED = {name: text for name, (_, text) in CHANGED.items()}


def relation(sql: str = QUERY) -> Any:
    return duckdb.connect().sql(sql)


def of_iterator() -> Iterator[Any]:
    yield relation()
    yield relation()


DATA: dict[str, tuple[Callable[[], Any], int]] = {
    "relation": (relation, 1),
    "list": (lambda: [relation(), relation()], 2),
    "iterator": (of_iterator, 2),
}


@pytest.mark.parametrize("kind", DATA)
def test_values_that_the_plain_export_changes(place: Place, kind: str) -> None:
    make, count = DATA[kind]
    colonnade.write_sql(make(), place.uri, "t")
    assert place.rows() == [EXPECTED] * count


def test_append_writes_the_same(place: Place) -> None:
    with colonnade.connect(place.uri) as connection, connection.append("t", if_exists="create_append") as rows:
        rows.write(relation())
        rows.write(relation())
    assert place.rows() == [EXPECTED] * 2


def test_asyncio_writes_the_same(in_sqlite: Place) -> None:
    async def write() -> None:
        async with await colonnade.aio.connect(in_sqlite.uri) as connection:
            await connection.write(relation(), "t")
            async with connection.append("t") as rows:
                await rows.write(relation())

    asyncio.run(write())
    assert in_sqlite.rows() == [EXPECTED] * 2


def test_an_interval_beyond_arrow_is_an_error(in_duckdb: Place) -> None:
    for data in (relation("select interval '2562048 hours' as v"), [relation("select interval '2562048 hours' as v")]):
        with pytest.raises(colonnade.Error, match='column "v" has an interval'):
            colonnade.write_sql(data, in_duckdb.uri, "t")
    assert not in_duckdb.exists()


def test_a_type_without_an_exact_form_is_refused(in_duckdb: Place) -> None:
    for sql in ("select 1::union(n integer) as v", "select [interval 1 day] as v"):
        for data in (relation(sql), [relation(sql)]):
            with pytest.raises(colonnade.NotSupportedError, match='column "v"') as caught:
                colonnade.write_sql(data, in_duckdb.uri, "t")
            assert caught.value.sqlstate == "0A000"


def test_a_connection_with_lossless_conversion_gives_the_same(in_duckdb: Place) -> None:
    """DuckDB's setting makes a byte of a boolean, and private bytes of HUGEINT."""
    with duckdb.connect() as connection:
        connection.execute("set arrow_lossless_conversion = true")
        sql = f"{QUERY}, true as b, [false, null] as l, uuid() as u, '1'::json as j"
        colonnade.write_sql(connection.sql(sql), in_duckdb.uri, "t")
        with pytest.raises(colonnade.NotSupportedError, match=r"arrow\.opaque") as caught:
            colonnade.write_sql(connection.sql("select 1::hugeint as h"), in_duckdb.uri, "h")
        assert "let the query cast it" in str(caught.value)
        colonnade.write_sql(connection.sql("select 1::hugeint::varchar as h"), in_duckdb.uri, "h")
    row = in_duckdb.rows()[0]
    assert {name: row[name] for name in EXPECTED} == EXPECTED
    assert (row["b"], row["l"]) == (True, [False, None])
    assert types(in_duckdb)["u"] == "UUID" and types(in_duckdb)["j"] == "JSON"


# --- types ------------------------------------------------------------------------------------------------------------

#: Types whose values arrive in Arrow types of other types, too.
KEPT = {
    "u": ("'6f0a1c1e-0000-4000-8000-000000000001'::uuid", "UUID"),
    "j": ("""'{"a":  1}'::json""", "JSON"),
    "e": ("'it''s'::enum('a', 'it''s')", "ENUM('a', 'it''s')"),
    "g": ("'POINT (1 2)'::geometry", "GEOMETRY"),
    "ul": ("['6f0a1c1e-0000-4000-8000-000000000001'::uuid, null]", "UUID[]"),
    "jl": ("['1'::json]", "JSON[]"),
    "s": ("{'u': '6f0a1c1e-0000-4000-8000-000000000001'::uuid, 'e': 'b'::enum('b')}", "STRUCT(u UUID, e ENUM('b'))"),
    "m": ("map {'k': '6f0a1c1e-0000-4000-8000-000000000001'::uuid}", "MAP(VARCHAR, UUID)"),
    "gl": ("['POINT (1 2)'::geometry]", "GEOMETRY[]"),
    "h": ("[170141183460469231731687303715884105::hugeint]", "DECIMAL(38,0)[]"),
}
#: Those that `colonnade serve` does not receive.
VARIANTS = {
    "v": ("{'a': [1, 2]}::variant", "VARIANT"),
    "vl": ("[1::variant, 'x'::variant]", "VARIANT[]"),
}


def select(columns: dict[str, tuple[str, str]]) -> str:
    return f"select {', '.join(f'{value} as {quoted(name)}' for name, (value, _) in columns.items())}"


def types(place: Place, table: str = "t") -> dict[str, str]:
    with colonnade.connect(place.uri) as connection:
        described = connection.query(f"describe {table}").to_arrow()
    return dict(zip(described[0].to_pylist(), described[1].to_pylist(), strict=True))


def texts(place: Place, table: str = "t") -> list[dict[str, Any]]:
    """DuckDB's own texts of the values."""
    with colonnade.connect(place.uri) as connection:
        return connection.query(f"select columns(*)::varchar from {table}").to_arrow().to_pylist()


@pytest.mark.parametrize("form", ["relation", "parts", "result", "table"])
@pytest.mark.parametrize("target", ["in_duckdb", "in_serve"])
def test_types_are_kept_from_duckdb_to_duckdb(request: pytest.FixtureRequest, target: str, form: str) -> None:
    place: Place = request.getfixturevalue(target)
    columns = KEPT if place.is_serve else KEPT | VARIANTS
    sql = select(columns)
    with colonnade.connect("duckdb:///:memory:") as source:
        data: Any = {
            "relation": lambda: relation(sql),
            "parts": lambda: [relation(sql)],
            "result": lambda: source.query(sql),
            "table": lambda: source.query(sql).to_arrow(),
        }[form]()
        colonnade.write_sql(data, place.uri, "t")
    assert types(place) == {name: type_ for name, (_, type_) in columns.items()}
    with duckdb.connect() as plain:
        found = plain.sql(sql).fetchall()
        shown = plain.sql(f"select columns(*)::varchar from ({sql})").fetchall()
    assert found and [tuple(row.values()) for row in texts(place)] == shown


def test_other_rows_of_such_columns_are_appended_to_other_types(in_duckdb: Place) -> None:
    in_duckdb.execute("create table t (u varchar, j varchar, e varchar, ul varchar[])")
    sql = select({name: KEPT[name] for name in ("u", "j", "e", "ul")})
    colonnade.write_sql(relation(sql), in_duckdb.uri, "t", if_exists="append")
    assert in_duckdb.rows()[0]["e"] == "it's"


def test_a_label_that_an_enum_lacks_is_an_error(in_duckdb: Place) -> None:
    in_duckdb.execute("create table t (e enum('a')[])")
    for data in ({"e": [["b"]]}, {"e": [["a"], ["b"]]}):
        with pytest.raises(colonnade.DatabaseError, match="b"):
            colonnade.write_sql(data, in_duckdb.uri, "t", if_exists="append")
    colonnade.write_sql({"e": [["a"]]}, in_duckdb.uri, "t", if_exists="append")
    assert in_duckdb.rows() == [{"e": ["a"]}]


def test_a_variant_is_refused_where_it_would_become_private_bytes(in_serve: Place) -> None:
    with pytest.raises(colonnade.NotSupportedError, match='column "v"') as caught:
        colonnade.write_sql(relation(select(VARIANTS)), in_serve.uri, "t")
    assert "to_json()" in str(caught.value)
    colonnade.write_sql(relation("select to_json({'a': 1}::variant) as v"), in_serve.uri, "t")
    assert in_serve.rows() == [{"v": '{"a":1}'}]


def test_parquet_keeps_types(tmp_path: Path) -> None:
    columns = {name: KEPT[name] for name in ("u", "j", "g", "ul", "gl", "m")}
    path = tmp_path / "t.parquet"
    read(select(columns), "-o", str(path))
    with duckdb.connect() as plain:
        described = {row[0]: row[1] for row in plain.sql(f"describe from '{path}'").fetchall()}
        assert described == {name: type_ for name, (_, type_) in columns.items()}
        assert plain.sql(f"from '{path}'").fetchall() == plain.sql(select(columns)).fetchall()
    assert "Geometry" in str(pyarrow.parquet.ParquetFile(path).schema)


def test_directories_of_parquet_keep_types(tmp_path: Path) -> None:
    columns = {name: KEPT[name] for name in ("u", "j", "g")}
    read(f"{select(columns)}, 1 as k", "-o", str(tmp_path / "t"), "--partition-by", "k")
    with duckdb.connect() as plain:
        described = plain.sql(f"describe from '{tmp_path}/t/*/*.parquet'").fetchall()
    assert {row[0]: row[1] for row in described if row[0] != "k"} == {n: type_ for n, (_, type_) in columns.items()}


def read(sql: str, *arguments: str) -> None:
    command = [sys.executable, "-m", "colonnade", "read", "duckdb:///:memory:", sql, *arguments]
    subprocess.run(command, check=True, capture_output=True, text=True)


def test_a_copied_file_keeps_types(tmp_path: Path) -> None:
    source, target = tmp_path / "a.duckdb", tmp_path / "b.duckdb"
    columns = KEPT | VARIANTS
    with duckdb.connect(str(source)) as made:
        made.execute(f"create table t as {select(columns)}")
    duckdb.connect(str(target)).close()
    command = [sys.executable, "-m", "colonnade", "copy", f"duckdb:///{source}", "from t", f"duckdb:///{target}", "t"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    assert types(Place(f"duckdb:///{target}")) == {name: type_ for name, (_, type_) in columns.items()}


def test_variants_are_json_in_texts(tmp_path: Path) -> None:
    values = {
        "{'a': [1::variant, 'x'::variant, null], 'b': {'c': true}}::variant": {"a": [1, "x", None], "b": {"c": True}},
        "'ü\"\\'::variant": 'ü"\\',
        "-5000000000::variant": -5_000_000_000,
        "1.50::decimal(5,2)::variant": "1.50",
        "0.1::float::variant": 0.1,
        "1e300::double::variant": 1e300,
        "date '2024-02-29'::variant": "2024-02-29",
        "timestamp '2024-02-29 01:02:03.5'::variant": "2024-02-29 01:02:03.500000",
        "time '01:02:03.5'::variant": "01:02:03.500000",
        "'6f0a1c1e-0000-4000-8000-000000000001'::uuid::variant": "6f0a1c1e-0000-4000-8000-000000000001",
        r"'\x00\xFF'::blob::variant": "\\x00ff",
        "repeat('long ', 100)::variant": "long " * 100,
        "range(300)::variant": list(range(300)),
    }
    sql = " union all ".join(f"select {at} as i, {value} as v, [{value}] as l" for at, value in enumerate(values))
    read(f"from ({sql} union all select 99, null, [null]) order by i", "-o", str(tmp_path / "t.ndjson"))
    lines = [json.loads(line) for line in (tmp_path / "t.ndjson").read_text().splitlines()]
    assert [line["v"] for line in lines] == [*values.values(), None]
    assert [line["l"] for line in lines] == [[value] for value in [*values.values(), None]]
    read("select {'a': 1}::variant as v union all select null order by v", "-o", str(tmp_path / "t.csv"))
    assert (tmp_path / "t.csv").read_text().splitlines() == ['"v"', '"{""a"": 1}"', ""]
