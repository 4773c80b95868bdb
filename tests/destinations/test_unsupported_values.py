"""What a library has no type or no value for is an error of ours that names the column and says what to write."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import colonnade
import pytest

from tests.testbed import postgres as pg


@pytest.fixture(scope="module")
def uri_of_oddities(stock: pg.Cluster) -> str:
    with stock.connect() as session:
        session.execute("create database oddities")
    with stock.connect("oddities") as session:
        session.execute("create type entry as (number int4, day date, moment timestamp)")
    return stock.uri("oddities")


INTERVALS = ["select interval '1 month' as v", "select array[interval '1 day'] as v"]


@pytest.mark.parametrize(
    "sql", [*INTERVALS, "select 1.5::numeric(60, 10) as v", "select array[1.5::numeric(60, 10)] as v"]
)
@pytest.mark.parametrize("whole", [True, False], ids=["one", "list"])
def test_polars_types(uri_of_oddities: str, sql: str, whole: bool) -> None:
    hint = "cast v to text" if "interval" in sql else "dtype="
    with pytest.raises(colonnade.NotSupportedError, match=f"column 'v' has the type .*, which polars lacks\n.*{hint}"):
        colonnade.read_sql(uri_of_oddities, sql if whole else [sql, sql], return_type="polars")
    with colonnade.connect(uri_of_oddities) as connection:
        result = connection.query(sql)
        with pytest.raises(colonnade.NotSupportedError, match="'v'"):
            result.to_polars()
        # Nothing was read: another destination takes it.
        assert result.to_arrow().num_rows == 1


def test_what_the_errors_say_to_write(uri_of_oddities: str) -> None:
    sql = "select 1.5::numeric(60, 10) as v"
    text = colonnade.read_sql(uri_of_oddities, sql, return_type="polars", dtype={"v": "utf8"})
    assert text["v"].to_list() == ["1.5000000000"]
    nearest = colonnade.read_sql(uri_of_oddities, sql, return_type="polars", dtype={"v": colonnade.lossy("float64")})
    assert nearest["v"].to_list() == [1.5]
    sql = "select extract(epoch from v)::float8 as s, v::text as v from (select interval '1 day 2 hours' as v) t"
    assert colonnade.read_sql(uri_of_oddities, sql, return_type="polars").row(0) == (93600.0, "1 day 02:00:00")


def test_a_field_that_is_called_like_a_type(uri: str) -> None:
    sql = "select {'interval': 1, 'decimal256': 2} as interval"
    assert colonnade.read_sql(uri, sql, return_type="polars")["interval"].to_list() == [
        {"interval": 1, "decimal256": 2}
    ]


def test_duckdb_types(uri_of_oddities: str) -> None:
    with pytest.raises(colonnade.NotSupportedError, match=r"column 'v' has the type decimal256, which duckdb lacks"):
        colonnade.read_sql(uri_of_oddities, "select 1.5::numeric(60, 10) as v", return_type="duckdb")
    assert colonnade.read_sql(uri_of_oddities, INTERVALS[0], return_type="duckdb").fetchall()


def test_polars_names(uri_of_oddities: str) -> None:
    with pytest.raises(colonnade.InterfaceError, match="2 columns are called 'a', and polars needs different names"):
        colonnade.read_sql(uri_of_oddities, "select 1 as a, 2 as b, 3 as a", return_type="polars")


MOMENTS = {
    "time[]": "select array[time '24:00'] as v",
    "timestamp[]": "select array[timestamp '20000-01-01', null] as v",
    "composite": "select row(1, '2024-01-01', '20000-01-01')::entry as v",
    "bc": "select array[row(1, '2024-01-01', '0044-03-15 BC')::entry] as v",
}


@pytest.mark.parametrize(
    "arguments", [{}, *({"dtype_backend": name} for name in ("numpy_nullable", "exact", "connectorx"))]
)
@pytest.mark.parametrize("name", MOMENTS)
def test_moments_that_python_lacks(uri_of_oddities: str, name: str, arguments: dict[str, str]) -> None:
    if name == "timestamp[]" and arguments.get("dtype_backend") == "exact":
        # NumPy has them.
        assert str(colonnade.read_sql(uri_of_oddities, MOMENTS[name], **arguments)["v"][0][0])[:5] == "20000"  # type: ignore[call-overload]
        return
    with pytest.raises(colonnade.DataError, match=r"column 'v' has (an? |the time 24:00:00)") as caught:
        colonnade.read_sql(uri_of_oddities, MOMENTS[name], **arguments)  # type: ignore[call-overload]
    assert "pyarrow" in (caught.value.hint or "")


@pytest.mark.parametrize("sql", [*MOMENTS.values(), "select array[date '20000-01-01', null] as v"])
def test_moments_that_numpys_objects_lack(uri_of_oddities: str, sql: str) -> None:
    with pytest.raises(colonnade.DataError, match="column 'v' has"):
        colonnade.read_sql(uri_of_oddities, sql, return_type="numpy")


def run(uri: str, sql: str, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "colonnade", "read", uri, sql, *more]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize(
    ("suffix", "sql"),
    [
        ("parquet", INTERVALS[0]),
        ("parquet", INTERVALS[1]),
        ("csv", INTERVALS[0]),
        ("csv", INTERVALS[1]),
        ("ndjson", INTERVALS[0]),
        ("ndjson", INTERVALS[1]),
    ],
)
def test_files_that_cannot_have_a_type(uri_of_oddities: str, tmp_path: Path, suffix: str, sql: str) -> None:
    path = tmp_path / f"out.{suffix}"
    done = run(uri_of_oddities, sql, "-o", str(path))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "column 'v' has the type" in done.stderr
    assert "cast" in done.stderr
    assert not path.exists()


def test_what_the_terminal_shows(uri_of_oddities: str) -> None:
    for value in ("date '20000-01-01'", "timestamp '0044-03-15 BC'", "array[date '20000-01-01']", "time '24:00'"):
        done = run(uri_of_oddities, f"select {value} as v, 1 as n")
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        assert "| 1" in done.stdout
    assert "20000-01-01" in run(uri_of_oddities, "select date '20000-01-01' as v").stdout
    assert "24:00" in run(uri_of_oddities, "select time '24:00' as v").stdout
