"""Programs that `shipped_windows.py` runs in a Python for Windows, with `colonnade` and `sys` imported."""

from __future__ import annotations

_KINDS = """
    i::int2 as small, i::int4 as normal, (i::int8 * 7919) % 100000 as spread, i / 8.0::float8 as eighth,
    (i / 3.0)::float4 as third, i % 3 = 0 as flag, nullif(i % 10, 3) as some,
    'käse ' || i || ' 漢' as name, (i / 100.0)::numeric(12, 2) as price,
    date '2020-01-01' + (i % 5000)::int as day, time '00:00' + make_interval(secs => i % 86400) as hour,
    timestamp '2020-01-01' + make_interval(secs => i) as moment,
    timestamptz '2020-01-01 00:00+00' + make_interval(secs => i) as instant, decode(md5(i::text), 'hex') as bytes,
    md5(i::text)::uuid as id, make_interval(days => (i % 100)::int) as span, array[i, i + 1] as pair,
    jsonb_build_object('a', i) as document
"""
POSTGRES_TABLE = f"create table kinds as select i as n, {_KINDS.strip()} from generate_series(1, 2000) g(i)"
MARIA_TABLE = """
    create table kinds as select seq as n, cast(seq as decimal(12, 2)) / 4 as price, concat('käse ', seq) as name,
        date '2020-01-01' + interval seq % 5000 day as day, seq / 8e0 as eighth, nullif(seq % 10, 3) as some
    from seq_1_to_2000
"""
QUERIES = {
    # polars has no intervals of months.
    "postgresql": 'select n, eighth, third, flag, "some", name, price, day, hour, moment, instant, bytes from kinds',
    "mysql": "select * from kinds order by n",
    "serve": """
        select i as n, i / 8.0 as eighth, 'käse ' || i as name, (i / 100)::decimal(12, 2) as price, [i, i + 1] as pair,
            timestamptz '2020-01-01 00:00:00+00' + to_seconds(i) as moment, nullif(i % 10, 3) as some
        from range(1, 2001) t(i)
    """,
    "sqlite": "select id as n, id / 8.0 as eighth, name from orders union all select id + 1000, 0.5, 'é' from orders",
}


def million(rows: int) -> str:
    """A query for rows of every type."""
    return f"select i as n, {_KINDS.replace('i::int2', '(i % 30000)::int2')} from generate_series(1, {rows}) g(i)"


