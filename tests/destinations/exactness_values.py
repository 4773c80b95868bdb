"""Values of every type of every source, for `test_exactness.py`: extremes, infinities, NaN and NULL; in arrays,
composites and maps where there are such."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Case:
    """Some rows of one column."""

    #: A query, with {name} for the column's name.
    text: str
    #: Whether no destination gets it.
    is_refused: bool = False
    quote: str = '"'

    def query(self, name: str) -> str:
        mark = self.quote
        return self.text.replace("{name}", mark + name.replace(mark, 2 * mark) + mark)


def rows(kind: str, literals: Iterable[str], *, is_refused: bool = False) -> list[Case]:
    """Each value alone, each with a NULL behind it, and all together."""
    literals = list(literals)
    cast = [f"({literal})::{kind}" for literal in literals]
    null = f"select null::{kind}"
    cases = [Case(f"select {value} as {{name}}", is_refused) for value in cast]
    cases += [Case(f"select {value} as {{name}} union all {null}", is_refused) for value in cast]
    if len(cast) > 1 and not is_refused:
        cases.append(Case(" union all ".join(f"select {value} as {{name}}" for value in [*cast, f"null::{kind}"])))
    return cases


# --- PostgreSQL -------------------------------------------------------------------------------------------------------

PG_VALUES: dict[str, list[str]] = {
    "bool": ["true", "false"],
    "int2": ["-32768", "32767"],
    "int4": ["-2147483648", "2147483647"],
    "int8": ["-9223372036854775808", "9223372036854775807", "9007199254740993"],
    "oid": ["4294967295"],
    "float4": ["'NaN'", "'-0'", "'Infinity'", "0.1", "3.4028235e38", "1e-45"],
    "float8": ["'NaN'", "'-0'", "'-Infinity'", "0.1", "1.7976931348623157e308", "5e-324"],
    "numeric(38,10)": ["'-9999999999999999999999999999.9999999999'", "0"],
    "numeric(76,0)": ["'" + "9" * 76 + "'"],
    "numeric": ["'NaN'", "'-Infinity'", "'0.10'", "1e40"],
    "money": ["'-92233720368547758.08'", "'12.34'"],
    "text": ["''", "'NaN'", "'NULL'", "'a \"q\" '' , \r\n \\ käse 🧀'"],
    "char(3)": ["'a'"],
    '"char"': ["'x'"],
    "name": ["'n'"],
    "bytea": [r"'\x00ff'", "''"],
    "date": [
        "'infinity'",
        "'-infinity'",
        "'0001-01-01'",
        "'9999-12-31'",
        "'10000-01-01'",
        "'4713-01-01 BC'",
        "'5874897-12-31'",
    ],
    "time": ["'24:00'", "'00:00'", "'23:59:59.999999'"],
    "timetz": ["'24:00-15:59'", "'01:02:03.4+05:30'"],
    "timestamp": [
        *("'infinity'", "'-infinity'", "'0001-01-01'", "'9999-12-31 23:59:59.999999'", "'4713-01-01 BC'"),
        *("'32768-01-01'", "'294247-01-10 04:00:54.775806'", "'1969-12-31 23:59:59.999999'"),
    ],
    "timestamptz": [
        *("'infinity'", "'-infinity'", "'0001-01-01+00'", "'9999-12-31 23:59:59.999999+00'", "'4713-01-01 BC'"),
        *("'32768-01-01+00'", "'294247-01-10 04:00:54.775806+00'", "'2024-02-29 12:00:00.5+05:30'"),
    ],
    "interval": ["'1 month -2 days 3 us'", "'-2562046 h'", "'0'"],
    "uuid": ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"],
    "json": ["""'{"a":  1e400}'""", "'null'"],
    "jsonb": ["""'{"a":  1}'"""],
    "mood": ["'sad'", "'ok'"],
    "positive": ["7"],
    "int4range": ["'[1,5]'", "'empty'"],
    "inet": ["'::1'"],
    "macaddr": ["'08002b010203'"],
    "bit(5)": ["B'00101'"],
    "varbit": ["B''"],
    "xml": ["'<a>漢</a>'"],
    "tsvector": ["'b:2 a:1'"],
    "point": ["'(0.1,1e300)'"],
    "pg_lsn": ["'16/B374D848'"],
    "int2vector": ["'1 2'"],
}
PG_REFUSED = {
    "timestamp": ["'294247-01-10 04:00:54.775807'", "'294276-12-31'"],
    "timestamptz": ["'294247-01-10 04:00:54.775807+00'", "'294276-12-31+00'"],
    "numeric(5,2)": ["'NaN'"],
    "interval": ["'2562048 hours'"],
}


def _holder(kind: str) -> str:
    """The name of the composite type with a value and an array of a type."""
    return "holder_" + "".join(letter if letter.isalnum() else "_" for letter in kind)


POSTGRES_TYPES = [
    "create type mood as enum ('sad', 'ok')",
    "create domain positive as int check (value > 0)",
    *(f"create type {_holder(kind)} as (one {kind}, many {kind}[])" for kind in PG_VALUES),
]


def _in_postgres(kind: str, literals: list[str], *, is_refused: bool = False) -> list[Case]:
    cases = rows(kind, literals, is_refused=is_refused)
    # Refused for its precision, which arrays forget.
    if kind in ("int2vector", "numeric(5,2)"):
        return cases
    for literal in literals:
        value = f"({literal})::{kind}"
        nested = f"row({value}, array[{value}, null])::{_holder(kind)}"
        for given in (f"array[{value}, null]", f"array[{value}]", nested, f"array[{nested}, null]"):
            cases.append(Case(f"select {given} as {{name}}", is_refused))
    return cases


POSTGRES = [
    *(case for kind, literals in PG_VALUES.items() for case in _in_postgres(kind, literals)),
    *(case for kind, literals in PG_REFUSED.items() for case in _in_postgres(kind, literals, is_refused=True)),
]

# --- DuckDB -----------------------------------------------------------------------------------------------------------

DUCKDB_VALUES: dict[str, list[str]] = {
    "BOOLEAN": ["true", "false"],
    "TINYINT": ["-128", "127"],
    "SMALLINT": ["-32768"],
    "INTEGER": ["-2147483648"],
    "BIGINT": ["-9223372036854775808", "9007199254740993"],
    "HUGEINT": [str(-(2**127)), str(2**127 - 1), "5"],
    "UTINYINT": ["255"],
    "USMALLINT": ["65535"],
    "UINTEGER": ["4294967295"],
    "UBIGINT": ["18446744073709551615"],
    "UHUGEINT": [str(2**128 - 1)],
    "BIGNUM": ["'-" + "1234567890" * 9 + "'"],
    "FLOAT": ["'nan'", "'-0.0'", "'inf'", "0.1", "3.4028235e38", "1e-45"],
    "DOUBLE": ["'nan'", "'-0.0'", "'-inf'", "0.1", "1.7976931348623157e308", "5e-324"],
    "DECIMAL(4,1)": ["-999.9"],
    "DECIMAL(18,2)": ["-9999999999999999.99"],
    "DECIMAL(38,10)": ["'-9999999999999999999999999999.9999999999'"],
    "VARCHAR": ["''", "'NULL'", "'a \"q\" '' , \n \\ käse 🧀'", "'a' || chr(0) || 'b'"],
    "BLOB": [r"'\x00\xFF'", "''"],
    "BIT": ["'00101'"],
    "DATE": ["'infinity'", "'-infinity'", "'0001-01-01'", "'9999-12-31'", "'20000-01-01'", "'5877641-06-25 (BC)'"],
    "TIME": ["'24:00:00'", "'23:59:59.999999'"],
    "TIME_NS": ["'23:59:59.999999'", "'24:00:00'"],
    "TIMETZ": ["'01:02:03.4+05:30'"],
    "TIMESTAMP_S": ["'infinity'", "'-infinity'", "'9999-12-31 23:59:59'", "'294247-01-10 04:00:54'", "'0001-01-01'"],
    "TIMESTAMP_MS": ["'infinity'", "'-infinity'", "'294247-01-10 04:00:54.775'", "'2024-01-01 00:00:01.5'"],
    "TIMESTAMP": ["'infinity'", "'-infinity'", "'294247-01-10 04:00:54.775806'", "'290308-01-01 (BC)'", "'2024-01-01'"],
    "TIMESTAMP_NS": ["'infinity'", "'-infinity'", "'2262-04-11 23:47:16.854775806'", "'2024-01-01 00:00:01.123456789'"],
    "TIMESTAMPTZ": ["'infinity'", "'-infinity'", "'294247-01-10 04:00:54.775806+00'", "'2024-01-01 00:00:01.5+00'"],
    "UUID": ["'ffffffff-ffff-ffff-ffff-ffffffffffff'"],
    "ENUM('red', 'blue')": ["'red'", "'blue'"],
    "JSON": ["""'{"a":  1}'"""],
}
NESTED = (
    "[{0}, NULL]",
    "[{0}]",
    "{{'one': {0}}}",
    "[{{'one': {0}, 'many': [{0}, NULL]}}, NULL]",
    "MAP {{'k': {0}}}",
    "[[{0}], NULL]",
)


def _in_duckdb(kind: str, literals: list[str]) -> list[Case]:
    cases = rows(kind, literals)
    for literal in literals:
        cases += [Case(f"select {form.format(f'({literal})::{kind}')} as {{name}}") for form in NESTED]
    return cases


DUCKDB = [
    *(case for kind, literals in DUCKDB_VALUES.items() for case in _in_duckdb(kind, literals)),
    *rows("INTERVAL", ["'14 months -3 days 1 us'", "'-2562046 hours'"]),
    *rows("INTERVAL", ["'2562048 hours'"], is_refused=True),
    Case("select [interval 1 day] as {name}", is_refused=True),
    Case("select union_value(a := 1) as {name}", is_refused=True),
    Case("select null as {name}"),
    Case("select [1, 2]::integer[2] as {name}"),
    Case("select row(1, 'x') as {name}"),
]

# --- MariaDB ----------------------------------------------------------------------------------------------------------

MYSQL_VALUES: dict[str, list[str]] = {
    "tinyint": ["-128", "127"],
    "smallint": ["-32768"],
    "mediumint": ["-8388608"],
    "int": ["-2147483648"],
    "bigint": ["-9223372036854775808", "9007199254740993"],
    "tinyint unsigned": ["255"],
    "smallint unsigned": ["65535"],
    "mediumint unsigned": ["16777215"],
    "int unsigned": ["4294967295"],
    "bigint unsigned": ["18446744073709551615"],
    "bit(1)": ["b'1'", "b'0'"],
    "bit(8)": ["57", "9"],
    "bit(64)": ["18446744073709551615", "12594"],
    "year": ["1901", "2155", "0"],
    "float": ["1.17549435e-38", "-0.1"],
    "double": ["1.7976931348623157e308", "0.1", "-0e0"],
    "decimal(12,3)": ["-999999999.999"],
    "decimal(65,30)": ["-" + "9" * 35 + "." + "9" * 30],
    "char(5)": ["'a'"],
    "varchar(20)": ["'漢 😀 '", "''", "'a\"b,\\n'"],
    "longtext": ["'x'"],
    "binary(3)": ["x'00ff'"],
    "longblob": ["x'00ff'"],
    "json": ["""'{"a":  1}'"""],
    "enum('sad', 'ok')": ["'ok'"],
    "set('a', 'b', 'c')": ["'c,a'", "''"],
    "date": ["'0001-01-01'", "'9999-12-31'"],
    "datetime(6)": ["'9999-12-31 23:59:59.999999'", "'1000-01-01'"],
    "timestamp(6) null": ["'2038-01-19 03:14:07.999999'"],
    "time(6)": ["'838:59:58.999999'", "'-838:59:59'", "'24:00:00'"],
    "uuid": ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"],
    "inet6": ["'::1'"],
    "point": ["ST_PointFromText('POINT(1 2)', 4326)"],
}
#: Of these, MariaDB has no maximum.
NO_MAXIMUM = ("point",)


def mysql_tables() -> str:
    """A table `exactness_N` a type: a value a row, and NULL."""
    statements = []
    for number, (kind, literals) in enumerate(MYSQL_VALUES.items()):
        null = kind.removesuffix(" null")
        statements.append(f"create or replace table exactness_{number} (i int, v {null} null)")
        values = [f"({row}, {literal})" for row, literal in enumerate([*literals, "null"])]
        statements.append(f"insert into exactness_{number} values {', '.join(values)}")
    return ";\n".join(statements)


def _mysql() -> list[Case]:
    cases = []
    for number, (kind, literals) in enumerate(MYSQL_VALUES.items()):
        table = f"exactness_{number}"
        cases.append(Case(f"select v as {{name}} from {table} order by i", quote="`"))
        # Bits that are computed arrive as digits, or not: only one bit is certain.
        is_refused = kind.startswith("bit(") and kind != "bit(1)"
        for row, _ in enumerate(literals):
            cases.append(Case(f"select v as {{name}} from {table} where i = {row}", quote="`"))
            if kind not in NO_MAXIMUM:
                for form in ("max(v)", "ifnull(max(v), max(v))", "(select max(v))"):
                    text = f"select {form} as {{name}} from {table} where i = {row}"
                    cases.append(Case(text, is_refused, quote="`"))
    return cases


MYSQL = _mysql()

# --- SQLite -----------------------------------------------------------------------------------------------------------

SQLITE_VALUES: dict[str, list[object]] = {
    "INTEGER": [-(2**63), 2**63 - 1, 2**53 + 1],
    "REAL": [0.1, 1.7976931348623157e308, float("inf"), -0.0],
    "TEXT": ["", "käse 🧀", 'a "q" ,\r\n', "a\0b"],
    "BLOB": [b"\0\xff", b""],
    "BOOLEAN": [1, 0],
    "DECIMAL(10,2)": [521.34, -5],
    "DECIMAL": [0.1],
    "DATE": ["0001-01-01", "9999-12-31"],
    "TIME": ["23:59:59.999999", "00:00"],
    "DATETIME": ["9999-12-31 23:59:59.999999", "0001-01-01"],
    "TIMESTAMP WITH TIME ZONE": ["2024-02-29T12:00:00.5+05:30"],
    "": [5],
    "ANY_REAL": [1.5],
    "ANY_TEXT": ["x"],
}


def sqlite_tables(path: Path) -> None:
    """A table `exactness_N` a declaration: a value a row, and NULL."""
    with sqlite3.connect(path) as connection:
        for number, (kind, literals) in enumerate(SQLITE_VALUES.items()):
            connection.execute(f"create table exactness_{number} (i INTEGER, v {kind})")
            for row, value in enumerate([*literals, None]):
                connection.execute(f"insert into exactness_{number} values (?, ?)", (row, value))
    connection.close()


SQLITE = [
    Case(f"select {form} as {{name}} from exactness_{number} {where}")
    for number, literals in enumerate(SQLITE_VALUES.values())
    for where in ("order by i", *(f"where i = {row}" for row, _ in enumerate(literals)))
    for form in ("v", "coalesce(v, v)")
]
