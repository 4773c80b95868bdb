"""dlt: pipelines into PostgreSQL, run twice, with each way to write."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import dlt
from dlt.destinations import postgres
from run_all import run_all

SCRATCH = Path(os.environ["SCRATCH"])
URL = "postgresql://{PGUSER}:unused@{PGHOST}:{PGPORT}/{PGDATABASE}?sslmode=disable".format_map(os.environ)


def pipeline(name: str = "shop", directory: str = "pipelines", dataset: str = "shop_data") -> dlt.Pipeline:
    return dlt.pipeline(
        pipeline_name=name, destination=postgres(URL), dataset_name=dataset, pipelines_dir=str(SCRATCH / directory)
    )


def rows(running: dlt.Pipeline, query: str) -> list[tuple[Any, ...]]:
    with running.sql_client() as client:
        return [tuple(row) for row in client.execute_sql(query) or []]


def users() -> list[dict[str, Any]]:
    return [
        {
            "id": 1,
            "name": "Ann O'Hara",
            "score": 0.1,
            "balance": Decimal("12.50"),
            "active": True,
            "born": date(1990, 5, 17),
            "wakes": time(6, 30),
            "seen": datetime(2026, 1, 31, 10, 0, 0, 123456, tzinfo=UTC),
            "avatar": b"\x00\xff\\",
            "address": {"city": "Oslo", "zip": "0150"},
            "orders": [{"number": 1, "items": [{"sku": "a"}, {"sku": "b"}]}, {"number": 2, "items": []}],
        },
        {"id": 2, "name": 'Bob\n"the\tbuilder"\\', "score": None, "balance": Decimal("-0.01"), "active": False},
    ]


def test_appends_nested_rows_twice() -> None:
    running = pipeline()
    for _ in range(2):
        info = running.run(users(), table_name="users", write_disposition="append")
        assert not info.has_failed_jobs
    assert rows(running, "SELECT count(*), count(DISTINCT id) FROM users") == [(4, 2)]
    assert rows(running, "SELECT count(*) FROM users__orders__items") == [(4,)]
    (row,) = rows(
        running,
        """SELECT DISTINCT name, score, balance, active, born, wakes, seen, address__city
           FROM users WHERE id = 1""",
    )
    seen = datetime(2026, 1, 31, 10, 0, 0, 123456, tzinfo=UTC)
    assert row == ("Ann O'Hara", 0.1, Decimal("12.50"), True, date(1990, 5, 17), time(6, 30), seen, "Oslo")
    assert [bytes(value) for (value,) in rows(running, "SELECT avatar FROM users WHERE id = 1")] == [b"\x00\xff\\"] * 2
    assert rows(running, "SELECT DISTINCT name FROM users WHERE id = 2") == [('Bob\n"the\tbuilder"\\',)]
    assert rows(running, "SELECT count(*) FROM _dlt_loads WHERE status = 0") == [(2,)]


def test_adds_columns() -> None:
    running = pipeline()
    running.run([{"id": 3, "name": "Cem", "email": "cem@x.org", "age": 20}], table_name="users")
    assert rows(running, "SELECT id, email, age FROM users WHERE email IS NOT NULL") == [(3, "cem@x.org", 20)]
    # A value of another type gets a column of its own.
    running.run([{"id": 4, "name": "Dov", "age": "unknown"}], table_name="users")
    assert rows(running, "SELECT age, age__v_text FROM users WHERE id = 4") == [(None, "unknown")]


def test_replaces_by_each_strategy() -> None:
    for strategy in ("truncate-and-insert", "insert-from-staging", "staging-optimized"):
        os.environ["DESTINATION__REPLACE_STRATEGY"] = strategy
        running = pipeline(f"replacing_{strategy}".replace("-", "_"), dataset="replaced_" + strategy[:3])
        for names in (["a", "b", "c"], ["d"]):
            data = [{"name": name, "parts": [{"part": name}]} for name in names]
            running.run(data, table_name="things", write_disposition="replace")
        assert rows(running, "SELECT name FROM things") == [("d",)], strategy
        assert rows(running, "SELECT part FROM things__parts") == [("d",)], strategy
    del os.environ["DESTINATION__REPLACE_STRATEGY"]


def test_merges_by_each_strategy() -> None:
    first = [{"id": 1, "name": "a", "tags": ["x", "y"]}, {"id": 2, "name": "b", "tags": []}]
    second = [{"id": 2, "name": "B", "tags": ["z"]}, {"id": 3, "name": "c", "tags": []}]
    for strategy in ("delete-insert", "upsert"):
        running = pipeline("merging_" + strategy[:3], dataset="merged_" + strategy[:3])
        for data in (first, second, second):
            running.run(
                data,
                table_name="things",
                write_disposition={"disposition": "merge", "strategy": strategy},
                primary_key="id",
            )
        assert rows(running, "SELECT id, name FROM things ORDER BY id") == [(1, "a"), (2, "B"), (3, "c")], strategy
        assert rows(running, "SELECT value FROM things__tags ORDER BY value") == [("x",), ("y",), ("z",)], strategy


def test_keeps_history() -> None:
    running = pipeline("history", dataset="history")
    for name in ("a", "a", "b"):
        running.run(
            [{"id": 1, "name": name}],
            table_name="things",
            write_disposition={"disposition": "merge", "strategy": "scd2"},
        )
    query = "SELECT name, _dlt_valid_to IS NULL FROM things ORDER BY _dlt_valid_from"
    assert rows(running, query) == [("a", False), ("b", True)]


@dlt.resource(primary_key="id", write_disposition="merge", columns={"kind": {"nullable": True, "data_type": "text"}})
def events(
    last: int,
    updated: Any = dlt.sources.incremental("updated", initial_value=0),  # noqa: B008
) -> Iterator[list[dict[str, Any]]]:
    yield [{"id": n, "updated": n, "deep": {"a": [n]}} for n in range(last) if n >= updated.last_value]


def test_loads_increments_and_restores_state() -> None:
    running = pipeline("incremental", dataset="increments")
    running.run(events(10))
    running.run(events(15))
    assert rows(running, "SELECT count(*), max(updated) FROM events") == [(15, 14)]
    # Another machine has no state; it takes the one in the database.
    elsewhere = pipeline("incremental", directory="elsewhere", dataset="increments")
    elsewhere.sync_destination()
    assert elsewhere.state["schema_names"] == ["incremental"]
    elsewhere.run(events(16))
    assert rows(elsewhere, "SELECT count(*), max(updated) FROM events") == [(16, 15)]


def test_loads_csv_and_many_rows() -> None:
    running = pipeline("csv", dataset="from_csv")
    data = ({"id": n, "word": f'w {n} "q", é', "half": n / 2, "none": None} for n in range(20_000))
    running.run(data, table_name="numbers", loader_file_format="csv", columns={"none": {"data_type": "bigint"}})
    assert rows(running, "SELECT count(*), sum(half), count(none) FROM numbers") == [(20_000, 99_995_000.0, 0)]
    assert rows(running, "SELECT word FROM numbers WHERE id = 7") == [('w 7 "q", é',)]


def test_reads_datasets() -> None:
    running = pipeline()
    dataset = running.dataset()
    assert dataset.users.select("id", "name").limit(1).fetchone() is not None
    assert dataset("SELECT count(*) FROM users").fetchscalar() == 6
    assert set(dataset.row_counts().fetchall()) >= {("users", 6), ("users__orders", 4)}
    assert len(dataset["users"].fetchall()) == 6


def test_drops_and_fails() -> None:
    running = pipeline("failing", dataset="failed")
    running.run([{"id": 1}], table_name="things", columns={"id": {"nullable": False}})
    with running.sql_client() as client:
        try:
            client.execute_sql("SELECT * FROM nowhere")
        except dlt.destinations.exceptions.DatabaseUndefinedRelation:
            pass
        else:
            raise AssertionError("the table is there")
        with client.begin_transaction() as transaction:
            client.execute_sql("INSERT INTO things (id, _dlt_load_id, _dlt_id) VALUES (2, 'x', 'y')")
            transaction.rollback_transaction()
        assert client.execute_sql("SELECT count(*) FROM things") == [(1,)]
        client.drop_dataset()
        assert not client.has_dataset()


if __name__ == "__main__":
    run_all(dict(globals()))
