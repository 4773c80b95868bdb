"""What each extra is for: a program that uses it in an environment which has the wheel and this extra alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import colonnade

from tests.dist.shipped import VERSION, Environment
from tests.testbed.serving import function_options, serve

#: The programs by extra, None for the wheel alone. `uri` is an SQLite file with the table of `orders`, `served` a
#: server with the same table. A program fails if something does not work.
USES: dict[str | None, str] = {
    None: """
        with colonnade.connect(uri) as connection:
            stream = connection.query("select * from orders").__arrow_c_stream__()
            assert "arrow_array_stream" in repr(stream)
    """,
    "duckdb": """
        with colonnade.connect("duckdb:///:memory:") as connection:
            assert connection.execute("create table t as select * from range(1000)") == 1000
            assert "arrow_array_stream" in repr(connection.query("select * from t").__arrow_c_stream__())
    """,
    "serve": """
        import subprocess, sys
        command = [sys.executable, "-m", "colonnade", "serve", ":memory:", "--listen", "127.0.0.1:0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            address = server.stdout.readline().split()[-1]
            table = colonnade.read_sql(f"postgresql://{address}/", "select * from range(1000)", return_type="arrow")
            server.terminate()
        assert table.num_rows == 1000
    """,
    "pyarrow": 'assert colonnade.read_sql(uri, "select * from orders", return_type="arrow").num_rows == 1000',
    "pandas": 'assert len(colonnade.read_sql(uri, "select * from orders")) == 1000',
    "polars": 'assert colonnade.read_sql(uri, "select * from orders", return_type="polars").height == 1000',
    "numpy": """
        with colonnade.connect(uri) as connection:
            assert connection.query("select id from orders").to_numpy()["id"].sum() == 500500
    """,
    "dask": 'assert len(colonnade.read_sql(uri, "select * from orders", return_type="dask")) == 1000',
    "ray": """
        import ray
        from colonnade.distributed import ray_dataset
        ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, object_store_memory=100_000_000)
        assert ray_dataset(served, "select * from orders", parts=2).count() == 1000
        ray.shutdown()
    """,
    # Spark's own programs are scripts of a shell, and it needs Java.
    "spark": """
        import os
        os.environ["PATH"] += ":/usr/bin:/bin"
        from pyspark.sql import SparkSession
        from colonnade.distributed import spark
        builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        session = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
        assert spark(session, served, "select * from orders", parts=2).count() == 1000
        session.stop()
    """,
    "daft": """
        from colonnade.distributed import daft_frame
        assert len(daft_frame(served, "select * from orders", parts=2).to_pydict()["id"]) == 1000
    """,
    "ml": """
        import numpy
        from colonnade.ml import Model
        from colonnade_serve.ml._saved import row_of_model
        from sklearn.linear_model import LinearRegression
        x = numpy.arange(6.0).reshape(3, 2)
        row = row_of_model(LinearRegression().fit(x, [1, 2, 3]), "m", x, "onnx", None, None)
        assert Model({**row, "version": 1}).predict(x).shape == (3,)
    """,
    "udf": """
        import os, subprocess, sys
        os.environ["COLONNADE_URI"] = served
        def udf(*arguments):
            command = [sys.executable, "-m", "colonnade", "udf", *arguments]
            return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        with colonnade.connect(served) as connection:
            connection.execute("create or replace function doubled(x int) returns int language python { return x * 2 }")
        udf("pull")
        udf("key", "key")
        sealed = ["doubled", "--key-file", "key"]
        udf("inputs", *sealed, "--sql", "select doubled(id::int) from orders order by id", "-o", "inputs.arrow")
        assert udf("run", *sealed, "--inputs", "inputs.arrow").split()[:3] == ["0", "2", "4"]
    """,
    "modin": 'assert len(colonnade.read_sql(uri, "select * from orders", return_type="modin")) == 1000',
    "adbc": """
        try:
            colonnade.connect("adbc:there_is_no_such_driver?uri=x")
        except colonnade.Error as error:
            assert "there_is_no_such_driver" in str(error), error
    """,
    "odbc": """
        try:
            colonnade.connect("odbc:DSN=there_is_no_such_source")
        except (colonnade.Error, ImportError) as error:
            # Without unixODBC's library on the machine, the error names it.
            assert "there_is_no_such_source" in str(error) or "odbc" in str(error).lower(), error
    """,
    "progress": """
        with colonnade.connect(uri) as connection:
            with connection.query("select * from orders", progress=True) as result:
                result.__arrow_c_stream__()
    """,
    "completion": """
        import subprocess, sys
        subprocess.run([sys.executable, "-m", "colonnade", "completion", "bash"], check=True, stdout=subprocess.DEVNULL)
    """,
    "all": """
        assert len(colonnade.read_sql(uri, "select * from orders")) == 1000
        assert colonnade.read_sql(uri, "select * from orders", return_type="polars").height == 1000
    """,
}


def serve_orders() -> Iterator[str]:
    """The URI of a server of this checkout with the same table, for engines whose workers connect to a server."""
    with serve(*function_options()) as running:
        uri = f"postgresql://tester@{running.host}:{running.port}/memory"
        with colonnade.connect(uri) as connection:
            connection.execute("create table orders as select i as id, 'customer ' || i as name from range(1000) t(i)")
        yield uri


def use(environment: Environment, extra: str | None, file: Path, served: str) -> None:
    """Runs the program of an extra, and asks `colonnade doctor` for its state."""
    done = environment.tried("colonnade", "doctor", "--json", f"sqlite:///{file}")
    state = json.loads(done.stdout)
    assert state["installation"]["colonnade"] == VERSION
    assert state["installation"]["build"] == "release"
    assert state["source"]["login"] == "accepted"
    extras = {one["name"]: one["state"] for one in state["installation"]["extras"]}
    # The oldest pandas needs a NumPy that is older than the extra numpy allows, which the doctor says.
    assert done.returncode == int("unsupported" in extras.values()), done
    if extra is None:
        assert set(extras.values()) == {"not installed"}
        assert set(state["installation"]["packages"].values()) == {None}
    else:
        assert extras[extra] == "ready"
    lines = USES[extra].strip("\n").splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip())
    program = "\n".join(
        ["import colonnade", f"uri, served = 'sqlite:///{file}', '{served}'", *(line[indent:] for line in lines)]
    )
    # A multiprocessing engine, such as Modin's, imports the program again.
    guarded = "if __name__ == '__main__':\n" + "\n".join(f"    {line}" for line in program.splitlines())
    (environment.folder / "use.py").write_text(guarded)
    environment.run("python", "use.py")
