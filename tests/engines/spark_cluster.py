"""`spark` in Spark's local mode, whose Python workers are processes of their own."""

from __future__ import annotations

from collections.abc import Iterator

import colonnade
import pyarrow as pa
import pytest
from colonnade.distributed import spark
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from tests.engines.held import plan_of_killed_reader
from tests.engines.ledger import QUERY, ROWS, Ledger, same
from tests.engines.pages import run_examples
from tests.engines.spark_sessions import spark_session
from tests.testbed import postgres as pg


@pytest.fixture(scope="module")
def session() -> Iterator[SparkSession]:
    # Two tasks at once, each tried four times.
    with spark_session("local[2,4]") as opened:
        yield opened


def test_each_row_is_there_once_while_rows_move(session: SparkSession, ledger: Ledger) -> None:
    expected = ledger.direct()
    with ledger.moving():
        frame = spark(session, ledger.uri, QUERY, **ledger.options)
        assert frame.rdd.getNumPartitions() > 1
        same(frame.toArrow(), expected)
        assert frame.count() == ROWS
        assert frame.agg(f.sum("id")).first()[0] == ROWS * (ROWS + 1) // 2


def test_a_killed_worker_is_replaced(session: SparkSession, ledger: Ledger) -> None:
    expected = ledger.direct()
    with ledger.moving(), plan_of_killed_reader(ledger) as plan:
        found = spark(session, plan).toArrow()
    same(found, expected)


def test_filters_do_not_reach_later_queries(session: SparkSession, ledger: Ledger) -> None:
    frame = spark(session, ledger.uri, QUERY, **ledger.options)
    assert frame.filter("id <= 10").count() == 10
    assert frame.filter("label is null").count() == ROWS // 7
    assert frame.count() == ROWS


def test_frames_of_several_plans_are_used_together(session: SparkSession, ledger: Ledger) -> None:
    with colonnade.plan(ledger.uri, "select id, label from ledger where id <= 3000", **ledger.options) as few:
        left = spark(session, few)
        right = spark(session, ledger.uri, "select id, amount from ledger", **ledger.options)
        assert left.columns == ["id", "label"]
        assert left.join(right, "id").count() == 3000


def test_a_plan_that_has_ended_is_named(session: SparkSession, ledger: Ledger) -> None:
    with colonnade.plan(ledger.uri, QUERY, **ledger.options) as plan:
        frame = spark(session, plan)
    with pytest.raises(PySparkException, match="42704"):
        frame.count()


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("array[1, null, 3]", [1, None, 3]),
        ("'{\"a\": 1}'::json", '{"a": 1}'),
        ("'\\x00ff'::bytea", b"\x00\xff"),
        ("'12:34:56.789'::time", "12:34:56.789000"),
        ("'nan'::double precision", "nan"),
        ("row(1, 'x')::pair", None),
    ],
)
def test_values(session: SparkSession, ledger: Ledger, expression: str, expected: object) -> None:
    query = f"select id, {expression} as v from ledger where id <= 20"
    with colonnade.plan(ledger.uri, query, parts=2) as plan:
        rows = spark(session, plan).collect()
        direct = colonnade.read_sql(ledger.uri, query, return_type="arrow").to_pylist()
    assert len(rows) == 20
    if expected is None:
        assert {row["id"]: row["v"].asDict() for row in rows} == {row["id"]: row["v"] for row in direct}
    else:
        assert {str(row["v"]) for row in rows} == {str(expected)}


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("interval '1 month'", "'v' has the type month_day_nano_interval"),
        ("'infinity'::date", "'v' has"),
        ("timestamp '0001-01-01' - interval '1 day'", "'v' has"),
        ("'24:00'::time", "'v' has the time 24:00:00"),
    ],
)
def test_values_that_spark_lacks_are_refused(
    session: SparkSession, ledger: Ledger, expression: str, message: str
) -> None:
    query = f"select id, {expression} as v from ledger"
    with colonnade.plan(ledger.uri, query, parts=2) as plan, pytest.raises(Exception, match=message):
        spark(session, plan).toArrow()


def test_unsigned_and_enumerated_columns(session: SparkSession, ledger: Ledger) -> None:
    options = {"dtype": {"v": "uint64", "w": pa.dictionary(pa.int32(), pa.string())}, "parts": 2}
    query = "select id, id as v, 'w' || id % 3 as w from ledger where id <= 100"
    with colonnade.plan(ledger.uri, query, **options) as plan:
        frame = spark(session, plan)
        assert frame.dtypes == [("id", "bigint"), ("v", "decimal(20,0)"), ("w", "string")]
        assert {(row["id"], int(row["v"]), row["w"]) for row in frame.collect()} == {
            (i, i, f"w{i % 3}") for i in range(1, 101)
        }


def test_examples_run(session: SparkSession, stock: pg.Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_examples("spark", stock, session=session) == 2
    assert "5000" in capsys.readouterr().out.split()
