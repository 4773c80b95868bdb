"""psql, as anybody has it, against `colonnade serve`."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.testbed.serving import Server, serve


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    directory = tmp_path_factory.mktemp("psql")
    with duckdb.connect(str(directory / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE customers AS SELECT i AS id, 'name ' || i AS name FROM range(5) t(i)")
        connection.execute(
            "CREATE TABLE orders AS SELECT i AS id, i % 5 AS customer, i * 1.5 AS price FROM range(20) t(i)"
        )
    with serve(directory / "shop.duckdb", "--listen", "127.0.0.1:0", "--unix", directory) as server:
        yield server


def psql(server: Server, *commands: str, check: bool = True, unix: bool = False) -> subprocess.CompletedProcess[str]:
    """Run commands, unaligned and without decoration."""
    dsn = server.unix_dsn if unix else server.dsn
    arguments = ["psql", "--no-psqlrc", "--quiet", "--no-align", "--tuples-only", dsn]
    for command in commands:
        arguments += ["--command", command]
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    return subprocess.run(arguments, capture_output=True, text=True, check=check, timeout=60, env=environment)


def test_select_one(server: Server) -> None:
    assert psql(server, "select 1").stdout == "1\n"
    assert psql(server, "select 1", unix=True).stdout == "1\n"


def test_join(server: Server) -> None:
    query = """
        SELECT name, count(*), sum(price) FROM customers JOIN orders ON customers.id = customer
        GROUP BY name ORDER BY name LIMIT 2
    """
    assert psql(server, query).stdout == "name 0|4|45.0\nname 1|4|51.0\n"


def test_types_print_as_in_postgresql(server: Server) -> None:
    query = """
        SELECT true, false, 1.5::double, 1e20::double, 0.1::float, 12.30::decimal(9,2), NULL, 'x'::blob,
               date '2024-02-29', time '12:34:56.5', timestamp '2024-02-29 01:02:03',
               interval '14 months 3 days 4 hours',
               timestamptz '2024-02-29 12:00:00+02', [1, 2, NULL], ['a b', 'c'], {'a': 1, 'b': 'x y'}, map {'k': 1},
               '00112233-4455-6677-8899-aabbccddeeff'::uuid, (2::hugeint ^ 100)::hugeint, '10101'::bit,
               'infinity'::date, date '0044-03-15 (BC)', '{"a": 1}'::json, 'a'::enum('a', 'b'), '12:34:56+02'::timetz
    """
    assert psql(server, query).stdout.rstrip("\n").split("|") == [
        "t",
        "f",
        "1.5",
        "1e+20",
        "0.1",
        "12.30",
        "",
        "\\x78",
        "2024-02-29",
        "12:34:56.5",
        "2024-02-29 01:02:03",
        "1 year 2 mons 3 days 04:00:00",
        "2024-02-29 10:00:00+00",
        "{1,2,NULL}",
        '{"a b",c}',
        '(1,"x y")',
        '{"(k,1)"}',
        "00112233-4455-6677-8899-aabbccddeeff",
        "1267650600228229401496703205376",
        "10101",
        "infinity",
        "0044-03-15 BC",
        '{"a": 1}',
        "a",
        "12:34:56+02",
    ]


def test_copy_csv(server: Server) -> None:
    output = psql(
        server,
        "COPY (SELECT id, name || ',' AS name FROM customers ORDER BY id LIMIT 2) TO STDOUT (FORMAT csv, HEADER)",
    )
    assert output.stdout == 'id,name\n0,"name 0,"\n1,"name 1,"\n'
    assert psql(server, "COPY customers (name) TO STDOUT WITH CSV DELIMITER ';'").stdout.startswith("name 0\nname 1\n")


def test_copy_text(server: Server) -> None:
    output = psql(server, r"COPY (SELECT E'a\tb' AS a, NULL AS b, '\N' AS c) TO STDOUT")
    assert output.stdout == "a\\tb\t\\N\t\\\\N\n"


def test_backslash_copy_to_a_file(server: Server, tmp_path: Path) -> None:
    psql(server, rf"\copy (SELECT * FROM orders WHERE id = 3) TO '{tmp_path}/orders.csv' CSV HEADER")
    assert (tmp_path / "orders.csv").read_text() == "id,customer,price\n3,3,4.5\n"
    psql(server, rf"\copy (SELECT 7::int AS i) TO '{tmp_path}/seven' (FORMAT binary)")
    signature, flags, row, end = b"PGCOPY\n\xff\r\n\0", bytes(8), b"\0\x01\0\0\0\x04\0\0\0\x07", b"\xff\xff"
    assert (tmp_path / "seven").read_bytes() == signature + flags + row + end


def test_backslash_copy_from_a_file(server: Server, tmp_path: Path) -> None:
    (tmp_path / "sheet.csv").write_text('i,s\n1,"a, b"\n2,\n')
    (tmp_path / "lines").write_text("3\tx\\ty\n4\t\\N\n")
    psql(
        server,
        "create table brought (i integer, s varchar)",
        rf"\copy brought from '{tmp_path}/sheet.csv' csv header",
        rf"\copy brought (i, s) from '{tmp_path}/lines'",
        rf"\copy brought to '{tmp_path}/binary' (format binary)",
        rf"\copy brought from '{tmp_path}/binary' (format binary)",
    )
    found = psql(server, "select i, s, count(*) from brought group by all order by i").stdout
    assert found == "1|a, b|2\n2||2\n3|x\ty|2\n4||2\n"
    wrong = psql(server, rf"\copy brought from '{tmp_path}/binary'", "select 1", check=False)
    assert "ERROR:" in wrong.stderr and wrong.stdout == "1\n"
    psql(server, "drop table brought")


def test_gdesc_describes_a_query(server: Server) -> None:
    script = (
        "select 1 as i, 1.5::decimal(9, 2) as d, ['x'] as l, now() as t \\gdesc\ncreate table never (i int) \\gdesc\n"
    )
    command = ["psql", "--no-psqlrc", "--no-align", "--tuples-only", server.dsn]
    result = subprocess.run(command, input=script, capture_output=True, text=True, check=True, timeout=60)
    *columns, nothing = result.stdout.splitlines()
    assert columns == ["i|integer", "d|numeric(9,2)", "l|text[]", "t|timestamp with time zone"]
    assert "no result" in nothing
    assert "never does not exist" in psql(server, "select * from never", check=False).stderr


def test_an_error_has_its_sqlstate_its_hint_and_its_place(server: Server) -> None:
    result = psql(server, r"\set VERBOSITY verbose", "select id\nfrom custmers", check=False)
    assert result.returncode == 1
    assert "ERROR:  42P01: Catalog Error: Table with name custmers does not exist!" in result.stderr
    assert 'HINT:  Did you mean "customers"?' in result.stderr
    assert "LINE 2: from custmers\n             ^" in result.stderr


def test_the_place_is_right_in_a_later_statement_and_in_copy(server: Server) -> None:
    later = psql(server, "select 'é'; select nope from customers", check=False)
    assert "LINE 1: select 'é'; select nope from customers\n                           ^" in later.stderr
    copy = psql(server, "COPY (select nope from customers) TO STDOUT", check=False)
    assert "LINE 1: COPY (select nope from customers) TO STDOUT\n                     ^" in copy.stderr


def test_what_is_refused_says_what_to_do(server: Server) -> None:
    for command, code, words in [
        ("SAVEPOINT s", "25P01", "transaction blocks"),
        ("COPY customers TO STDOUT (FORMAT parquet)", "22023", 'COPY format "parquet" not recognized'),
        ("COPY customers TO STDOUT (FORMAT colonnade, speed 1)", "22023", 'option "speed" not recognized'),
        ("SELECT union_value(a := 1) AS u", "0A000", 'column "u" has type'),
        ("COPY customers TO STDOUT (FORMAT csv", "42601", "syntax error at end of input: expected"),
    ]:
        result = psql(server, r"\set VERBOSITY verbose", command, check=False)
        assert f"ERROR:  {code}: " in result.stderr, command
        assert words in result.stderr, command


def test_the_prompt_shows_the_transactions_status(server: Server) -> None:
    script = "begin;\n\\echo :x\nselect nope;\nselect 1;\nrollback;\nselect 2;\n"
    result = subprocess.run(
        ["psql", "--no-psqlrc", "--no-align", "--tuples-only", "--echo-queries", server.dsn],
        input=script,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "BEGIN" in result.stdout
    assert "current transaction is aborted" in result.stderr
    assert result.stdout.endswith("ROLLBACK\nselect 2;\n2\n")


def test_several_statements_are_one_transaction(server: Server) -> None:
    result = psql(
        server, "create table several (i int); insert into several values (1); select * from nope", check=False
    )
    assert "nope does not exist" in result.stderr
    assert "several does not exist" in psql(server, "select * from several", check=False).stderr


def test_command_tags(server: Server) -> None:
    script = "create table tags (i int); insert into tags select * from range(3) returning i;"
    script += "insert into tags select length('returning') where false; update tags set i = 0 where i > 0;"
    script += "delete from tags; drop table tags; set schema = 'main'; begin; commit; commit;"
    result = subprocess.run(
        ["psql", "--no-psqlrc", "--no-align", "--tuples-only", server.dsn],
        input=script.replace(";", ";\n"),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    tags = [
        "CREATE TABLE",
        "0",
        "1",
        "2",
        "INSERT 0 3",
        "INSERT 0 0",
        "UPDATE 2",
        "DELETE 3",
        "DROP TABLE",
        "SET",
        "BEGIN",
        "COMMIT",
        "COMMIT",
    ]
    assert result.stdout.splitlines() == tags
    assert "WARNING:  there is no transaction in progress" in result.stderr


def test_statements_with_rows_of_all_kinds(server: Server) -> None:
    rows = psql(server, "create temp table p as select * from range(2) t(i)", "pivot p on i using count(*)").stdout
    assert rows == "1|1\n"
    assert psql(server, "from range(2)").stdout == "0\n1\n"
    tables = psql(server, "show tables").stdout.splitlines()
    assert "customers" in tables and not any(name.startswith("pg_") for name in tables)
    assert psql(server, "create temp table mine(i int)", "show tables").stdout.splitlines() == sorted([*tables, "mine"])
    assert "colonnade_catalog" not in psql(server, "show all tables").stdout
    assert psql(server, "prepare add as select $1 + 1", "execute add(3)").stdout == "4\n"
    assert "PROJECTION" in psql(server, "explain select 1").stdout.upper()
    assert psql(server, "with a as (values (1), (2)) select count(*) from a").stdout == "2\n"


def test_an_empty_query(server: Server) -> None:
    assert psql(server, ";", "-- nothing", "select 1").stdout == "1\n"


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0"])
def test_other_addresses_than_loopback_are_refused(address: str) -> None:
    with pytest.raises(RuntimeError, match="without encryption and passwords"), serve("--listen", address):
        pass


def test_a_live_servers_socket_is_not_taken_and_a_stopped_one_leaves_none(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with serve("--unix", path) as server:
        assert server.unix == path
        with pytest.raises(RuntimeError, match="another server listens"), serve("--unix", path):
            pass
        assert path.exists()
    assert not path.exists()
    assert server.process.returncode == 0


def test_a_killed_servers_socket_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with serve("--unix", path) as server:
        server.process.kill()
        server.process.wait()
    assert path.exists()
    with serve("--unix", path) as server:
        assert server.unix == path


def test_a_missing_database_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError) as caught, serve(tmp_path / "no" / "such.duckdb", "--read-only"):
        pass
    (line,) = str(caught.value).strip().splitlines()
    assert line.startswith("colonnade serve did not start: colonnade: there is no file")
