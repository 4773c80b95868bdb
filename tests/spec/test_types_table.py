"""spec/TYPES.md against what DuckDB exports to Arrow."""

from __future__ import annotations

import re

import pytest

duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")

from colonnade._sources.duckdb_types.exact import UnsupportedType, exact  # noqa: E402 - after the importorskip

from tests.support.types_table import Row, of, python_values, rows, shown  # noqa: E402 - likewise

# FORMAT §4's names, and Arrow's for the types without parameters.
PLAIN = {
    name: getattr(pa, name)() for name in ("null", "int8", "int16", "int32", "int64", "float32", "float64", "binary")
}
PLAIN |= {name: getattr(pa, name)() for name in ("uint8", "uint16", "uint32", "uint64", "date32", "utf8")}
PLAIN |= {"bool": pa.bool_(), "interval_month_day_nano": pa.month_day_nano_interval()}
TYPES = {"T": "INTEGER", "V": "VARCHAR", "K": "VARCHAR"}
WIRE_OF = {"T": "int32", "V": "utf8", "K": "utf8"}
NUMBERS = {"p": "12", "s": "3", "n": "2"}
ZONE = "Europe/Amsterdam"

# A value of each DuckDB type at its limits, and how it must arrive; text is compared as text, integers by their bits.
VALUES = {
    "NULL": [("NULL", None)],
    "BOOLEAN": [("true", True), ("false", False)],
    "TINYINT": [("-128", -128), ("127", 127)],
    "SMALLINT": [("-32768", -32768), ("32767", 32767)],
    "INTEGER": [("-2147483648", -(2**31)), ("2147483647", 2**31 - 1)],
    "BIGINT": [("-9223372036854775808", -(2**63)), ("9007199254740993", 9007199254740993)],
    "HUGEINT": [(str(-(2**127)), -(2**127)), (str(2**127 - 1), 2**127 - 1)],
    "UTINYINT": [("255", 255)],
    "USMALLINT": [("65535", 65535)],
    "UINTEGER": [("4294967295", 2**32 - 1)],
    "UBIGINT": [("18446744073709551615", 2**64 - 1)],
    "UHUGEINT": [("340282366920938463463374607431768211455", str(2**128 - 1)), ("0", "0")],
    "BIGNUM": [("'-" + "1234567890" * 9 + "'", "-" + "1234567890" * 9)],
    "FLOAT": [("0.1", "0.10000000149011612"), ("'inf'", "inf"), ("'-0.0'", "-0.0")],
    "DOUBLE": [("1e300", "1e+300"), ("'-inf'", "-inf"), ("'nan'", "nan")],
    "DECIMAL(p,s)": [("-999999999.999", "-999999999.999"), ("0.001", "0.001")],
    "VARCHAR": [("'漢 😀'", "漢 😀"), ("''", "")],
    "BLOB": [(r"'\x00\xFF'", b"\x00\xff")],
    "BIT": [("'00101'", "00101"), ("'1111111100000001'", "1111111100000001")],
    "DATE": [("'0001-01-01'", -719162), ("'infinity'", 2**31 - 1), ("'-infinity'", -(2**31) + 1)],
    "TIME": [("'23:59:59.999999'", 86399999999), ("'24:00:00'", 86400000000)],
    "TIME_NS": [("'00:00:00.000000001'", 1)],
    "TIME WITH TIME ZONE": [("'01:02:03.4+05:30'", "01:02:03.4+05:30"), ("'00:00:00-15:59'", "00:00:00-15:59")],
    "TIMESTAMP_S": [("'2024-01-01 00:00:01'", 1704067201), ("'infinity'", 2**63 - 1)],
    "TIMESTAMP_MS": [("'2024-01-01 00:00:01.5'", 1704067201500), ("'-infinity'", -(2**63) + 1)],
    "TIMESTAMP": [("'1969-12-31 23:59:59.999999'", -1), ("'infinity'", 2**63 - 1)],
    "TIMESTAMP_NS": [("'2024-01-01 00:00:01.123456789'", 1704067201123456789), ("'infinity'", 2**63 - 1)],
    "TIMESTAMP WITH TIME ZONE": [("'2024-01-01 00:00:01.5+00'", 1704067201500000), ("'infinity'", 2**63 - 1)],
    "TIMESTAMPTZ_NS": [("'2024-01-01 00:00:01.5+00'", 1704067201500000000)],
    "INTERVAL": [("'14 months -3 days 1 us'", [14, -3, 1000]), ("'-2562046 hours'", [0, 0, -2562046 * 3600 * 10**9])],
    "UUID": [("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")],
    "ENUM('sad', 'ok')": [("'ok'", "ok"), ("'sad'", "sad")],
    "T[]": [("[1, NULL]", [1, None]), ("[]", [])],
    "T[n]": [("[1, 2]", [1, 2])],
    "STRUCT(a T, b V)": [("{'a': 1, 'b': 'x'}", {"a": 1, "b": "x"})],
    "TUPLE(T, V)": [("row(1, 'x')", {"element1": 1, "element2": "x"})],
    "MAP(K, V)": [("MAP {'k': 'v'}", [("k", "v")])],
    "UNION(a INTEGER)": [("union_value(a := 1)", None)],
    "JSON": [("""'{"a":  1}'""", '{"a":  1}')],
    "VARIANT": [("42", None)],
    "GEOMETRY": [("'POINT(1 2)'", None)],
    "TYPE": [("get_type(1)", "INTEGER")],
}  # fmt: skip


