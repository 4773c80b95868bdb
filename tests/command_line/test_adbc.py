"""`colonnade adbc`: a driver manager finds the driver by its name."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from adbc_driver_manager import dbapi
from colonnade._cli import adbc
from colonnade._cli.main import main

from tests.support.adbc_driver import DRIVER
from tests.support.sqlite_files import make


@pytest.fixture(params=["XDG_CONFIG_HOME", "HOME"])
def user(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder of manifests, which does not exist yet. The system's is empty."""
    for name in ("XDG_CONFIG_HOME", "ADBC_DRIVER_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(request.param, str(tmp_path))
    monkeypatch.setattr(adbc, "SYSTEM", tmp_path / "system")
    return tmp_path / ("adbc/drivers" if request.param == "XDG_CONFIG_HOME" else ".config/adbc/drivers")


@pytest.fixture
def lib(tmp_path: Path) -> Path:
    """The library, by a path with characters that TOML has to escape."""
    folder = tmp_path / 'ä "b" \\ \x01\x7f\n'
    folder.mkdir()
    return Path(shutil.copy(DRIVER, folder))


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return make(tmp_path / "a.sqlite", "create table t (i INTEGER); insert into t values (7)")


def values(uri: str) -> list[tuple[int]]:
    """What the driver of the name `colonnade` reads."""
    with dbapi.connect(driver="colonnade", uri=uri, autocommit=True) as connection, connection.cursor() as cursor:
        return cursor.execute("select i from t").fetchall()


def test_the_driver_is_found_by_its_name(
    user: Path, lib: Path, uri: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(dbapi.Error, match="colonnade"):
        values(uri)
    assert main(["adbc", "install", "--library", str(lib)]) == 0
    assert capsys.readouterr().out.startswith(f"wrote {user}/colonnade.toml for {tmp_path}/")
    assert adbc.library_of(user / "colonnade.toml") == str(lib)
    assert values(uri) == [(7,)]
    assert main(["adbc", "uninstall", "--user"]) == 0
    assert capsys.readouterr().out == f"removed {user}/colonnade.toml\n"
    with pytest.raises(dbapi.Error, match="colonnade"):
        values(uri)
    assert main(["adbc", "uninstall"]) == 1
    assert capsys.readouterr().err == f"colonnade: there is no {user}/colonnade.toml\n"


def test_the_folders_are_listed(
    user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also with manifests of other tools, and with files that are none."""
    given = tmp_path / "given", tmp_path / "broken"
    for folder, text in zip(
        given, ("[Driver.shared]\nlinux_amd64 = 'a'\nlinux_arm64 = 'b'\n", "[Driver]\n"), strict=True
    ):
        folder.mkdir()
        (folder / "colonnade.toml").write_text(text)
    monkeypatch.setenv("ADBC_DRIVER_PATH", f"{given[0]}:{given[1]}")
    assert main(["adbc", "install", "--system", "--library", str(DRIVER)]) == 0
    capsys.readouterr()
    assert main(["adbc", "show"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"ADBC_DRIVER_PATH\t{given[0]}\ta, b",
        f"ADBC_DRIVER_PATH\t{given[1]}\t(not a driver manifest)",
        f"user\t{user}\t",
        f"system\t{tmp_path}/system\t{DRIVER.resolve()}",
    ]


def test_a_relative_path_becomes_absolute(user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DRIVER.parent)
    assert main(["adbc", "install", "--library", DRIVER.name]) == 0
    assert adbc.library_of(user / "colonnade.toml") == str(DRIVER.resolve())


def test_only_the_driver_is_installed(user: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "text.so"
    text.write_text("no library")
    other = Path(sys.modules["colonnade._core"].__file__ or "")
    for path, reason in (
        (tmp_path / "missing.so", "No such file"),
        (text, "is not a library"),
        (other, "is not Colonnade's ADBC driver"),
    ):
        assert main(["adbc", "install", "--library", str(path)]) == 1
        assert reason in capsys.readouterr().err
    assert not user.exists()


def test_without_the_package_the_command_says_what_to_install(
    user: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "adbc_driver_colonnade", None)
    assert main(["adbc", "install"]) == 1
    assert "the package adbc-driver-colonnade is not installed" in capsys.readouterr().err
    assert not user.exists()
