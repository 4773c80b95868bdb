"""SQLAlchemy and pandas against `colonnade serve`, as they would use PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import psycopg
import pytest
import sqlalchemy as sa

from tests.testbed.serving import serve


@pytest.fixture(scope="module")
def engine() -> Iterator[sa.Engine]:
    with serve() as server:
        engine = sa.create_engine(f"postgresql+psycopg://tester@{server.host}:{server.port}/test")
        yield engine
        engine.dispose()


def test_statements_with_parameters_in_transactions(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE kept (i integer, s varchar)"))
        found = connection.execute(sa.text("INSERT INTO kept VALUES (:i, :s) RETURNING i"), {"i": 1, "s": "a"})
        assert found.scalars().all() == [1]
    with pytest.raises(sa.exc.ProgrammingError) as caught, engine.begin() as connection:
        connection.execute(sa.text("INSERT INTO kept VALUES (2, 'b')"))
        connection.execute(sa.text("SELECT * FROM nope"))
    assert isinstance(caught.value.orig, psycopg.errors.UndefinedTable)
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT * FROM kept")).all() == [(1, "a")]


def test_tables_and_schemas_are_listed(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE listed (i integer)"))
    inspector = sa.inspect(engine)
    assert inspector.default_schema_name == "public"
    assert "listed" in inspector.get_table_names()
    assert inspector.has_table("listed")
    assert not inspector.has_table("nope")
    assert inspector.get_schema_names() == ["information_schema", "public"]


def test_pandas_writes_and_reads(engine: sa.Engine) -> None:
    frame = pd.DataFrame(
        {"i": [1, 2], "s": ["x", None], "t": pd.to_datetime(["2020-01-01 00:00:00", "2021-01-01 01:02:03"])}
    )
    assert frame.to_sql("framed", engine, index=False) is not None
    found = pd.read_sql(sa.text("SELECT * FROM framed WHERE i >= :least ORDER BY i"), engine, params={"least": 1})
    assert found["i"].tolist() == [1, 2]
    assert found["s"].isna().tolist() == [False, True]
    assert found["t"].tolist() == frame["t"].tolist()


TABLES = """
    CREATE SCHEMA other;
    CREATE TYPE mood AS ENUM ('sad', 'happy');
    CREATE SEQUENCE numbers START 10;
    CREATE TABLE shops (name varchar PRIMARY KEY, city varchar UNIQUE, "Odd ""name" integer);
    CREATE TABLE sales (
        id bigint DEFAULT nextval('numbers'), shop varchar NOT NULL, amount decimal(9, 2) DEFAULT 1.5,
        sold timestamp, zoned timestamptz,
        tags integer[], feeling mood, doubled integer GENERATED ALWAYS AS (id * 2),
        PRIMARY KEY (id, shop), FOREIGN KEY (shop) REFERENCES shops (name), CHECK (amount > 0)
    );
    CREATE UNIQUE INDEX sales_sold ON sales (sold, shop);
    CREATE INDEX sales_sum ON sales ((id + 1));
    CREATE VIEW big_sales AS SELECT id, amount FROM sales WHERE amount > 100;
    COMMENT ON TABLE shops IS 'where';
    COMMENT ON COLUMN sales.amount IS 'how much';
    CREATE TABLE other.parents (a integer, b integer, PRIMARY KEY (a, b));
    CREATE TABLE other.children (x integer, y integer, FOREIGN KEY (x, y) REFERENCES other.parents (a, b));
