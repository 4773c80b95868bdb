"""Functions read libraries, and nothing of the server: its database, keys, users, log and directories."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path

import numpy
import psycopg
import pytest

from tests.functions.sessions import connected, key_file, serving, value
from tests.support.raw_client import wait_until
from tests.testbed.serving import serve

NOBODY = 65534
FUNCTION = "CREATE OR REPLACE FUNCTION {}(x INTEGER) RETURNS VARCHAR LANGUAGE PYTHON_MAP AS $$ {} $$"


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    return make_environment(tmp_path / "project")


def make_environment(folder: Path) -> Path:
    """An environment with the packages of this one, in a folder where a project could also keep its data."""
    venv.create(folder, symlinks=True)
    (packages_of(folder) / "packages.pth").write_text(str(Path(numpy.__file__).parents[1]))
    return folder


def packages_of(environment: Path) -> Path:
    (packages,) = environment.glob("lib/python*/site-packages")
    return packages


def called(connection: psycopg.Connection, body: str) -> object:
    connection.execute(FUNCTION.format("f", body).encode())
    return value(connection, "SELECT f(i::INTEGER) FROM range(1) t(i)")


def refused(*arguments: str | os.PathLike[str]) -> str:
    """What a server says that does not start."""
    command = [sys.executable, "-m", "colonnade", "serve", "--listen", "127.0.0.1:0", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0 and "listening" not in done.stdout
    return done.stderr


def with_functions(*arguments: str | os.PathLike[str]) -> tuple[str | os.PathLike[str], ...]:
    return ("--udf", *(("--udf-user", "root") if os.geteuid() == 0 else ()), *arguments)


def test_a_project_s_folder_may_hold_its_environment_and_its_data(environment: Path) -> None:
    database, words = environment / "shop.duckdb", environment / "words.txt"
    words.write_text("a b c")
    python = environment / "bin/python"
    with serving(database, "--create", "--udf-python", python) as server, connected(server) as connection:
        for path in (words, database, key_file(database), environment / "pyvenv.cfg"):
            assert path.exists()
            with pytest.raises(psycopg.Error, match="PermissionError") as caught:
                called(connection, f"open({str(path)!r})")
            assert caught.value.sqlstate == "38000"
        with pytest.raises(psycopg.Error, match="PermissionError"):
            called(connection, f"import os; os.listdir({str(environment)!r})")
        # What libraries read of the environment and of the system.
        bodies = {
            "import sys; return [open(sys.executable, 'rb').read(4).decode('latin-1')]": "\x7fELF",
            "import zoneinfo; return [zoneinfo.ZoneInfo('Europe/Paris').key]": "Europe/Paris",
            "import sysconfig; return [str(bool(sysconfig.get_config_vars()))]": "True",
            "import platform; return [str(bool(platform.platform()))]": "True",
            "import pandas; return [str(pandas.Series([1, 2]).sum())]": "3",
            "import pyarrow.compute as c; return [str(c.sum([1, 2]))]": "3",
        }
        for body, expected in bodies.items():
            assert called(connection, body) == expected, body


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("{packages}/shop.duckdb", "--create"), "database {packages}/shop.duckdb"),
        (("{data}/linked.duckdb", "--create"), "database {data}/linked.duckdb"),
        (("{packages}/outside.duckdb", "--create"), "database {packages}/outside.duckdb"),
        (("--udf-read", "{data}", "{data}/shop.duckdb", "--create"), "database {data}/shop.duckdb"),
        (("--udf-read", "{tmp}", "{data}/shop.duckdb", "--create"), "database {data}/shop.duckdb"),
        (("--udf-read", "{tmp}/link", "{data}/shop.duckdb", "--create"), "database {data}/shop.duckdb"),
        (("--udf-read", "{data}/shop.duckdb.wal", "{data}/shop.duckdb", "--create"), "{data}/shop.duckdb.wal"),
        (("--udf-read", "{data}/shop.duckdb.udf-key", "{data}/shop.duckdb", "--create"), "key of functions"),
        (("--users", "{packages}/users"), "users file {packages}/users"),
        (("--users", "{packages}/../../users"), "users file {packages}/../../users"),
        (("--tls-certificate", "{data}/certificate", "--tls-key", "{packages}/key"), "TLS key {packages}/key"),
        (("--log", "{packages}/log/file"), "log {packages}/log/file"),
        (("--temp-directory", "{packages}/temp"), "directory for temporary data {packages}/temp"),
        (("--spool-directory", "{packages}/spool"), "directory for spooled results {packages}/spool"),
        (("--udf-read", "{data}/words", "--spool-directory", "{data}"), "directory for spooled results {data}"),
        (("/usr/lib/colonnade/shop.duckdb", "--create"), "database /usr/lib/colonnade/shop.duckdb"),
    ],
)
def test_a_server_does_not_start_if_functions_could_read_what_is_its_own(
    tmp_path: Path, environment: Path, arguments: tuple[str, ...], what: str
) -> None:
    data, packages = tmp_path / "data", packages_of(environment)
    data.mkdir()
    (tmp_path / "link").symlink_to(data)
    (packages / "outside.duckdb").symlink_to(data / "new.duckdb")
    (data / "linked.duckdb").symlink_to(packages / "missing" / "new.duckdb")
    for name in ("words", "shop.duckdb.wal", "shop.duckdb.udf-key"):
        (data / name).touch()
    places = {"tmp": tmp_path, "data": data, "packages": packages}
    python = ("--udf-python", environment / "bin/python")
    text = refused(*with_functions(*python), *(argument.format(**places) for argument in arguments))
    assert what.format(**places) in text
    assert "functions could read the server's" in text or "functions read" in text
    assert "--udf-python, --udf-read" in text
    assert not (data / "new.duckdb").exists() and not (packages / "missing").exists()


def test_without_functions_files_may_be_anywhere(environment: Path) -> None:
    with serve(packages_of(environment) / "shop.duckdb", "--create") as server, connected(server) as connection:
        assert value(connection, "SELECT 1") == 1


def test_a_users_file_that_has_become_a_link_into_libraries_is_not_read_again(
    tmp_path: Path, environment: Path
) -> None:
    users, inside = tmp_path / "users", packages_of(environment) / "users"

    def add(name: str, path: Path) -> None:
        command = [sys.executable, "-m", "colonnade", "user", "add", name, "--users", str(path)]
        subprocess.run(command, input="secret\n", text=True, check=True, capture_output=True, timeout=60)

    add("ann", users)
    options = ("--users", users, "--udf-python", environment / "bin/python")
    with serving(*options) as server:
        shutil.copy(users, inside)
        inside.chmod(0o600)
        add("bob", inside)
        users.unlink()
        users.symlink_to(inside)
        server.process.send_signal(signal.SIGHUP)
        assert server.process.stderr is not None
        line = server.process.stderr.readline()
        assert line.startswith("colonnade: the old users and certificates stay: functions could read"), line
        assert f"users file {users}, because they read {environment / 'lib'}:" in line
        with connected(server, "ann", "secret") as connection:
            assert value(connection, "SELECT 1") == 1
        with pytest.raises(psycopg.OperationalError, match="password"), connected(server, "bob", "secret"):
            pass


CALL = "SELECT f(i::INTEGER) FROM range(1) t(i)"


def call_fails(connection: psycopg.Connection, text: str) -> bool:
    """Whether a call fails with this text, because there is no template for it. Earlier calls may meet the process
    that ends with the last one."""
    try:
        value(connection, CALL)
    except psycopg.Error as error:
        return error.sqlstate == "58000" and text in str(error)
    return False


def test_a_template_that_reads_more_than_the_first_one_is_not_used(tmp_path: Path, environment: Path) -> None:
    """A package that was installed since the server has started, for development, beside the database."""
    data = tmp_path / "data"
    data.mkdir()
    options = (data / "shop.duckdb", "--create", "--udf-python", environment / "bin/python")
    with serving(*options) as server, connected(server) as connection:
        assert called(connection, "return ['a']") == "a"
        (packages_of(environment) / "development.pth").write_text(str(data))
        os.kill(server.template, signal.SIGKILL)
        text = f"functions could read the server's database {data}/shop.duckdb, because they read {data}:"
        wait_until(lambda: call_fails(connection, text))
        (packages_of(environment) / "development.pth").unlink()
        assert value(connection, CALL) == "a"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter."""
    with tempfile.TemporaryDirectory() as path:
        Path(path).chmod(0o755)
        yield Path(path)


