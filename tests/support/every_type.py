"""Every type of DuckDB with its extremes and NULL."""

from __future__ import annotations


def _values(type_name: str, *literals: str) -> tuple[str, str]:
    """One column with the values, some NULLs, and the values again."""
    values = [f"({literal})::{type_name}" for literal in literals]
    rows = [*values, f"NULL::{type_name}", *values, f"NULL::{type_name}"]
    return type_name, " union all ".join(f"select {index} as k, {value} as v" for index, value in enumerate(rows))


#: A type's name, and a query for some of its values in a column `v`, in the order of a column `k`.
EVERY_TYPE = [
    ('"NULL"', "select 0 as k, null as v union all select 1, null"),
    _values("BOOLEAN", "true", "false"),
    _values("TINYINT", "-128", "0", "127"),
    _values("SMALLINT", "-32768", "0", "32767"),
    _values("INTEGER", "-2147483648", "0", "2147483647"),
    _values("BIGINT", "'-9223372036854775808'", "0", "9223372036854775807"),
    _values("HUGEINT", "'-9999999999999999999999999999999999999'", "0", "99999999999999999999999999999999999999"),
    _values("UTINYINT", "0", "255"),
    _values("USMALLINT", "0", "65535"),
    _values("UINTEGER", "0", "4294967295"),
    _values("UBIGINT", "0", "18446744073709551615"),
    _values("UHUGEINT", "0", "'340282366920938463463374607431768211455'"),
    _values("BIGNUM", "0", "'123456789012345678901234567890123456789012345678901234567890'"),
    _values("FLOAT", "0", "'-0'", "1.5", "'nan'", "'inf'", "'-inf'", "3.4028235e38", "1e-45"),
    _values("DOUBLE", "0", "'-0'", "0.1", "'nan'", "'inf'", "'-inf'", "1.7976931348623157e308", "5e-324"),
    _values("DECIMAL(4,1)", "-999.9", "0", "0.1"),
    _values("DECIMAL(9,3)", "-999999.999", "0", "0.001"),
    _values("DECIMAL(18,2)", "-9999999999999999.99", "0", "0.01"),
    _values("DECIMAL(38,10)", "'-9999999999999999999999999999.9999999999'", "0", "'0.0000000001'"),
    _values("VARCHAR", "''", "'a'", "'käse 🧀'", "'a' || chr(0) || 'b'", "repeat('x', 10000)"),
    _values("BLOB", "''", "'\\x00\\xFF'", "repeat('ab', 5000)"),
    _values("BIT", "'0'", "'00101'", "'1111111111111111111'"),
    _values("DATE", "'0001-01-01'", "'1970-01-01'", "'9999-12-31'", "'1582-10-15'"),
    _values("TIME", "'00:00:00'", "'23:59:59.999999'"),
    _values("TIME_NS", "'00:00:00'", "'23:59:59.999999999'"),
    _values("TIMETZ", "'00:00:00+00'", "'12:34:56.789+05:30'", "'23:59:59-15:59'"),
    _values("TIMESTAMP_S", "'1970-01-01 00:00:00'", "'2262-04-11 23:47:16'"),
    _values("TIMESTAMP_MS", "'1970-01-01 00:00:00.001'", "'2262-04-11 23:47:16.854'"),
    _values("TIMESTAMP", "'0001-01-01 00:00:00'", "'1970-01-01 00:00:00.000001'", "'9999-12-31 23:59:59.999999'"),
    _values("TIMESTAMP_NS", "'1970-01-01 00:00:00.000000001'", "'2262-04-11 23:47:16.854775806'"),
    _values("TIMESTAMPTZ", "'1970-01-01 00:00:00+00'", "'2024-02-29 12:00:00.5+05:30'"),
    _values("INTERVAL", "'0 days'", "'1 month'", "'-3 years 5 days 4 microseconds'", "'2562046 hours'"),
    _values("UUID", "'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"),
    _values("ENUM('red', 'green', 'blue')", "'red'", "'blue'"),
    _values("JSON", """'{"a": [1, null]}'""", "'null'"),
    _values("INTEGER[]", "[]", "[1]", "[NULL, 2, NULL]", "range(100)"),
    _values("VARCHAR[][]", "[]", "[[]]", "[['a'], NULL, ['b', NULL, '']]"),
    _values("INTEGER[3]", "[1, 2, 3]", "[NULL, 5, NULL]"),
    _values("STRUCT(a INTEGER, b VARCHAR)", "{'a': 1, 'b': 'x'}", "{'a': NULL, 'b': NULL}"),
    _values("STRUCT(a STRUCT(b INTEGER[]))", "{'a': {'b': [1, NULL]}}", "{'a': NULL}"),
    _values("MAP(VARCHAR, INTEGER)", "map {}", "map {'a': 1, 'b': NULL}"),
    _values("MAP(INTEGER, VARCHAR[])", "map {1: ['x', NULL]}"),
    _values("UHUGEINT[]", "['340282366920938463463374607431768211455']"),
]
