"""What a part has in it, who may read it, and by which address."""

from __future__ import annotations

import pickle
import pickletools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import colonnade
import pytest

from tests.plans.elsewhere import ROWS, Reader, reader
from tests.testbed import postgres as pg


@pytest.fixture(scope="module")
def login(cluster: pg.Cluster) -> Iterator[str]:
    """The URI of a user with a password, who sees some rows of a table."""
    setup = """
    create role plans_reader login password 'hunter2';
    create role plans_stranger login password 'hunter2';
    create table plans.owned as select i as id, 'plans_reader' as owner from generate_series(1, 100) i;
    insert into plans.owned select i, 'plans_stranger' from generate_series(101, 300) i;
    alter table plans.owned enable row level security;
    create policy own on plans.owned using (owner = current_user);
    grant usage on schema plans to plans_reader, plans_stranger;
    grant select on plans.owned to plans_reader, plans_stranger;
    """
    undo = "drop table plans.owned; drop owned by plans_reader, plans_stranger; drop role plans_reader, plans_stranger"
    with cluster.prepared(setup, undo):
        yield cluster.uri(tcp=True).replace("tester@", "plans_reader:hunter2@")


OWNED = "select id from plans.owned"


def test_the_pickled_form_has_no_password(login: str, elsewhere: Reader) -> None:
    with colonnade.plan(f"{login}?application_name=x&connect_timeout=9&sslmode=disable", OWNED, 2) as plan:
        pickled = pickle.dumps(plan.parts)
        assert b"hunter2" not in pickled
        assert all("hunter2" not in str(argument) for _, argument, _ in pickletools.genops(pickled))
        assert "hunter2" not in f"{plan!r} {plan.parts[0]!r}"
        part = pickle.loads(pickled)[0]
        assert part == plan.parts[0] != plan.parts[1]
        assert len({part, *plan.parts}) == 2
        for text in ("user='plans_reader'", "connect_timeout='9'", "sslmode='disable'", "application_name='x'"):
            assert text in part.address
        rows = sum(table.num_rows for table in elsewhere.ask(plan.parts))
        assert rows == sum(part.read("arrow").num_rows for part in plan.parts) == 100


def test_a_reader_gives_its_own_uri(login: str) -> None:
    with colonnade.plan(login, OWNED, 2) as plan:
        lost = [replace(part, address="host='/nowhere' user='nobody' dbname='nothing'") for part in plan.parts]
        lost = pickle.loads(pickle.dumps(lost))
        with reader(COLONNADE_URI=login) as named:
            assert sum(table.num_rows for table in named.ask(lost)) == 100
            # The argument counts before the variable.
            with pytest.raises(colonnade.OperationalError):
                named.ask(lost, {"uri": "postgresql://127.0.0.1:1/x"})
        with reader() as lonely:
            with pytest.raises(colonnade.OperationalError):
                lonely.ask(lost)
            assert sum(table.num_rows for table in lonely.ask(lost, {"uri": login})) == 100
            with pytest.raises(colonnade.InterfaceError, match="not of this kind of database"):
                lonely.ask(lost, {"uri": "duckdb:///:memory:"})


def test_a_part_is_for_its_user(login: str) -> None:
    """Row-level security would give another user other rows."""
    with colonnade.plan(login, OWNED, 2) as plan:
        stranger = login.replace("plans_reader", "plans_stranger")
        with pytest.raises(colonnade.ProgrammingError) as error:
            plan.parts[0].read(uri=stranger)
        assert error.value.sqlstate == "42501"


def test_a_superuser_reads_as_the_planner(cluster: pg.Cluster, login: str) -> None:
    with colonnade.plan(login, OWNED, 2) as plan:
        assert sum(part.read("arrow", uri=cluster.uri()).num_rows for part in plan.parts) == 100