"""


@pytest.fixture(scope="module")
def shop() -> Iterator[sa.Engine]:
    with serve() as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute(TABLES)
        engine = sa.create_engine(f"postgresql+psycopg://tester@{server.host}:{server.port}/test")
        yield engine
        engine.dispose()


def test_columns_are_reflected(shop: sa.Engine) -> None:
    inspector = sa.inspect(shop)
    assert sorted(inspector.get_table_names()) == ["sales", "shops"]
    assert inspector.get_view_names() == ["big_sales"]
    assert sorted(inspector.get_table_names(schema="other")) == ["children", "parents"]
    assert inspector.get_sequence_names() == ["numbers"]
    columns = {column["name"]: column for column in inspector.get_columns("sales")}
    assert {name: str(column["type"]) for name, column in columns.items()} == {
        "id": "BIGINT",
        "shop": "VARCHAR",
        "amount": "NUMERIC(9, 2)",
        "sold": "TIMESTAMP",
        "zoned": "TIMESTAMP",
        "tags": "ARRAY",
        "feeling": "VARCHAR(5)",
        "doubled": "INTEGER",
    }
    assert isinstance(columns["feeling"]["type"], sa.Enum)
    assert columns["feeling"]["type"].enums == ["sad", "happy"]
    assert columns["zoned"]["type"].timezone
    assert [name for name, column in columns.items() if not column["nullable"]] == ["id", "shop"]
    assert columns["id"]["default"] == "nextval('numbers'::regclass)"
    assert columns["id"]["autoincrement"] is True
    assert columns["amount"]["default"] == "1.5"
    assert columns["amount"]["comment"] == "how much"
    assert columns["doubled"]["computed"]["persisted"] is False
    assert [column["name"] for column in inspector.get_columns("big_sales")] == ["id", "amount"]
    assert inspector.get_enums() == [{"name": "mood", "schema": "public", "visible": True, "labels": ["sad", "happy"]}]
    definition = inspector.get_view_definition("big_sales")
    assert definition is not None
    assert "amount > 100" in definition


def test_keys_and_indexes_are_reflected(shop: sa.Engine) -> None:
    inspector = sa.inspect(shop)
    assert inspector.get_pk_constraint("sales")["constrained_columns"] == ["id", "shop"]
    (foreign,) = inspector.get_foreign_keys("sales")
    assert (foreign["constrained_columns"], foreign["referred_table"], foreign["referred_columns"]) == (
        ["shop"],
        "shops",
        ["name"],
    )
    assert foreign["referred_schema"] is None
    (foreign,) = inspector.get_foreign_keys("children", schema="other")
    assert (foreign["constrained_columns"], foreign["referred_columns"]) == (["x", "y"], ["a", "b"])
    assert foreign["referred_schema"] == "other"
    (unique,) = inspector.get_unique_constraints("shops")
    assert unique["column_names"] == ["city"]
    (check,) = inspector.get_check_constraints("sales")
    assert "amount > 0" in check["sqltext"]
    indexes = {index["name"]: index for index in inspector.get_indexes("sales")}
    assert indexes["sales_sold"]["unique"]
    assert indexes["sales_sold"]["column_names"] == ["sold", "shop"]
    assert indexes["sales_sum"]["column_names"] == [None]
    assert indexes["sales_sum"]["expressions"] == ["(id + 1)"]
    assert inspector.get_table_comment("shops") == {"text": "where"}
    assert inspector.get_table_comment("sales") == {"text": None}
    assert inspector.get_pk_constraint("big_sales")["constrained_columns"] == []
    with pytest.raises(sa.exc.NoSuchTableError):
        inspector.get_columns("nope")


def test_whole_databases_are_reflected(shop: sa.Engine) -> None:
    metadata = sa.MetaData()
    metadata.reflect(shop, views=True)
    assert set(metadata.tables) == {"sales", "shops", "big_sales"}
    sales = metadata.tables["sales"]
    assert {key.name for key in sales.primary_key} == {"id", "shop"}
    assert [key.column.table.name for key in sales.foreign_keys] == ["shops"]
    other = sa.MetaData()
    other.reflect(shop, schema="other")
    assert set(other.tables) == {"other.parents", "other.children"}
    odd = sa.Table("shops", sa.MetaData(), autoload_with=shop)
    assert list(odd.columns.keys()) == ["name", "city", 'Odd "name']


def test_tables_of_a_program_are_made_and_dropped(shop: sa.Engine) -> None:
    metadata = sa.MetaData()
    made = sa.Table(
        "made",
        metadata,
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("feeling", sa.Enum("low", "high", name="level")),
        sa.Column("sold", sa.DateTime(timezone=True)),
        sa.UniqueConstraint("sold", name="once"),
        sa.Index("made_feeling", "feeling"),
    )
    metadata.create_all(shop)
    metadata.create_all(shop)
    with shop.begin() as connection:
        connection.execute(made.insert(), [{"id": 1, "feeling": "low"}, {"id": 2, "feeling": "high"}])
    with shop.begin() as connection:
        assert connection.execute(sa.select(made.c.feeling).order_by(made.c.id)).scalars().all() == ["low", "high"]
        temporary = sa.Table("passing", sa.MetaData(), sa.Column("i", sa.Integer), prefixes=["TEMPORARY"])
        temporary.create(connection)
        assert sa.inspect(connection).get_temp_table_names() == ["passing"]
        assert sa.inspect(connection).get_columns("passing")[0]["name"] == "i"
    metadata.drop_all(shop)
    assert not sa.inspect(shop).has_table("made")


def test_pandas_appends_replaces_and_reads_whole_tables(shop: sa.Engine) -> None:
    frame = pd.DataFrame({"i": [1, 2], "s": ["x", None], "f": [0.5, 1.5], "b": [True, False]})
    for if_exists, rows in (("fail", 2), ("append", 4), ("replace", 2)):
        frame.to_sql("frames", shop, index=False, if_exists=if_exists)
        found = pd.read_sql_table("frames", shop)
        assert len(found) == rows
        assert list(found.columns) == ["i", "s", "f", "b"]
    with pytest.raises(ValueError, match="already exists"):
        frame.to_sql("frames", shop, index=False)
    found = pd.read_sql_table("frames", shop, schema="public", columns=["f", "b"])
    pd.testing.assert_frame_equal(found, frame[["f", "b"]])
    indexed = frame.set_index("i")
    indexed.to_sql("indexed", shop, method="multi", chunksize=1)
    pd.testing.assert_frame_equal(pd.read_sql("indexed", shop, index_col="i"), indexed)


def test_tables_number_their_rows(engine: sa.Engine) -> None:
    metadata = sa.MetaData()
    serial = sa.Table("serials", metadata, sa.Column("id", sa.Integer, primary_key=True), sa.Column("s", sa.String))
    identity = sa.Table(
        "identities",
        metadata,
        sa.Column("id", sa.BigInteger, sa.Identity(start=5, increment=2), primary_key=True),
        sa.Column("s", sa.String),
    )
    metadata.create_all(engine)
    with engine.begin() as connection:
        for table, expected in ((serial, (1, 2)), (identity, (5, 7))):
            for number in expected:
                assert connection.execute(table.insert().values(s="x")).inserted_primary_key == (number,)
        many = connection.execute(serial.insert().returning(serial.c.id), [{"s": "y"}, {"s": "z"}])
        assert many.scalars().all() == [3, 4]
    assert sa.inspect(engine).get_columns("serials")[0]["autoincrement"] is True
    metadata.drop_all(engine)
    # With them their sequences went.
    metadata.create_all(engine)
    metadata.drop_all(engine)