def wire_to_arrow(wire: str) -> pa.DataType:
    """The Arrow type of a wire type as the table writes it, with `WIRE_OF`, `NUMBERS` and `ZONE` for its letters."""
    wire = WIRE_OF.get(wire, wire)
    if wire in PLAIN:
        return PLAIN[wire]
    name, parameters = re.fullmatch(r"(\w+)\((.*)\)", wire).groups()
    parts = parameters.split(", ")
    match name:
        case "decimal128" | "decimal256":
            return getattr(pa, name)(*(int(NUMBERS.get(part, part)) for part in parts))
        case "time64":
            return pa.time64(parts[0])
        case "duration":
            return pa.duration(parts[0])
        case "timestamp":
            return pa.timestamp(parts[0], *(ZONE if zone == "Z" else zone for zone in parts[1:]))
        case "dictionary":
            return pa.dictionary(wire_to_arrow(parts[0]), wire_to_arrow(parts[1]))
        case "list":
            return pa.list_(wire_to_arrow(parts[0]))
        case "fixed_size_list":
            return pa.list_(wire_to_arrow(parts[0]), int(NUMBERS[parts[1]]))
        case "map":
            return pa.map_(*map(wire_to_arrow, parts))
        case "struct":
            return pa.struct([(part.split()[0], wire_to_arrow(part.split()[1])) for part in parts])
    raise AssertionError(f"unknown wire type {wire}")


def instantiated(text: str) -> str:
    letters = {**WIRE_OF, **NUMBERS, "Z": ZONE}
    letters |= {letter: shown(PLAIN[wire]) for letter, wire in WIRE_OF.items()}
    return re.sub(
        r"\b[TVKpnZ]\b|(?<!\[)\bs\b",  # but not the seconds of timestamp[s]
        lambda m: letters[m.group()],
        text,
    )


def sample(row: Row) -> tuple[str, list]:
    """DuckDB's name of the type in this row, with an example for each letter; and its values."""
    key = {"ENUM(…)": "ENUM('sad', 'ok')", "UNION(…)": "UNION(a INTEGER)"}.get(row.database, row.database)
    sql = re.sub(r"\b[TVKpsn]\b", lambda m: {**TYPES, **NUMBERS}[m.group()], key)
    return sql, VALUES[key]


@pytest.fixture
def connection():
    with duckdb.connect() as opened:
        opened.execute(f"SET TimeZone = '{ZONE}'")
        yield opened


def relation_of(connection, sql: str, values: list):
    cast = {"NULL": "{}", "TYPE": "{}"}.get(sql, f"CAST({{}} AS {sql})")
    if sql.startswith("UNION"):
        cast = "{}"
    union = " UNION ALL ".join(f"SELECT {i} AS i, {cast.format(v)} AS v" for i, (v, _) in enumerate(values))
    return connection.sql(f"SELECT v FROM ({union}) ORDER BY i")


