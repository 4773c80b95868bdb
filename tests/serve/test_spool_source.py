"""Results in parts from `colonnade serve --source`: databases that cannot share a snapshot get parts, too."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import errors

from tests.support.fronts import Front, connect
from tests.support.spools import part_bytes, part_table, spool

ROWS = "select 1 as i, 'it''s ß' as t union all select 2, null union all select 3, '' order by 1"


def test_each_source_has_parts(front: Front) -> None:
    with connect(front.server) as planner, connect(front.server) as reader:
        # Each statement is one for the source, and unknown dialects do not know dollar quotes.
        [part] = spool(planner, ROWS)
        assert part.rows == 3
        found = part_table(reader, part.ticket, 1)
        assert [int(i) for i in found["i"].to_pylist()] == [1, 2, 3]
        assert found["t"].to_pylist() == ["it's ß", None, ""]
        for _ in range(2):
            assert len(part_bytes(reader, part.ticket, 1)) == part.encoded_bytes
        assert reader.execute("SELECT * FROM colonnade_release(%s)", (part.ticket,), prepare=True).fetchall() == [
            (True,)
        ]
        with pytest.raises(errors.UndefinedObject, match="this ticket does not exist"):
            part_bytes(planner, part.ticket, 1)
        with pytest.raises(psycopg.Error):
            spool(planner, "select nothing_here from nowhere")
        assert planner.execute("select 1").fetchone() is not None


def test_the_literal_forms_need_no_parameters(front: Front) -> None:
    with connect(front.server) as client:
        rows = client.execute("select * from colonnade_spool('select 7 as x', bytes => 10)").fetchall()
        assert [row[1:3] for row in rows] == [(1, 1)]


def test_a_large_result_of_postgresql(in_postgres: Front) -> None:
    with connect(in_postgres.server) as client:
        query = "select i, repeat('x', 20) as t from generate_series(1, 200000) g(i)"
        parts = spool(client, query, bytes=1_000_000)
        assert len(parts) > 3
        numbers = [i for part in parts for i in part_table(client, part.ticket, part.part)["i"].to_pylist()]
        assert numbers == list(range(1, 200_001))
        client.execute("create table if not exists spool_target (i int)")
        # In the source's own transaction.
        client.execute("begin isolation level repeatable read read only")
        [part] = spool(client, "select current_setting('transaction_isolation') as level")
        assert part_table(client, part.ticket, 1)["level"].to_pylist() == ["repeatable read"]
        with pytest.raises(errors.ReadOnlySqlTransaction):
            spool(client, "with a as (insert into spool_target values (1) returning 1) select * from a")
        client.execute("rollback")
        client.execute("drop table spool_target")


def test_a_query_arrives_as_it_was_written(in_maria: Front) -> None:
    """Its strings follow the source's rules, and the string around it PostgreSQL's."""
    query = r"select 'a\b''c ß' as t, _utf8mb4 X'C39F' as x"
    quoted, escaped = query.replace("'", "''"), query.replace("\\", "\\\\").replace("'", "\\'")
    with connect(in_maria.server) as client:
        for literal in (f"'{quoted}'", f"E'{escaped}'", f"$q${query}$q$"):
            ticket, *_ = client.execute(f"select * from colonnade_spool({literal})").fetchone() or ()
            assert part_table(client, ticket, 1).to_pylist() == [{"t": r"a\b'c ß", "x": "ß"}]
        [part] = spool(client, query)
        assert part_table(client, part.ticket, 1).to_pylist() == [{"t": r"a\b'c ß", "x": "ß"}]
