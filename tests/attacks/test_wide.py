"""Wide results and long lists: refused just above their limits, and answered just below them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import colonnade
import psycopg
import pytest

from tests.attacks.attackers import WAYS, Target, Way, target
from tests.testbed.serving import serve

#: As in PostgreSQL.
ROWS = 1664
#: The server's `--max-columns`.
COLUMNS = 4000

#: Values of columns that are sent as they are, as texts, and after a check.
VALUES = ["1", "bit '1'", "1::uhugeint", "'12:00:00+01'::timetz", "interval '1 day'", "age(timestamp '2020-01-01')"]


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    with target(tmp_path_factory.mktemp("wide"), "--max-columns", str(COLUMNS), "--statement-timeout", "60") as running:
        yield running


def wide(count: int, value: str = "1") -> str:
    """A query with so many columns. Beyond the limit of one list, they come from several."""
    if count <= 2000:
        return "select " + ", ".join([value] * count)
    return f"select * from ({wide(2000, value)}) a, ({wide(count - 2000, value)}) b"


def refusal(connection: psycopg.Connection, way: Way, statement: str) -> psycopg.Error:
    with pytest.raises(psycopg.Error) as error:
        way(connection, statement)
    return error.value


def declared(connection: psycopg.Connection, statement: str) -> object:
    with connection.transaction():
        connection.execute(f"declare c cursor for {statement}")
        return connection.execute("fetch 1 from c")


def copied_as(options: str) -> Way:
    def copy(connection: psycopg.Connection, statement: str) -> object:
        with connection.cursor().copy(f"copy ({statement}) to stdout ({options})") as rows:
            return list(rows)

    return copy


AS_ROWS: dict[str, Way] = {
    "simple": WAYS["simple"],
    "extended": WAYS["extended"],
    "declared": declared,
    "copied as text": copied_as("format text"),
    "copied as csv": copied_as("format csv"),
    "copied as binary": copied_as("format binary"),
}
IN_COLUMNS = {"colonnade": copied_as("format colonnade"), "arrow": copied_as("format arrow")}


@pytest.mark.parametrize("way", AS_ROWS)
@pytest.mark.parametrize("value", VALUES)
def test_results_as_rows_have_as_many_columns_as_in_postgresql(attacked: Target, way: str, value: str) -> None:
    with attacked.connect("reader") as reader:
        error = refusal(reader, AS_ROWS[way], wide(ROWS + 1, value))
        assert error.sqlstate == "54011" and "at most 1664 entries" in str(error)
        assert error.diag.message_hint is not None and "FORMAT colonnade" in error.diag.message_hint
        if way != "copied as binary" or value == "1":
            AS_ROWS[way](reader, wide(ROWS, value))


def test_a_result_of_a_change_is_refused_before_the_change(attacked: Target) -> None:
    with attacked.connect("writer") as writer:
        writer.execute("create or replace table changed (i int)")
        returning = f"insert into changed values (1) returning {wide(ROWS + 1)[7:]}"
        for way in ("simple", "extended", "copied as text"):
            assert refusal(writer, AS_ROWS[way], returning).sqlstate == "54011"
        assert writer.execute("select count(*) from changed").fetchone() == (0,)


@pytest.mark.parametrize("form", IN_COLUMNS)
def test_results_in_columns_have_a_limit_of_their_own(attacked: Target, form: str) -> None:
    with attacked.connect("reader") as reader:
        IN_COLUMNS[form](reader, wide(COLUMNS))
        error = refusal(reader, IN_COLUMNS[form], wide(COLUMNS + 1))
        assert error.sqlstate == "54011"
        assert error.diag.message_hint is not None and "--max-columns" in error.diag.message_hint


@pytest.mark.parametrize("form", IN_COLUMNS)
@pytest.mark.parametrize("value", [*VALUES[1:], "[bit '1']", "{'a': {'b': bit '1'}}"])
def test_fewer_of_them_can_be_converted(attacked: Target, form: str, value: str) -> None:
    with attacked.connect("reader") as reader:
        IN_COLUMNS[form](reader, wide(ROWS, value))
        assert refusal(reader, IN_COLUMNS[form], wide(ROWS + 1, value)).sqlstate == "54011"


def test_spooled_results_too(attacked: Target) -> None:
    with attacked.connect("reader") as reader:
        spool = "select * from colonnade_spool('{}')"
        assert reader.execute(spool.format(wide(COLUMNS))).fetchone()
        assert refusal(reader, WAYS["simple"], spool.format(wide(COLUMNS + 1))).sqlstate == "54011"


def test_the_columns_of_a_star_count(attacked: Target) -> None:
    names = ", ".join(f"{number} as c{number}" for number in range(ROWS // 2 + 1))
    with attacked.connect("reader") as reader:
        reader.execute(f"create temp table half as select {names}")
        assert len(reader.execute("select * from half").fetchone() or ()) == ROWS // 2 + 1
        assert refusal(reader, WAYS["extended"], "select *, * from half").sqlstate == "54011"


def test_equal_names_count_beside_a_conversion(attacked: Target) -> None:
    with attacked.connect("reader") as reader:
        error = refusal(reader, IN_COLUMNS["colonnade"], f"{wide(ROWS + 2, '1 as a')}, bit '1' as b")
        assert error.sqlstate == "54011" and "equal names" in str(error)


def test_the_fields_of_types_count(attacked: Target) -> None:
    def structs(fields: int) -> str:
        keys = ", ".join(f"'k{number}': {number}" for number in range(500))
        return f"select {', '.join(['s'] * (fields // 500))} from (select {{{keys}}} as s)"

    with attacked.connect("reader") as reader:
        assert reader.execute(structs(COLUMNS)).fetchone()
        error = refusal(reader, WAYS["simple"], structs(COLUMNS + 500))
        assert error.sqlstate == "54011" and "fields" in str(error)


def test_the_names_of_columns_count(attacked: Target) -> None:
    with attacked.connect("reader") as reader:
        stars = ", ".join(["a.*"] * 70)
        named = f'select {stars} from (select 1 as "{"x" * (1 << 20)}") a'
        assert refusal(reader, WAYS["simple"], named).sqlstate == "54000"


def test_wide_tables_are_read_in_columns(tmp_path: Path) -> None:
    with serve() as server:
        names = ", ".join(f"c{number} int" for number in range(4000))
        with psycopg.connect(server.dsn, autocommit=True) as writer:
            writer.execute(f"create table wide ({names})")
            writer.execute("insert into wide (c0) values (1)")
        table = colonnade.read_sql("select * from wide", f"postgresql://tester@{server.host}:{server.port}/db")
        assert table.shape == (1, 4000)


LISTS = {
    "items": ("select 1 from (select 1", ", 1", ") a", 3000),
    "groups": ("select 1 from t group by i", ", i", "", 3000),
    "fields": ("select {'a': 1", ", 'b': 1", "}", 1000),
    "conditions": ("select 1 from t where i = 1", " or i = 1", "", 1001),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("list_", LISTS)
def test_long_lists_never_reach_the_engine(attacked: Target, list_: str, way: str) -> None:
    begin, item, end, most = LISTS[list_]
    with attacked.connect("reader") as reader:
        assert refusal(reader, WAYS[way], begin + item * most + end).sqlstate == "54001"


def test_a_query_string_has_a_limit_of_statements(attacked: Target) -> None:
    with attacked.connect("reader") as reader:
        assert refusal(reader, WAYS["simple"], "x;" * 100_001).sqlstate == "54000"


def test_statements_are_refused_before_they_are_rewritten(attacked: Target) -> None:
    """Above a limit, a text with casts of PostgreSQL's is refused by the limit, and not by what it becomes."""
    text = "select 1 in (" + "'t'::regclass, " * 130_000 + "1)"
    with attacked.connect("reader") as reader:
        for way in ("simple", "extended"):
            error = refusal(reader, WAYS[way], text)
            assert error.sqlstate == "54001" and "words and signs" in str(error)