def forged(part: colonnade.Part, **changes: Any) -> colonnade.Part:
    """The part with another text in its ticket, whatever the places of the others are."""
    ticket = part.ticket
    for old, new in changes.values():
        place = ticket.index(old)
        assert int.from_bytes(ticket[place - 4 : place], "little") == len(old)
        ticket = ticket[: place - 4] + len(new).to_bytes(4, "little") + new + ticket[place + len(old) :]
    return replace(part, ticket=ticket, _plan=None)


def test_cut_and_damaged_tickets_are_refused(login: str) -> None:
    with colonnade.plan(login, OWNED, 2) as plan:
        part = plan.parts[0]
        for ticket in (
            b"",
            part.ticket[:-1],
            part.ticket[:30],
            part.ticket + b"x",
            b"colonnade partition 1\n" + b"\0" * 40,
        ):
            with pytest.raises(colonnade.InterfaceError, match="ticket is damaged"):
                replace(part, ticket=ticket).read()
        assert part.read("arrow").num_rows > 0


def test_a_forged_ticket_is_only_a_query(cluster: pg.Cluster) -> None:
    query = b"select id from plans.readings where true"
    with colonnade.plan(cluster.uri(), query[:-11].decode(), 1) as plan:
        (part,) = plan.parts
        query = b"select id from plans.readings"
        assert forged(part, query=(query, b"select 7 as id")).read("arrow", uri=cluster.uri()).to_pydict() == {
            "id": [7]
        }
        for sql in (
            b"insert into plans.readings (id) values (0) returning id",
            b"with w as (delete from plans.readings returning id) select id from w",
            b"select 1 as id) to stdout; drop table plans.readings; --",
            b"select 1 as id; commit; drop table plans.readings",
            b"commit",
            b"select 1 as id) as q; drop table plans.readings; --",
            b"drop table plans.readings",
            b"select 1 as id) to program 'true' /*",
        ):
            for arguments in ({}, {"columns": ["id"], "limit": 1}):
                with pytest.raises(colonnade.Error):
                    forged(part, query=(query, sql)).read("arrow", uri=cluster.uri(), **arguments)
        assert part.read("arrow").num_rows == ROWS


def test_another_run_of_the_server_or_another_database_has_no_such_part(cluster: pg.Cluster) -> None:
    with colonnade.plan(cluster.uri(), "select id from plans.readings", 2) as plan:
        part = plan.parts[0]
        start = len(b"colonnade partition 2\n\0") + 4
        run = part.ticket[start : start + int.from_bytes(part.ticket[start - 4 : start], "little")]
        with cluster.connect() as session:
            session.execute("create database plans_other")
        try:
            for there, uri in ((forged(part, run=(run, b"1")), cluster.uri()), (part, cluster.uri("plans_other"))):
                with pytest.raises(colonnade.InterfaceError) as error:
                    there.read(uri=uri)
                assert error.value.sqlstate == "42704"
        finally:
            with cluster.connect() as session:
                session.execute("drop database plans_other")


@pytest.mark.parametrize("uri", ["mysql", "sqlite", "duckdb:///:memory:"])
def test_other_sources_are_refused_by_name(request: pytest.FixtureRequest, uri: str) -> None:
    if uri in ("mysql", "sqlite"):
        uri = request.getfixturevalue(f"{uri}_place").uri
    with pytest.raises(colonnade.NotSupportedError, match="no parts for other processes") as error:
        colonnade.plan(uri, "select 1 as one")
    assert "colonnade serve --source" in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"parts": 0}, ValueError),
        ({"parts": "2"}, TypeError),
        ({"partition_on": 7}, TypeError),
        ({"partition_range": (1, 2)}, ValueError),
        ({"spool": "yes"}, ValueError),
        ({"progress": True}, TypeError),
        ({"numeric": "38,9"}, TypeError),
        ({"partition_num": 2}, TypeError),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_connected_to(arguments: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        colonnade.plan("postgresql://127.0.0.1:1/nothing", "select 1", **arguments)
