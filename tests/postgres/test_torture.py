"""The torture table on a real PostgreSQL: what arrives is what PostgreSQL's own text says."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import colonnade
import psycopg
import pyarrow as pa
import pytest

from tests.testbed import postgres as pg

#: In these columns there is a value that has no Arrow form.
REFUSED = {"c_ts_far": "22008", "c_int4_arr2d": "0A000"}
DAY = 86_400_000_000
TEXT = pa.utf8()
TYPES: dict[str, pa.DataType] = {
    "id": pa.int32(),
    "c_bool": pa.bool_(),
    "c_int2": pa.int16(),
    "c_int4": pa.int32(),
    "c_int8": pa.int64(),
    "c_oid": pa.uint32(),
    "c_float4": pa.float32(),
    "c_float8": pa.float64(),
    "c_bytea": pa.binary(),
    "c_num15_2": pa.decimal128(15, 2),
    "c_num38_10": pa.decimal128(38, 10),
    "c_num50_20": pa.decimal256(50, 20),
    "c_money": pa.decimal128(19, 2),
    **dict.fromkeys(["c_text", "c_varchar", "c_char10", "c_qchar", "c_name", "c_uuid", "c_json", "c_jsonb"], TEXT),
    **dict.fromkeys(["c_date", "c_date_inf", "c_date_far"], pa.date32()),
    **dict.fromkeys(["c_ts", "c_ts_inf"], pa.timestamp("us")),
    **dict.fromkeys(["c_tstz", "c_tstz_inf"], pa.timestamp("us", "UTC")),
    **dict.fromkeys(["c_time", "c_time24"], pa.time64("us")),
    **dict.fromkeys(["c_interval", "c_interval_s"], pa.month_day_nano_interval()),
    "c_int4_arr": pa.list_(pa.int32()),
    "c_text_arr": pa.list_(TEXT),
    "c_num_arr": pa.list_(TEXT),
    "c_enum": pa.dictionary(pa.uint8(), TEXT, ordered=True),
    "c_domain": pa.int32(),
    "c_comp": pa.struct([("a", pa.int32()), ("b", TEXT)]),
}
#: Columns that arrive as text because Arrow has nothing for them, and PostgreSQL's name of the type.
AS_TEXT = {
    **dict.fromkeys(["c_numeric", "c_numeric_nan", "c_numeric_inf"], "numeric"),
    "c_timetz": "time with time zone",
    "c_int4range": "int4range",
    "c_inet": "inet",
    "c_cidr": "cidr",
    "c_macaddr": "macaddr",
    "c_bit8": "bit(8)",
    "c_varbit": "bit varying",
    "c_xml": "xml",
    "c_point": "point",
    "c_tsvector": "tsvector",
    "c_hstore": "hstore",
    "c_pg_lsn": "pg_lsn",
    # Asked for.
    "c_ts_far": "timestamp without time zone",
    "c_int4_arr2d": "integer[]",
}


@pytest.fixture(scope="module")
def postgres(either: pg.Cluster) -> pg.Cluster:
    return either


@pytest.fixture(scope="module")
def tortured(postgres: pg.Cluster) -> Iterator[str]:
    """A schema with the table."""
    script = (Path(__file__).parent / "torture.sql").read_text()
    setup = f"create schema torture; set search_path to torture, public; {script}"
    with postgres.prepared(setup, "drop schema torture cascade; drop extension hstore"):
        yield "torture.torture"


@pytest.fixture(scope="module")
def table(postgres: pg.Cluster, tortured: str) -> pa.Table:
    with colonnade.connect(postgres.uri(options="-c search_path=torture,public")) as connection:
        return connection.query(f"select * from {tortured} order by id", as_text=list(REFUSED)).to_arrow()


def days(date: str) -> int:
    """Days from 1970 of a date in PostgreSQL's ISO style, in the proleptic Gregorian calendar."""
    if date in ("infinity", "-infinity"):
        return math.copysign(1, float(date)) * (2**31 - 1)
    year, month, day = (int(part) for part in date.removesuffix(" BC").split("-"))
    year = 1 - year if date.endswith(" BC") else year
    # https://howardhinnant.github.io/date_algorithms.html#days_from_civil
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719468


def microseconds(time: str) -> int:
    hours, minutes, seconds = time.split(":")
    return int((int(hours) * 3600 + int(minutes) * 60 + Decimal(seconds)) * 1_000_000)


def instant(timestamp: str) -> int:
    """Microseconds from 1970 of a timestamp in PostgreSQL's ISO style, with or without a zone of +00."""
    if timestamp in ("infinity", "-infinity"):
        return int(math.copysign(1, float(timestamp))) * (2**63 - 1)
    date, time, era = re.fullmatch(r"(\S+) (\S+?)(?:\+00)?( BC)?", timestamp).groups(default="")  # type: ignore[union-attr]
    return days(date + era) * DAY + microseconds(time)


#: From PostgreSQL's text to the value that must arrive.
EXPECTED: dict[str, Callable[[str], Any]] = {
    "bool": lambda text: text == "t",
    "date32[day]": days,
    "time64[us]": microseconds,
    "binary": lambda text: text,
    "timestamp[us]": instant,
    "timestamp[us, tz=UTC]": instant,
    "string": str,
    **dict.fromkeys(["int16", "int32", "int64", "uint32"], int),
    "float": lambda text: struct.pack("<f", float(text)),
    "double": lambda text: struct.pack("<d", float(text)),
}


