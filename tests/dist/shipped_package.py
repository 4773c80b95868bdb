"""The wheels in fresh virtual environments, in which there is neither Rust nor a C compiler."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.dist.shipped import DRIVER, EXTRAS, PACKAGE, ROOT, SDIST, Environment, first_example, orders, with_extra
from tests.dist.uses import USES, serve_orders, use

#: Seconds of CPU from an empty folder to the end of README's first example. The time on the clock also depends on the
#: machine's other work and on the network. It is printed.
A_MINUTE = 60


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """An SQLite file with 1,000 rows."""
    return orders(tmp_path / "a.db")


served = pytest.fixture(serve_orders, scope="module")


def seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_from_nothing_to_a_frame_in_a_minute(tmp_path: Path) -> None:
    start, before = time.monotonic(), seconds_of_children()
    environment = Environment.make(tmp_path / "venv")
    environment.install(with_extra("serve,pandas"))
    first_example(environment, tmp_path)
    seconds = seconds_of_children() - before
    print(f"{seconds:.1f} s of CPU, {time.monotonic() - start:.1f} s on the clock")
    assert seconds < A_MINUTE


def test_every_extra_has_a_use() -> None:
    assert {name for name in USES if name is not None} == EXTRAS.keys()


@pytest.mark.parametrize("extra", USES, ids=str)
def test_each_extra_alone(extra: str | None, tmp_path: Path, file: Path, served: str) -> None:
    environment = Environment.make(tmp_path / "venv")
    environment.install(with_extra(extra))
    use(environment, extra, file, served)


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