EVERY_RESULT = """
    uri, query = sys.argv[1:]
    total = 2000 * 2001 // 2
    table = colonnade.read_sql(uri, query, return_type="arrow")
    assert (table.num_rows, sum(table["n"].to_pylist())) == (2000, total)
    print("arrow")
    frame = colonnade.read_sql(uri, query)
    assert (len(frame), int(frame["n"].sum())) == (2000, total)
    print("pandas")
    frame = colonnade.read_sql(uri, query, return_type="polars")
    assert (frame.height, frame["n"].cast(int).sum()) == (2000, total)
    print("polars")
    with colonnade.connect(uri) as connection:
        arrays = connection.query(query).to_numpy()
    assert int(arrays["n"].sum()) == total
    print("numpy")
"""
KEPT = """
    import pyarrow.feather
    uri, query, file = sys.argv[1:]
    table = colonnade.read_sql(uri, query, return_type="arrow")
    pyarrow.feather.write_feather(table, file, compression="uncompressed")
"""
SCRAM = """
    right, other, password = sys.argv[1:]
    query = "select version, current_user::text as name from pg_stat_ssl where pid = pg_backend_pid()"
    quoted = password.replace("\\\\", "\\\\\\\\").replace("'", "\\\\'")
    table = colonnade.read_sql(f"{right} password='{quoted}'", query, return_type="arrow")
    assert table.to_pylist() == [{"version": "TLSv1.3", "name": "by_scram"}]
    for wrong, text in ((f"{other} password='{quoted}'", "other.example"), (f"{right} password=wrong", "password")):
        try:
            colonnade.connect(wrong)
        except colonnade.Error as error:
            assert text in str(error), error
        else:
            raise AssertionError(wrong)
"""
WRITE = """
    import pandas as pd
    uri = sys.argv[1]
    days = pd.date_range("2020-01-01", periods=5000, freq="h").astype("datetime64[us]")
    frame = pd.DataFrame({"i": range(5000), "name": [f"käse {i} 漢" for i in range(5000)], "day": days})
    assert colonnade.write_sql(frame, uri, "written_by_windows").rows == 5000
    back = colonnade.read_sql(uri, "select i, name from written_by_windows order by i")
    assert back["i"].tolist() == frame["i"].tolist()
    assert back["name"].tolist() == frame["name"].tolist()
"""
DBAPI = """
    from colonnade import dbapi
    with dbapi.connect(sys.argv[1]) as connection, connection.cursor() as cursor:
        cursor.execute("select n, name from kinds where n > $1 order by n", [1998])
        assert cursor.fetchall() == [(1999, "käse 1999 漢"), (2000, "käse 2000 漢")]
        cursor.execute("create temporary table t (i int)")
        cursor.executemany("insert into t values ($1)", [[1], [2]])
        connection.rollback()
"""
AIO = """
    import asyncio, time
    from colonnade import aio
    async def main():
        async with await aio.connect(sys.argv[1]) as connection:
            table = await (await connection.query("select n from kinds")).arrow()
            assert table.num_rows == 2000
            async def slow():
                return await (await connection.query("select pg_sleep(60)")).arrow()
            start = time.monotonic()
            try:
                await asyncio.wait_for(slow(), 1)
            except TimeoutError:
                pass
            else:
                raise AssertionError("no timeout")
            assert time.monotonic() - start < 20
            table = await (await connection.query("select 1 as one")).arrow()
            assert table["one"].to_pylist() == [1]
    asyncio.run(main())
"""
SCAN = """
    import polars as pl
    scan = colonnade.scan_sql(sys.argv[1], "select n, name from kinds")
    frame = scan.filter(pl.col("n") > 1990).select("n").collect()
    assert sorted(frame["n"].to_list()) == list(range(1991, 2001))
"""
PARTITIONS = """
    frame = colonnade.read_sql(sys.argv[1], "select * from kinds", partition_on="n", partition_num=4)
    assert sorted(frame["n"].tolist()) == list(range(1, 2001))
"""
INTERRUPTED = """
    import _thread, threading, time
    threading.Timer(1, _thread.interrupt_main).start()
    start = time.monotonic()
    with colonnade.connect(sys.argv[1]) as connection:
        try:
            connection.query("select pg_sleep(60)").to_arrow()
        except KeyboardInterrupt:
            assert time.monotonic() - start < 20
        else:
            raise AssertionError("not interrupted")
        assert connection.query("select 1 as one").to_arrow()["one"].to_pylist() == [1]
"""
DUCKDB = r"""
    import duckdb, pandas as pd
    path = sys.argv[1]
    duckdb.connect(path).close()
    for uri in (f"duckdb:///{path}", "duckdb:///" + path.replace("\\", "/").replace(" ", "%20")):
        colonnade.write_sql(pd.DataFrame({"i": range(300_000)}), uri, "t", if_exists="replace")
        for kind in ("pandas", "polars", "arrow"):
            found = colonnade.read_sql(uri, "select i, 'é' || i as name from t", return_type=kind)
            assert len(found) == 300_000
    with colonnade.connect("duckdb:///:memory:") as connection:
        assert connection.query("select 42 as n").to_arrow()["n"].to_pylist() == [42]
"""
ADBC = """
    import adbc_driver_colonnade
    from adbc_driver_colonnade import dbapi
    assert adbc_driver_colonnade.driver_path().name == "adbc_driver_colonnade.dll"
    with dbapi.connect(sys.argv[1]) as connection, connection.cursor() as cursor:
        assert cursor.execute("select 7 as n").fetch_arrow_table()["n"].to_pylist() == [7]
"""
#: Both places, of the user and of all users, are where this machine's ADBC looks.
ADBC_INSTALLED = """
    from adbc_driver_manager import dbapi
    from colonnade._cli.main import main
    for place in ("--user", "--system"):
        assert main(["adbc", "install", place]) == 0
        try:
            with dbapi.connect(driver="colonnade", uri=sys.argv[1], autocommit=True) as connection:
                with connection.cursor() as cursor:
                    assert cursor.execute("select 7 as n").fetchall() == [(7,)]
        finally:
            assert main(["adbc", "uninstall", place]) == 0
"""
