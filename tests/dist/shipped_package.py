"""The wheels in fresh virtual environments, in which there is neither Rust nor a C compiler."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import colonnade
import pytest

from testbed.serving import serve
from tests.dist.shipped import DRIVER, PACKAGE, ROOT, SDIST, VERSION, Environment, with_extra

EXTRAS = [*tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]]
BLOCK = re.compile(r"^```(sh|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Seconds of CPU from an empty folder to the end of README's first example. The time on the clock also depends on the
#: machine's other work and on the network. It is printed.
A_MINUTE = 60


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """An SQLite file with 1,000 rows."""
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute(
            "create table orders as with recursive n(id) as (select 1 union all select id + 1 from n "
            "where id < 1000) select id, 'customer ' || id as name from n"
        )
    connection.close()
    return tmp_path / "a.db"


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    """A server of this checkout with the same table, for engines whose workers connect to a server."""
    with serve() as running:
        uri = f"postgresql://tester@{running.host}:{running.port}/memory"
        with colonnade.connect(uri) as connection:
            connection.execute("create table orders as select i as id, 'customer ' || i as name from range(1000) t(i)")
        yield uri


def first_example() -> tuple[str, str, str]:
    """README's first command, first program, and what it prints."""
    (_, command), (_, program), (_, printed) = BLOCK.findall((ROOT / "README.md").read_text())[:3]
    return command.strip(), program, printed


def seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_from_nothing_to_a_frame_in_a_minute(tmp_path: Path) -> None:
    start, before = time.monotonic(), seconds_of_children()
    environment = Environment.make(tmp_path / "venv")
    environment.install(with_extra("serve,pandas"))
    command, program, printed = first_example()
    environment.run(*command.split(), cwd=tmp_path)
    found = environment.run("python", "-c", program, cwd=tmp_path)
    seconds = seconds_of_children() - before
    assert [line.rstrip() for line in found.splitlines()] == printed.splitlines()
    print(f"{seconds:.1f} s of CPU, {time.monotonic() - start:.1f} s on the clock")
    assert seconds < A_MINUTE


#: What each extra is for, with the file `a.db` at `uri`, and a server that has the same table at `served`. The program
#: fails if it does not work.
USES = {
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
        from colonnade.ml._saved import row_of_model
        from sklearn.linear_model import LinearRegression
        x = numpy.arange(6.0).reshape(3, 2)
        row = row_of_model(LinearRegression().fit(x, [1, 2, 3]), "m", x, "onnx", None, None)
        assert Model({**row, "version": 1}).predict(x).shape == (3,)
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


def test_every_extra_has_a_use() -> None:
    assert {name for name in USES if name is not None} == set(EXTRAS)


@pytest.mark.parametrize("extra", USES, ids=str)
def test_each_extra_alone(extra: str | None, tmp_path: Path, file: Path, served: str) -> None:
    environment = Environment.make(tmp_path / "venv")
    environment.install(with_extra(extra))
    state = json.loads(environment.run("colonnade", "doctor", "--json", f"sqlite:///{file}"))
    assert state["installation"]["colonnade"] == VERSION
    assert state["installation"]["build"] == "release"
    assert state["source"]["login"] == "accepted"
    extras = {one["name"]: one["state"] for one in state["installation"]["extras"]}
    if extra is None:
        assert set(extras.values()) == {"not installed"}
        assert set(state["installation"]["packages"].values()) == {None}
    else:
        assert extras[extra] == "ready"
    use = USES[extra]
    lines = use.strip("\n").splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip())
    program = "\n".join(
        ["import colonnade", f"uri, served = 'sqlite:///{file}', '{served}'", *(line[indent:] for line in lines)]
    )
    # A multiprocessing engine, such as Modin's, imports the program again.
    guarded = "if __name__ == '__main__':\n" + "\n".join(f"    {line}" for line in program.splitlines())
    (tmp_path / "use.py").write_text(guarded)
    environment.run("python", tmp_path / "use.py", cwd=tmp_path)


def test_the_adbc_driver(tmp_path: Path, file: Path) -> None:
    environment = Environment.make(tmp_path / "venv")
    environment.install(f"{DRIVER}[dbapi]", PACKAGE)
    program = f"""
from adbc_driver_colonnade import dbapi
with dbapi.connect("sqlite:///{file}") as connection, connection.cursor() as cursor:
    assert cursor.execute("select * from orders").fetch_arrow_table().num_rows == 1000
import colonnade
assert colonnade.read_sql("sqlite:///{file}", "select * from orders", return_type="arrow").num_rows == 1000
"""
    environment.run("python", "-c", program)


def test_a_part_of_the_suite(tmp_path: Path) -> None:
    """The tests of this checkout, with the wheel in place of the package that was built beside them."""
    environment = Environment.make(tmp_path / "venv")
    environment.install(with_extra("all"), "-r", ROOT / "requirements/test.txt")
    rooms = ["tests/sqlite", "tests/destinations/test_dtype.py", "tests/command_line/test_read.py"]
    rooms += ["tests/command_line/test_tables.py", "tests/serve/test_parameters.py"]
    command = ["python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=300", *rooms]
    found = environment.run(*command, cwd=ROOT, timeout=1200)
    print(found.splitlines()[-1])
    where = environment.run("python", "-c", "import colonnade; print(colonnade.__file__)")
    assert where.startswith(str(environment.folder))


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14", "3.15"])
def test_other_versions_of_python(version: str, tmp_path: Path, file: Path) -> None:
    """One wheel serves all versions from 3.11 on. Those that this machine has are tried."""
    python = shutil.which(f"python{version}")
    if python is None or subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode != 0:
        pytest.skip(f"there is no Python {version}")
    environment = Environment.make(tmp_path / "venv", python)
    environment.install(with_extra("polars"))
    program = f"""
import colonnade, sys
assert sys.version_info[:2] == tuple(map(int, "{version}".split(".")))
assert colonnade.read_sql("sqlite:///{file}", "select * from orders", return_type="polars").height == 1000
"""
    environment.run("python", "-c", program)


# --- the source distribution ------------------------------------------------------------------------------------------


def test_the_source_distribution_without_a_compiler(tmp_path: Path) -> None:
    environment = Environment.make(tmp_path / "venv")
    done = environment.tried("python", "-m", "pip", "install", "--disable-pip-version-check", SDIST)
    assert done.returncode == 1
    assert "[1 lines of output]" in done.stderr
    assert "colonnade is compiled here, and this is missing: Rust 1.91 or newer" in done.stderr


def test_the_source_distribution_builds(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the crates that `make test` has compiled, so in the profile of tests."""
    monkeypatch.setenv("CARGO_TARGET_DIR", str(ROOT / "target"))
    monkeypatch.setenv("MATURIN_PEP517_ARGS", "--profile dev --locked")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-build-isolation",
        "--no-deps",
        "--wheel-dir",
        tmp_path,
        SDIST,
    ]
    subprocess.run(command, check=True, timeout=3000)
    environment = Environment.make(tmp_path / "venv")
    environment.install(*tmp_path.glob("colonnade-*.whl"))
    state = json.loads(environment.run("colonnade", "doctor", "--json", f"sqlite:///{file}"))
    assert state["source"]["login"] == "accepted"
