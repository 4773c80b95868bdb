"""Values of each type as SQL."""

from __future__ import annotations

#: For each type values as SQL: extremes, and texts within and beyond 12 bytes.
VALUES = {
    "BOOLEAN": ["true", "false"],
    "TINYINT": ["-128", "127"],
    "SMALLINT": ["-32768", "32767"],
    "INTEGER": ["-2147483648", "2147483647"],
    "BIGINT": ["-9223372036854775808", "9223372036854775807"],
    "UTINYINT": ["0", "255"],
    "USMALLINT": ["65535"],
    "UINTEGER": ["4294967295"],
    "UBIGINT": ["18446744073709551615"],
    "HUGEINT": ["-170141183460469231731687303715884105728", "170141183460469231731687303715884105727"],
    "UHUGEINT": ["340282366920938463463374607431768211455"],
    "FLOAT": ["'nan'", "1.5", "'-inf'", "1.1"],
    "DOUBLE": ["'nan'", "5e-324", "'inf'"],
    "DECIMAL(4,1)": ["-999.9", "999.9", "0"],
    "DECIMAL(9,0)": ["-999999999", "1"],
    "DECIMAL(18,9)": ["-999999999.999999999", "0.000000001"],
    "DECIMAL(38,10)": ["-9999999999999999999999999999.9999999999", "1"],
    "VARCHAR": ["''", "'twelve bytes'", "'thirteen byte'", "'ñ€🦆'"],
    "JSON": ["'{\"a\": [1, null]}'"],
    "BLOB": ["'\\x00\\xFFtwelve and more bytes'", "''"],
    "UUID": ["'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-fffffffffff0'"],
    "DATE": ["'0001-01-01'", "'9999-12-31'"],
    "TIME": ["'00:00:00'", "'23:59:59.999999'"],
    "TIMESTAMP": ["'1677-01-01 00:00:00.000001'", "'2262-12-31'"],
    "TIMESTAMP_S": ["'1999-12-31 23:59:59'"],
    "TIMESTAMP_MS": ["'1999-12-31 23:59:59.999'"],
    "TIMESTAMP_NS": ["'1999-12-31 23:59:59.999999999'"],
    "TIMESTAMP WITH TIME ZONE": ["'1999-12-31 23:59:59.999999+05:30'"],
    "INTERVAL": ["INTERVAL (-7) MONTH", "INTERVAL '3 days 00:00:00.000001'"],
    "ENUM('a', 'it''s, (b)')": ["'a'", "'it''s, (b)'"],
}
NESTED = {
    "INTEGER[]": ["[]", "[1, NULL, 3]", "range(100)"],
    "VARCHAR[][]": ["[['a', NULL], NULL, [], ['thirteen byte']]"],
    "INTEGER[3]": ["[1, 2, NULL]", "[4, 5, 6]"],
    'STRUCT(a INTEGER, "b c" VARCHAR, d DECIMAL(9,2)[])': [
        "{'a': 1, 'b c': 'x', 'd': [1.25, NULL]}",
        "{'a': NULL, 'b c': NULL, 'd': NULL}",
    ],
    "STRUCT(u UUID, e ENUM('x', 'y'))[]": ["[{'u': 'ffffffff-ffff-ffff-ffff-fffffffffff0', 'e': 'y'}, NULL]"],
}