def nobody_s(folder: Path) -> Path:
    """An interpreter that the user `nobody` can run: the system's."""
    system = Path("/usr/bin/python3")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    if os.geteuid() != 0 or not system.exists() or not system.resolve().name.endswith(version):
        pytest.skip("only root runs functions as another user, and the system has another version of Python")
    subprocess.run([system, "-m", "venv", "--without-pip", folder], check=True, timeout=60)
    for name in ("numpy", "numpy.libs"):
        shutil.copytree(Path(numpy.__file__).parents[1] / name, packages_of(folder) / name)
    return folder / "bin/python"


def test_an_interpreter_that_the_user_of_functions_cannot_reach_is_named(open_folder: Path) -> None:
    nobody = pwd.getpwuid(NOBODY).pw_name
    closed = open_folder / "closed"
    python = nobody_s(closed / "environment")
    options = ("--udf", "--udf-user", nobody, "--udf-python", python)
    closed.chmod(0o700)
    text = refused(*options)
    assert f"{python} cannot run functions as the user {nobody}: the user has no right to enter {closed} (" in text
    assert "--udf-python PATH names another one" in text
    closed.chmod(0o755)
    # What the interpreter cannot reach it does not read.
    (closed / "secret").mkdir(mode=0o700)
    (packages_of(closed / "environment") / "closed.pth").write_text(str(closed / "secret/packages"))
    with serve(*options) as server, connected(server) as connection:
        assert called(connection, "return ['a']") == "a"
        closed.chmod(0o700)
        os.kill(server.template, signal.SIGKILL)
        wait_until(lambda: call_fails(connection, f"{python} as the user {nobody}: Permission denied"))
