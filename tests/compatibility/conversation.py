"""What a client says in a recording: a program that any release's package runs.

    python -m tests.compatibility.conversation URI      # prints what it has read, as JSON

It uses only names that each release since 0.1 exports, and pyarrow. An interpreter that has another release runs it as
a file.
"""

from __future__ import annotations

import json
import sys

import colonnade
import pyarrow as pa

#: One statement for each family of types whose values both DuckDB and PostgreSQL write the same way.
QUERY = """
SELECT i AS id, CAST(i % 7 AS smallint) AS small, CAST(i * 10000000000 AS bigint) AS big,
    CAST(i AS double precision) / 8 AS double, CAST(i AS real) / 4 AS single,
    CAST(i * 1.25 AS numeric(12, 2)) AS price, i % 3 = 0 AS flag, 'customer ' || (i % 13) AS name,
    CASE WHEN i % 5 = 0 THEN NULL ELSE 'é' || i END AS note, DATE '2026-01-01' + CAST(i % 365 AS integer) AS day,
    TIMESTAMP '2026-01-01 12:00:00.000001' + CAST(i % 100 AS integer) * INTERVAL '1 hour' AS moment
FROM generate_series(1, 120) AS s(i) ORDER BY i
"""


def converse(uri: str) -> list[object]:
    """Reads, writes, fails and reads again on one connection. Returns what it has seen."""
    seen: list[object] = []
    with colonnade.connect(uri) as connection:
        # So that the question for the extension has a turn of its own. Clients after 0.1.0 send it with a query.
        assert connection.server
        for compression in ("auto", "plain", "light", "light+fsst+lz4", "light+zstd-3"):
            read = connection.query(QUERY, compression=compression).to_arrow()
            seen.append({"schema": [f"{field.name}: {field.type}" for field in read.schema], "rows": shown(read)})
        seen.append(shown(connection.query("SELECT 1 AS nothing WHERE 1 = 0").to_arrow()))
        seen.append(connection.execute("CREATE TABLE recorded (id bigint NOT NULL, name text, price numeric(12, 2))"))
        table = pa.table(
            {
                "id": pa.array(range(1000), pa.int64()),
                "name": [None if i % 9 == 0 else f"name {i % 50}" for i in range(1000)],
                "price": pa.array(range(1000), pa.int32()).cast(pa.decimal128(12, 2)),
            }
        )
        connection.write(table, "recorded", if_exists="append")
        seen.append(shown(connection.query("SELECT * FROM recorded WHERE id >= $1 ORDER BY id", [990]).to_arrow()))
        try:
            connection.query("SELECT * FROM there_is_no_such_table")
        except colonnade.Error as error:
            seen.append([type(error).__name__, error.sqlstate])
        seen.append(connection.execute("DROP TABLE recorded"))
    return seen


def shown(table: pa.Table) -> list[list[str]]:
    """The values of each column as text."""
    return [[str(value) for value in column.to_pylist()] for column in table.columns]


if __name__ == "__main__":
    print(json.dumps(converse(sys.argv[1])))
