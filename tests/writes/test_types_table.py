"""spec/TYPES.md, "Writing": the types of new columns, as the databases show them."""

from __future__ import annotations

import re

import colonnade
import pyarrow as pa
import pytest

from tests.support.types_table import table
from tests.writes.places import Place

HEADER = ["written Arrow type", "PostgreSQL", "SQLite", "MySQL/MariaDB", "DuckDB", "refused values"]
UUID = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([], pa.binary(16))).type
JSON = pa.ExtensionArray.from_storage(pa.json_(), pa.array([], pa.string())).type

#: The types of each row.
TYPES: dict[str, list[pa.DataType]] = {
    "null": [pa.null()],
    "bool": [pa.bool_()],
    "int8, int16, uint8": [pa.int8(), pa.int16(), pa.uint8()],
    "int32, uint16": [pa.int32(), pa.uint16()],
    "int64, uint32": [pa.int64(), pa.uint32()],
    "uint64": [pa.uint64()],
    "float16, float32": [pa.float16(), pa.float32()],
    "float64": [pa.float64()],
    "decimal(p,s)": [pa.decimal32(9, 2), pa.decimal64(12, 3), pa.decimal128(38, 0), pa.decimal256(30, 4)],
    "string, large_string, string_view": [pa.string(), pa.large_string(), pa.string_view()],
    "binary, large_binary, binary_view, fixed_size_binary": [
        pa.binary(),
        pa.large_binary(),
        pa.binary_view(),
        pa.binary(3),
    ],
    "date32, date64": [pa.date32(), pa.date64()],
    "time32, time64": [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")],
    "timestamp": [pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")],
    "timestamp with a time zone": [pa.timestamp("us", "UTC"), pa.timestamp("ns", "Asia/Kolkata")],
    "duration": [pa.duration(unit) for unit in ("s", "ms", "us", "ns")],
    "interval": [pa.month_day_nano_interval()],
    "list(T), also large, fixed-size and view": [
        pa.list_(pa.bool_()),
        pa.large_list(pa.bool_()),
        pa.list_(pa.bool_(), 2),
        pa.list_view(pa.bool_()),
        pa.large_list_view(pa.bool_()),
    ],
    "dictionary": [pa.dictionary(pa.int32(), pa.string())],
    "arrow.uuid": [UUID],
    "arrow.json": [JSON],
    "struct, map": [pa.struct({"x": pa.bool_()}), pa.map_(pa.string(), pa.bool_())],
    "union, run_end_encoded": [
        pa.dense_union([pa.field("x", pa.bool_())]),
        pa.run_end_encoded(pa.int32(), pa.bool_()),
    ],
}
#: What the table says of them in words.
SAYS = {
    "no declared type": "",
    "its values' type": {"PostgreSQL": "text", "SQLite": "TEXT", "MySQL/MariaDB": "longtext"},
    "T[]": "boolean[]",
    "time": "time without time zone",
    "timestamp": "timestamp without time zone",
    # MariaDB's JSON is a text with a check.
    "json": {"PostgreSQL": "json", "MySQL/MariaDB": "longtext"},
}


def test_the_table_has_every_row_once() -> None:
    assert [row[0] for row in table(HEADER)] == list(TYPES)


#: DuckDB has several types for some rows, and the types within others.
IN_DUCKDB: dict[str, list[str]] = {
    "int8, int16, uint8": ["TINYINT", "SMALLINT", "UTINYINT"],
    "int32, uint16": ["INTEGER", "USMALLINT"],
    "int64, uint32": ["BIGINT", "UINTEGER"],
    "time32, time64": ["TIME", "TIME", "TIME", "TIME_NS"],
    "timestamp": ["TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP", "TIMESTAMP_NS"],
    "timestamp with a time zone": ["TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS"],
    "list(T), also large, fixed-size and view": [f"BOOLEAN[{size}]" for size in ("", "", 2, "", "")],
    "dictionary": ["VARCHAR"],
    "struct, map": ["STRUCT(x BOOLEAN)", "MAP(VARCHAR, BOOLEAN)"],
}


def test_the_tables_words_for_duckdb_are_true() -> None:
    """Each type above is named in its row."""
    for row in table(HEADER):
        says = row[HEADER.index("DuckDB")]
        for name in IN_DUCKDB.get(row[0], []):
            general = name.replace("BOOLEAN[2]", "T[n]").replace("BOOLEAN[]", "T[]")
            general = general.replace("x BOOLEAN", "…").replace("VARCHAR, BOOLEAN", "K, V")
            assert general in says or says == "its values' type", (name, says)


def declared(place: Place) -> str:
    if place.is_duckdb:
        return colonnade.read_sql(place.uri, "describe t", return_type="arrow")["column_type"][0].as_py()
    if place.is_sqlite:
        found = colonnade.read_sql(place.uri, "select type from pragma_table_info('t')", return_type="arrow")
        return found["type"][0].as_py()
    if place.is_mariadb:
        found = colonnade.read_sql(place.uri, "show columns from t", return_type="arrow")
        # A width of digits, which newer servers no longer show, does not change the type.
        return re.sub(r"int\(\d+\)", "int", found["Type"][0].as_py())
    sql = "select format_type(atttypid, atttypmod) as t from pg_attribute where attrelid = 't'::regclass and attnum = 1"
    return colonnade.read_sql(place.uri, sql, return_type="arrow")["t"][0].as_py()


@pytest.mark.parametrize("row", table(HEADER), ids=lambda row: row[0])
def test_a_new_column_gets_the_type_of_the_table(place: Place, row: list[str]) -> None:
    database = place.database
    cell = row[HEADER.index(database)]
    # One type for all, or one for each.
    cells = cell.split(", ") if place.is_mariadb and not cell.startswith("decimal") else [cell]
    for number, kind in enumerate(TYPES[row[0]]):
        says = cells[number % len(cells)]
        data = pa.table({"a": pa.chunked_array([], kind)})
        if says == "refused":
            with pytest.raises(colonnade.NotSupportedError):
                colonnade.write_sql(data, place.uri, "t", if_exists="replace")
            continue
        colonnade.write_sql(data, place.uri, "t", if_exists="replace")
        if pa.types.is_decimal(kind):
            expected = f"{says[:7]}({kind.precision},{kind.scale})"
            if place.is_mariadb:
                expected = expected.lower()
        elif place.is_duckdb:
            expected = IN_DUCKDB[row[0]][number] if row[0] in IN_DUCKDB else says
        else:
            expected = SAYS.get(says, says)
            expected = expected if isinstance(expected, str) else expected[database]
        assert declared(place) == expected, kind
