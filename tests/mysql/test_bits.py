"""BIT in MariaDB's expressions: bits or digits come, and nothing says which."""

from __future__ import annotations

from collections.abc import Iterator

import colonnade
import pytest

#: 9 is sent as the byte 9 or as the digit 9, which is the byte 57.
EXPRESSIONS = [
    "max({})",
    "min({})",
    "if(true, max({0}), max({0}))",
    "ifnull(max({}), max({}))",
    "coalesce(max({}))",
    "case when true then max({}) end",
    "greatest(max({0}), max({0}))",
    "nullif(max({}), 99)",
    "(select {} from bits where i = 2)",
]


@pytest.fixture(autouse=True)
def bits(mysql: colonnade.Connection) -> Iterator[None]:
    mysql.execute("create table bits (i int, one bit(1), eight bit(8), most bit(64))")
    mysql.execute(
        "insert into bits values (1, 0, 7, 7), (2, 1, 9, 18446744073709551615), (3, 1, 1, 1), (4, null, null, null)"
    )
    yield
    mysql.execute("drop table bits")


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_computed_bit_is_refused_by_name(mysql: colonnade.Connection, expression: str) -> None:
    for name in ("eight", "most"):
        with pytest.raises(
            colonnade.NotSupportedError, match=r'column "v" of type bit\(\d+\): it is computed'
        ) as caught:
            mysql.query(f"select {expression.format(name, name)} as v from bits")
        assert "CAST(… AS UNSIGNED)" in str(caught.value)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_one_computed_bit_is_exact(mysql: colonnade.Connection, expression: str) -> None:
    table = mysql.query(f"select {expression.format('one', 'one')} as v, min(one) as least from bits").to_arrow()
    value = not expression.startswith("min")
    assert table.to_pylist() == [{"v": value, "least": False}]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_what_the_error_says_to_write_is_exact(mysql: colonnade.Connection, expression: str) -> None:
    for name, least, largest in (("eight", 1, 9), ("most", 1, 2**64 - 1)):
        query = f"select cast({expression.format(name, name)} as unsigned) as v from bits limit 1"
        value = least if expression.startswith("min") else largest
        assert mysql.query(query).to_arrow().to_pylist() == [{"v": value}]

    with pytest.raises(colonnade.NotSupportedError, match='column "eight"'):
        mysql.query("select eight from (select max(eight) as eight from bits) t")


@pytest.mark.parametrize(
    "source",
    [
        "bits",
        "(select * from bits) t",
        "bits natural join (select 2 as i union select 4) t",
    ],
)
def test_columns_of_tables_are_exact(mysql: colonnade.Connection, source: str) -> None:
    table = mysql.query(f"select one, eight, most from {source} where i in (2, 4) order by i").to_arrow()
    assert table.to_pylist() == [
        {"one": True, "eight": 9, "most": 2**64 - 1},
        {"one": None, "eight": None, "most": None},
    ]
