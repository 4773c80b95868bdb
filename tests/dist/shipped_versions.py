"""The wheel with each version of Python, and with the oldest and the newest packages that its extras allow."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dist.shipped import PACKAGE, ROOT, SERVER, Environment, first_example, oldest, orders, with_extra
from tests.dist.uses import serve_orders, use
from tests.testbed import pythons

#: The extras whose oldest packages are installed alone. The others are frames of large engines, and models.
SMALL = (
    "duckdb",
    "serve",
    "pyarrow",
    "pandas",
    "polars",
    "numpy",
    "adbc",
    "odbc",
    "progress",
    "completion",
    "udf",
    "all",
)
#: The tests of what depends on other packages' versions.
TESTS = (
    "tests/sqlite",
    "tests/destinations/test_dtype.py",
    "tests/destinations/test_frames.py",
    "tests/command_line/test_read.py",
    "tests/command_line/test_tables.py",
    "tests/serve/test_parameters.py",
)

served = pytest.fixture(serve_orders, scope="module")


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14", "3.15"])
def test_each_version_of_python(version: str, tmp_path: Path) -> None:
    """One wheel serves all versions from 3.11 on."""
    try:
        python = pythons.interpreter(version)
    except LookupError as error:
        pytest.skip(str(error))
    environment = Environment.make(tmp_path / "venv", python)
    environment.install("--only-binary=:all:", with_extra("serve,pandas,polars"))
    assert environment.run("python", "-c", "import sys; print(*sys.version_info[:2], sep='.')").strip() == version
    first_example(environment, tmp_path)
    uri = f"sqlite:///{orders(tmp_path / 'a.db')}"
    program = (
        f"import colonnade; print(colonnade.read_sql('{uri}', 'select * from orders', return_type='polars').height)"
    )
    assert environment.run("python", "-c", program).strip() == "1000"


@pytest.mark.parametrize("extra", SMALL)
def test_the_oldest_packages_of_an_extra(extra: str, tmp_path: Path, served: str) -> None:
    environment = Environment.make(tmp_path / "venv")
    environment.install(with_extra(extra), *oldest(extra))
    use(environment, extra, orders(tmp_path / "a.db"), served)


@pytest.mark.parametrize("packages", ["pinned", "oldest"])
def test_a_part_of_the_suite(packages: str, tmp_path: Path) -> None:
    """The tests of this checkout, with the wheel in place of the package that was built beside them."""
    environment = Environment.make(tmp_path / "venv")
    pinned = [line for line in (ROOT / "tools/requirements/test.txt").read_text().splitlines() if "==" in line]
    if packages == "oldest":
        wanted = oldest("all")
        older = {line.partition("==")[0] for line in wanted}
        # What these packages need follows from their versions.
        follows = {"numpy", "polars-runtime-32"}
        pinned = [line for line in pinned if line.partition("==")[0] not in older | follows]
        environment.install(PACKAGE, SERVER, *wanted, *pinned)
    else:
        environment.install(with_extra("all"), *pinned)
    environment.bring_shells()
    command = ["python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=300", *TESTS]
    found = environment.run(*command, cwd=ROOT, timeout=2400)
    print(found.splitlines()[-1])
    where = environment.run("python", "-c", "import colonnade; print(colonnade.__file__)")
    assert where.startswith(str(environment.folder))