def test_the_table_can_be_read():
    table = rows()
    assert {row.source for row in table} == {"DuckDB", "PostgreSQL", "MySQL", "SQLite", "ODBC"}
    for row in table:
        assert row.how in ("exact", "text", "refused"), row
        assert (row.wire == "none") == (row.how == "refused"), row
        assert row.how != "text" or row.wire == "utf8", row
    keys = [(row.source, row.database) for row in table]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("row", [r for r in rows() if r.wire != "none"], ids=lambda r: f"{r.source} {r.database}")
def test_wire_and_arrow_types_agree(row):
    expected = shown(wire_to_arrow(row.wire))
    if row.arrow.endswith("ordered=1>"):
        expected = expected.replace("ordered=0", "ordered=1")
    assert instantiated(row.arrow) == expected


def test_every_duckdb_type_has_a_row(connection):
    names = {name for (name,) in connection.sql("SELECT DISTINCT logical_type FROM duckdb_types()").fetchall()}
    nested = {"LIST": "T[]", "ARRAY": "T[n]"}
    covered = {row.database.split("(")[0] for row in of("DuckDB")}
    assert {nested.get(name, name) for name in names} - covered == set()


@pytest.mark.parametrize("row", [r for r in of("DuckDB") if r.how != "refused"], ids=lambda r: r.database)
def test_duckdb_exports_what_the_table_says(connection, row):
    sql, values = sample(row)
    result = exact(relation_of(connection, sql, values))
    column = result.relation.to_arrow_table().column(0)
    assert shown(column.type) == instantiated(row.arrow)
    assert result.cast_from == ({0: sql} if row.how == "text" else {})
    got = python_values(column, row.wire)
    for value, (_, expected) in zip(got, values, strict=True):
        if sql in ("VARIANT", "GEOMETRY"):  # encoded forms, whose bytes DuckDB chooses
            assert value
        elif sql == "HUGEINT":
            assert int(value) == expected
        else:
            assert value == expected


@pytest.mark.parametrize("row", [r for r in of("DuckDB") if r.how == "refused"], ids=lambda r: r.database)
def test_duckdb_refuses_what_the_table_says(connection, row):
    sql, values = sample(row)
    with pytest.raises(UnsupportedType, match='column "v" has type UNION'):
        exact(relation_of(connection, sql, values))


def test_nested_types_are_cast_within(connection):
    query = """SELECT {'a b': '12:00:00+01'::TIMETZ, 'c"d': [1::UHUGEINT]} AS s, MAP {1: '101'::BIT} AS m,
                      ['1'::BIT]::BIT[1] AS a, row(1, '0'::BIT) AS t, [1] AS l"""
    result = exact(connection.sql(query))
    assert set(result.cast_from) == {0, 1, 2, 3}
    assert result.relation.to_arrow_table().to_pylist() == [
        {"s": {"a b": "12:00:00+01", 'c"d': ["1"]}, "m": [(1, "101")], "a": ["1"],
         "t": {"element1": 1, "element2": "0"}, "l": [1]}
    ]  # fmt: skip


def test_a_query_without_such_types_is_left_alone(connection):
    relation = connection.sql("SELECT 1 AS a, true AS b")
    assert exact(relation).relation is relation


def test_names_and_order_survive_a_cast(connection):
    query = """SELECT i AS "x""y", (i * 7919) % 100003 AS k, i AS "x""y", '1'::BIT AS b
               FROM range(100000) t(i) ORDER BY k"""
    table = exact(connection.sql(query)).relation.to_arrow_table()
    assert table.column_names == ['x"y', "k", 'x"y', "b"]
    assert table.column(1).to_pylist() == sorted(table.column(1).to_pylist())


def test_intervals_are_refused_where_they_would_wrap(connection):
    fine = connection.sql("SELECT to_hours(h) AS v FROM (VALUES (2562046), (NULL), (-2562046)) t(h)")
    assert exact(fine).relation.to_arrow_table().num_rows == 3
    for hours in (2562048, -2562048, 9999999):
        far = connection.sql(f"SELECT to_hours(h) AS v FROM (VALUES (1), ({hours})) t(h)")
        with pytest.raises(duckdb.InvalidInputException, match='column "v" has an interval'):
            exact(far).relation.to_arrow_table()
        connection.sql("SELECT 1").fetchall()
    with pytest.raises(UnsupportedType, match="cast it to VARCHAR"):
        exact(connection.sql("SELECT [INTERVAL '1 hour'] AS v"))