def arrived(column: pa.ChunkedArray) -> list[Any]:
    """The values as Python holds them without loss."""
    array = column.combine_chunks()
    if pa.types.is_dictionary(array.type):
        return array.dictionary_decode().to_pylist()
    if pa.types.is_date(array.type):
        return array.view(pa.int32()).to_pylist()
    if pa.types.is_time(array.type) or pa.types.is_timestamp(array.type):
        return array.view(pa.int64()).to_pylist()
    if pa.types.is_floating(array.type):
        format_ = "<f" if array.type == pa.float32() else "<d"
        return [None if value is None else struct.pack(format_, value) for value in array.to_pylist()]
    if pa.types.is_interval(array.type):
        return [None if value is None else tuple(value) for value in array.to_pylist()]
    if pa.types.is_binary(array.type):
        return [None if value is None else "\\x" + value.hex() for value in array.to_pylist()]
    return array.to_pylist()


#: What PostgreSQL's text of the whole value does not say plainly: a query for it, `{}` being the column.
BY_QUERY = {
    "c_money": "{}::numeric",
    "c_num15_2": "{}",
    "c_num38_10": "{}",
    "c_num50_20": "{}",
    "c_int4_arr": "{}",
    "c_text_arr": "{}",
    "c_num_arr": "{}::text[]",
    "c_comp": "case when {0} is not distinct from null then null else array[({0}).a::text, ({0}).b] end",
    "c_interval": "array[extract(year from {0}) * 12 + extract(month from {0}), extract(day from {0}),"
    " (extract(hour from {0}) * 3600 + extract(minute from {0}) * 60) * 1e9 + extract(microsecond from {0}) * 1e3]",
}
BY_QUERY["c_interval_s"] = BY_QUERY["c_interval"]


def expected(session: psycopg.Connection, table: str, name: str, type_: pa.DataType) -> list[Any]:
    # Of a composite whose fields are all NULL, SQL says that it is NULL, though it is a value.
    rows = f"{name} is not distinct from null from {table} order by id"
    if name not in BY_QUERY:
        # The text is not char(n)::text, which loses the padding, but what the type's output function says.
        texts = session.execute(f"select format('%s', {name}), {rows}").fetchall()
        convert = EXPECTED["string" if pa.types.is_dictionary(type_) else str(type_)]
        return [None if null else convert(text) for text, null in texts]
    found = session.execute(f"select {BY_QUERY[name].format(name)}, {rows}").fetchall()
    values = [None if null else value for value, null in found]
    if name == "c_comp":
        return [v and {"a": None if v[0] is None else int(v[0]), "b": v[1]} for v in values]
    if name.startswith("c_interval"):
        return [v and tuple(int(part) for part in v) for v in values]
    return values


def test_every_column_is_known(table: pa.Table) -> None:
    assert set(table.column_names) == TYPES.keys() | AS_TEXT.keys()
    assert len(table.column_names) == 55


@pytest.mark.parametrize("name", [*TYPES, *AS_TEXT])
def test_the_type_is_as_documented(table: pa.Table, name: str) -> None:
    field = table.schema.field(name)
    assert field.type == TYPES.get(name, TEXT)
    metadata = field.metadata or {}
    assert metadata.get(b"colonnade.type", b"").decode().rpartition(".")[2] == AS_TEXT.get(name, "")


@pytest.mark.parametrize("name", [*TYPES, *AS_TEXT])
def test_every_value_is_exact(session: psycopg.Connection, tortured: str, table: pa.Table, name: str) -> None:
    session.execute("set datestyle to iso; set timezone to 'UTC'; set search_path to torture, public")
    assert arrived(table.column(name)) == expected(session, tortured, name, table.schema.field(name).type)


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_form_is_refused_by_name(database: colonnade.Connection, tortured: str, name: str) -> None:
    with pytest.raises(colonnade.Error, match=f'column "{name}"') as caught:
        database.query(f"select {name} from {tortured}").to_arrow()
    assert caught.value.sqlstate == REFUSED[name]
    assert "as_text" in str(caught.value)
    assert database.query("select 1 as one").to_arrow().to_pylist() == [{"one": 1}]


def test_an_enums_dictionary_has_all_labels_in_order(table: pa.Table) -> None:
    column = table.column("c_enum").combine_chunks()
    assert column.dictionary.to_pylist() == ["sad", "ok", "happy"]


@pytest.mark.parametrize("compression", ["plain", "light", "light+fsst", "light+lz4", "light+zstd-3"])
def test_every_encoding_carries_the_same(
    postgres: pg.Cluster, tortured: str, table: pa.Table, compression: str
) -> None:
    with colonnade.connect(postgres.uri(options="-c search_path=torture,public")) as connection:
        options = {"compression": compression, "chunk_rows": 4, "as_text": list(REFUSED)}
        query = f"select t.* from {tortured} t, generate_series(1, 50) g order by g, id"
        got = connection.query(query, **options).to_arrow()
    assert got.num_rows == 300
    for part in range(0, 300, 6):
        for name in table.column_names:
            assert arrived(got.column(name).slice(part, 6)) == arrived(table.column(name)), name
