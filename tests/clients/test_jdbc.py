"""pgjdbc, PostgreSQL's JDBC driver, against `colonnade serve`.

tests/clients/jdbc/Client.java does what programs do, and says what it saw.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support.every_type import EVERY_TYPE
from tests.testbed.serving import Server, serve

SOURCES = Path(__file__).parent / "jdbc"
#: Seconds; the driver may have to be fetched.
TIMEOUT = 240

SHOP = """
    CREATE TABLE shops (name varchar PRIMARY KEY, city varchar UNIQUE);
    CREATE TABLE sales (
        id integer, shop varchar NOT NULL REFERENCES shops (name), amount decimal(9, 2) DEFAULT 1.5, sold timestamp,
        tags integer[], PRIMARY KEY (id, shop), CHECK (amount > 0)
    );
    CREATE INDEX sales_sold ON sales (sold);
    CREATE VIEW big_sales AS SELECT id FROM sales WHERE amount > 100;
    COMMENT ON TABLE shops IS 'where';
    COMMENT ON COLUMN sales.amount IS 'how much';
    CREATE SCHEMA other;
    CREATE TABLE other.elsewhere (x integer);
    CREATE MACRO twice(x) AS 2 * x;
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve() as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute(SHOP)
        yield server


@pytest.fixture(scope="module")
def classpath(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The driver, from Maven's repository by way of the user's own, and the program, compiled."""
    for tool in ("java", "javac", "mvn"):
        if shutil.which(tool) is None:
            pytest.skip(f"there is no {tool} here: JDBC is not tested")
    directory = tmp_path_factory.mktemp("jdbc")
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={directory}"]
    run("mvn", "--quiet", "--batch-mode", "--file", str(SOURCES / "pom.xml"), *goal)
    path = f"{directory}{os.sep}*{os.pathsep}{directory}"
    run("javac", "-encoding", "UTF-8", "-cp", path, "-d", str(directory), str(SOURCES / "Client.java"))
    return path


def run(*command: str, given: str = "") -> str:
    result = subprocess.run(command, input=given, capture_output=True, text=True, encoding="utf-8", timeout=TIMEOUT)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def jdbc(server: Server, classpath: str, what: str, given: str = "") -> dict[str, list[list[str]]]:
    """The lines that the program says, by their first field."""
    url = f"jdbc:postgresql://{server.host}:{server.port}/test?user=tester"
    seen = defaultdict(list)
    # With no more of a compiler than a short program is worth.
    for line in run("java", "-XX:TieredStopAtLevel=1", "-cp", classpath, "Client", url, what, given=given).splitlines():
        label, *values = line.split("\t")
        seen[label].append(values)
    assert seen.pop("select 1") == [["1"]]
    return dict(seen)


def test_the_catalog_is_reflected(server: Server, classpath: str) -> None:
    seen = jdbc(server, classpath, "reflect")
    assert seen["product"] == [["PostgreSQL", "15"]]
    assert seen["catalog"] == [["memory", "public"]]
    assert seen["catalogs"] == [["memory"]]
    schemas = [schema for (schema,) in seen["schemas"] if not schema.startswith("pg_")]
    assert schemas == ["information_schema", "other", "public"]
    assert seen["schemas like"] == [["other"]]
    assert seen["tables"] == [
        ["other", "elsewhere", "TABLE", "null"],
        ["public", "sales", "TABLE", "null"],
        ["public", "shops", "TABLE", "where"],
        ["public", "big_sales", "VIEW", "null"],
    ]
    assert ["shops", "TABLE"] in seen["all tables"]
    assert seen["columns"] == [
        ["1", "id", "int4", "4", "10", "0", "NO", "null", "null"],
        ["2", "shop", "varchar", "12", "2147483647", "0", "NO", "null", "null"],
        ["3", "amount", "numeric", "2", "9", "2", "YES", "1.5", "how much"],
        ["4", "sold", "timestamp", "93", "29", "6", "YES", "null", "null"],
        ["5", "tags", "_int4", "2003", "10", "0", "YES", "null", "null"],
    ]
    (first, second) = seen["primary"]
    assert (first[:2], second[:2]) == (["1", "id"], ["2", "shop"])
    assert first[2] == second[2]
    (imported,) = seen["imported"]
    assert imported[:7] == ["shops", "name", "sales", "shop", "1", "3", "3"]
    assert seen["exported"] == seen["cross"] == [["sales", "shop"]]
    indexes = {(row[4], row[0]) for row in seen["indexes"]}
    assert indexes == {("id", "f"), ("shop", "f"), ("sold", "t")}
    assert seen["best row"] == [["id", "int4"], ["shop", "varchar"]]
    assert seen["functions"] == [["twice"]]
    assert "user types" not in seen
    types = {name: int(number) for name, number in seen["type"]}
    assert types == {"int4": 4, "text": 12, "numeric": 2, "timestamptz": 93, "_int4": 2003}
    assert [row[:2] for row in seen["result"]] == [
        ["id", "int4"],
        ["shop", "text"],
        ["amount", "numeric"],
        ["sold", "timestamp"],
        ["tags", "_int4"],
    ]
    assert seen["result"][2][2:] == ["java.math.BigDecimal", "9", "2"]
    # Label, schema, table, column, `ResultSetMetaData.columnNoNulls` and so on, and whether it numbers its rows.
    assert seen["origin"] == [
        ["i", "public", "sales", "id", "0", "false"],
        ["amount", "public", "sales", "amount", "1", "false"],
        ["one", "", "", "", "2", "false"],
        ["city", "public", "shops", "city", "1", "false"],
    ]


#: What binary values cannot be, which is an error (docs/reference/clients.md), and an array that pgjdbc does not read.
NOT_THE_SAME = {"TIME_NS": "0A000", "TIMESTAMP_NS": "0A000", "VARCHAR[][]": "NullPointerException"}


def test_every_type_is_the_same_in_text_and_in_binary(server: Server, classpath: str) -> None:
    queries = {name: f"SELECT v FROM ({query}) ORDER BY k" for name, query in EVERY_TYPE}
    seen = jdbc(server, classpath, "types", "".join(f"{name}\t{query}\n" for name, query in queries.items()))
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        for name, query in queries.items():
            (problem,), *values = seen[name]
            assert problem == NOT_THE_SAME.get(name, "same"), name
            if name == "VARCHAR[][]":
                continue
            result = connection.pgconn.exec_(query.encode())
            texts = [result.get_value(row, 0) for row in range(result.ntuples)]
            expected = ["null" if text is None else text.decode() for text in texts]
            assert [value for _, value in values] == [escaped(text) for text in expected], name


def escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")


def test_parameters_of_every_type_in_text_and_in_binary(server: Server, classpath: str) -> None:
    seen = jdbc(server, classpath, "parameters")
    assert "wrong" not in seen, seen["wrong"]
    assert len(seen["parameter"]) == 14
    assert seen["arrays"] == [["42", 'b,"c']]


def test_rows_come_in_parts_within_a_transaction(server: Server, classpath: str) -> None:
    assert jdbc(server, classpath, "portals") == {"sums": [[str(sum(range(1000))), str(sum(range(700)))]]}


def test_writes(server: Server, classpath: str) -> None:
    assert jdbc(server, classpath, "writes") == {
        "inserted": [["2"]],
        "batch": [["1000"]],
        "generated": [["5000", "r"]],
        "row": [["5000", "changed"]],
        "updated": [["2"]],
        "deleted": [["501"]],
        "left": [["502", "251", "1249.00"]],
        "read only": [["25006"]],
    }


def test_statements_are_cancelled_and_time_out(server: Server, classpath: str) -> None:
    assert jdbc(server, classpath, "cancels") == {"cancelled": [["57014"]], "after": [["1"]], "timed out": [["57014"]]}


def test_errors_have_their_states_and_leave_the_connection_usable(server: Server, classpath: str) -> None:
    assert jdbc(server, classpath, "errors") == {
        "syntax": [["42601"]],
        "table": [["42P01"]],
        "column": [["42703"]],
        "function": [["42883"]],
        "value": [["22P02"]],
        "regclass": [["42P01"]],
        "in a transaction": [["42P01"]],
        "afterwards": [["25P02"]],
        "after": [["1"]],
        "prepared": [["1"], ["22P02"], ["2"]],
        "isolation": [["true"]],
    }
