"""SCROLL cursors: FETCH and MOVE in each direction, compared with PostgreSQL."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import psycopg
import pytest

from tests.support.users import add_user
from tests.testbed import postgres as pg
from tests.testbed.serving import Server, serve

#: A result of two batches of the server, and more.
MANY = 40_000
SCROLLS = (
    *("forward 2", "backward 1", "prior", "prior", "next", "absolute 2", "relative 0", "absolute -1"),
    *("next", "prior", "absolute 0", "relative 2", "last", "first", "backward all", "forward all"),
    *("backward all", "absolute 10", "prior", "absolute -10", "relative -1", "next", "forward 0", "backward 0"),
    *("forward -1", "backward -1", "-2", "all", "0", "absolute 3", "relative 5", "relative -2"),
    *("absolute +1",),
)
#: Of a cursor that does not move back. A sequence ends with the first error.
FORWARD = (
    ("relative 1", "relative 2", "absolute 5", "next"),
    ("absolute 2", "absolute 3", "absolute 3"),
    ("next", "absolute 0"),
    ("absolute 0", "relative 0", "0", "forward 0", "next"),
    ("forward all", "next", "absolute 10", "relative 0", "relative 3"),
    ("first", "first"),
    ("forward 5", "relative 1", "next"),
    ("absolute 6", "0"),
    *((back,) for back in ("last", "absolute -1", "backward 1", "prior", "forward -1", "-1", "relative -1")),
    ("next", "relative 0"),
)


@pytest.fixture
def both(server: Server, stock: pg.Cluster) -> Iterator[tuple[psycopg.Connection, psycopg.Connection]]:
    with psycopg.connect(server.dsn) as own, psycopg.connect(stock.dsn()) as theirs:
        yield own, theirs


def outcomes(connection: psycopg.Connection, scroll: str, steps: Sequence[str], rows: int) -> list[object]:
    """The rows and the tag of each step, up to the first error's SQLSTATE, by FETCH and by MOVE."""
    found: list[object] = []
    for verb in ("fetch", "move"):
        declared = f"declare c {scroll} cursor for select i::int, 'text ' || i from generate_series(1, {rows}) t(i)"
        connection.execute(declared.encode())
        for step in steps:
            try:
                cursor = connection.execute(f"{verb} {step} from c".encode(), prepare=len(found) % 2 == 0)
                found.append((step, cursor.statusmessage, cursor.fetchall() if verb == "fetch" else None))
            except psycopg.Error as error:
                found.append((step, error.sqlstate))
                break
        connection.rollback()
    return found


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_each_direction_gives_postgresqls_rows(both: tuple[psycopg.Connection, psycopg.Connection], rows: int) -> None:
    own, theirs = both
    assert outcomes(own, "scroll", SCROLLS, rows) == outcomes(theirs, "scroll", SCROLLS, rows)


@pytest.mark.parametrize("steps", FORWARD)
def test_a_cursor_without_scroll_goes_on_only(
    both: tuple[psycopg.Connection, psycopg.Connection], steps: tuple[str, ...]
) -> None:
    own, theirs = both
    assert outcomes(own, "no scroll", steps, 5) == outcomes(theirs, "no scroll", steps, 5)


def test_batches_are_read_in_any_order(both: tuple[psycopg.Connection, psycopg.Connection]) -> None:
    chosen = random.Random(50)
    steps = [
        chosen.choice(
            [
                f"absolute {chosen.randint(-MANY, MANY)}",
                f"relative {chosen.randint(-20_000, 20_000)}",
                f"forward {chosen.randint(0, 3)}",
                f"backward {chosen.randint(0, 3)}",
            ]
        )
        for _ in range(60)
    ]
    steps += ["last", "backward 30000", "forward 20000", "backward all"]
    own, theirs = both
    assert outcomes(own, "scroll", steps, MANY) == outcomes(theirs, "scroll", steps, MANY)


def test_a_cursor_of_all_types_goes_back_in_text_and_binary(server: Server) -> None:
    query = (
        "select i, i::hugeint as h, i / 4 as f, 'a' || i as t, date '2000-01-01' + i::int as d, [i, null] as l, "
        "(case when i % 2 = 0 then 'even' else 'odd' end)::enum('even', 'odd') as e, null as n from range(5) t(i)"
    )
    with psycopg.connect(server.dsn) as connection:
        rows = connection.execute(query.encode()).fetchall()
        for binary in (False, True):
            with connection.cursor("c", scrollable=True, binary=binary) as cursor:
                cursor.execute(query.encode())
                assert cursor.fetchall() == rows
                cursor.scroll(0, "absolute")
                assert cursor.fetchmany(2) == rows[:2]
                cursor.scroll(-1)
                # Another statement runs meanwhile.
                assert connection.execute("select 1").fetchall() == [(1,)]
                assert cursor.fetchone() == rows[1]


def test_a_held_cursor_goes_back_after_its_transaction(server: Server) -> None:
    with psycopg.connect(server.dsn) as connection:
        connection.execute("declare h scroll cursor with hold for select i from range(3) t(i)")
        connection.execute("fetch all from h")
        connection.commit()
        assert connection.execute("fetch backward 2 from h").fetchall() == [(2,), (1,)]
        connection.rollback()
        assert connection.execute("fetch prior from h").fetchall() == [(0,)]


def test_a_reader_scrolls(tmp_path_factory: pytest.TempPathFactory) -> None:
    users = tmp_path_factory.mktemp("scroll") / "users"
    add_user(users, "reader", "secret", "--read-only")
    with (
        serve("--users", users) as server,
        psycopg.connect(f"postgresql://reader:secret@{server.host}:{server.port}/", autocommit=True) as reader,
    ):
        reader.execute("declare h scroll cursor with hold for select i from range(3) t(i)")
        assert reader.execute("fetch last from h").fetchall() == [(2,)]
        assert reader.execute("select 1").fetchall() == [(1,)]
        assert reader.execute("fetch first from h").fetchall() == [(0,)]


def test_its_rows_are_charged(tmp_path_factory: pytest.TempPathFactory) -> None:
    query = "scroll cursor with hold for select i, repeat('x', 100) as t from range({}) t(i)"
    with serve("--temp-size", "4MB") as server, psycopg.connect(server.dsn, autocommit=True) as connection:
        with pytest.raises(psycopg.Error, match="--temp-size"):
            connection.execute(f"declare large {query.format(100_000)}".encode())
        for _ in range(10):
            connection.execute(f"declare small {query.format(20_000)}".encode())
            assert connection.execute("fetch absolute -1 from small").fetchall() == [(19_999, "x" * 100)]
            connection.execute("close small")


def test_it_is_listed(server: Server) -> None:
    with psycopg.connect(server.dsn) as connection:
        connection.execute("declare a scroll cursor for select 1")
        connection.execute("declare b cursor for select 1")
        listed = connection.execute("select name, is_scrollable from pg_cursors order by name").fetchall()
        assert listed == [("a", True), ("b", False)]
