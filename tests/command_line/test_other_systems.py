"""What the command says and where it looks on systems other than this one, as far as Linux can show."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import colonnade
import pytest
from colonnade import _libraries
from colonnade._cli import adbc, installation, server_part
from colonnade._cli.main import main
from colonnade._system import disk, drivers

from tests.support.adbc_driver import DRIVER


@pytest.fixture
def without_linux(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for module in (_libraries, server_part):
        monkeypatch.setattr(module, "IS_LINUX", False)
    server_part.is_installed.cache_clear()
    yield
    server_part.is_installed.cache_clear()


@pytest.mark.parametrize("command", server_part.COMMANDS)
def test_commands_of_the_server_say_where_they_run(
    command: str, without_linux: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--help"]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"colonnade: colonnade {command} runs on Linux only: ")
    assert "WSL 2" in error
    assert "container" in error
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "serve a database over PostgreSQL's protocol (on Linux)" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("is_windows", "is_macos", "user", "system"),
    [
        (True, False, "data/ADBC/Drivers", None),
        (False, True, "Library/Application Support/ADBC/Drivers", "/Library/Application Support/ADBC/Drivers"),
        (False, False, ".config/adbc/drivers", "/etc/adbc/drivers"),
    ],
)
def test_folders_of_manifests(
    is_windows: bool, is_macos: bool, user: str, system: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drivers, "IS_WINDOWS", is_windows)
    monkeypatch.setattr(drivers, "IS_MACOS", is_macos)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "data"))
    assert drivers.user_folder() == tmp_path / user
    assert drivers.system_folder() == (None if system is None else Path(system))


class Registry(SimpleNamespace):
    """The functions of `winreg` that are used."""

    HKEY_LOCAL_MACHINE, REG_SZ, REG_DWORD = "machine", 1, 4

    def __init__(self) -> None:
        self.keys: dict[tuple[str, str], dict[str, object]] = {}

    class Key(dict[str, object]):
        def __enter__(self) -> Registry.Key:
            return self

        def __exit__(self, *_: object) -> None: ...

    def CreateKey(self, *place: str) -> Any:
        return self.keys.setdefault(place, self.Key())

    def OpenKey(self, *place: str) -> Any:
        if place not in self.keys:
            raise FileNotFoundError
        return self.keys[place]

    def DeleteKey(self, *place: str) -> None:
        if self.keys.pop(place, None) is None:
            raise FileNotFoundError

    def SetValueEx(self, key: dict[str, object], name: str, _: int, kind: int, value: object) -> None:
        key[name] = (value, kind)

    def QueryValueEx(self, key: dict[str, object], name: str) -> object:
        return key[name]


def test_a_driver_for_all_users_of_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    registry = Registry()
    monkeypatch.setattr(drivers, "_winreg", lambda: registry)
    monkeypatch.setattr(adbc, "SYSTEM", None)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("ADBC_DRIVER_PATH", raising=False)
    key = r"HKEY_LOCAL_MACHINE\SOFTWARE\ADBC\Drivers\colonnade"
    shown = f"user\t{tmp_path}/adbc/drivers\t\nsystem\t{key}\t"
    assert main(["adbc", "show"]) == 0
    assert capsys.readouterr().out == f"{shown}\n"
    assert main(["adbc", "install", "--system", "--library", str(DRIVER)]) == 0
    assert capsys.readouterr().out == f"wrote {key} for {DRIVER.resolve()}\n"
    assert registry.keys["machine", r"SOFTWARE\ADBC\Drivers\colonnade"] == {
        "manifest_version": (1, Registry.REG_DWORD),
        "name": ("Colonnade", Registry.REG_SZ),
        "driver": (str(DRIVER.resolve()), Registry.REG_SZ),
        "entrypoint": (adbc.ENTRYPOINT, Registry.REG_SZ),
    }
    assert main(["adbc", "show"]) == 0
    assert capsys.readouterr().out == f"{shown}{DRIVER.resolve()}\n"
    assert main(["adbc", "uninstall", "--system"]) == 0
    assert main(["adbc", "uninstall", "--system"]) == 1
    assert capsys.readouterr().err == f"colonnade: there is no {key}\n"


def test_a_path_with_a_drive_is_no_scheme() -> None:
    with pytest.raises(colonnade.InterfaceError, match=r"write sqlite:///C:\\data\\shop\.sqlite"):
        colonnade.connect(r"C:\data\shop.sqlite")


def test_requirements_of_other_systems_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        "colonnade-serve[serve]==1.2.3 ; (sys_platform == 'linux') and extra == 'serve'",
        "colonnade-serve[serve]==1.2.3 ; sys_platform == 'linux' and extra == 'all'",
        "tqdm>=4 ; extra == 'all'",
    ]
    monkeypatch.setattr(installation.metadata, "requires", lambda package: lines if package == "colonnade" else [])
    assert {*installation._ranges()} == {"serve", "all"}
    assert {*installation._ranges()["all"]} == {"tqdm", "colonnade-serve"}
    monkeypatch.setattr(installation, "PLATFORM", "win32")
    assert installation._ranges() == {"all": {"tqdm": ">=4"}}


def test_a_file_that_cannot_be_replaced_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "b").mkdir()
    with pytest.raises(OSError, match="directory") as raised:
        disk.replace(tmp_path / "a", tmp_path / "b")
    assert (raised.value.filename, raised.value.filename2) == (str(tmp_path / "b"), None)


def test_windows_waits_for_a_file_that_is_open_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a virus scanner opens new files."""
    refusals = [PermissionError(13, "Access is denied")] * 3
    replaced: list[Path] = []

    def refusing(self: Path, target: Path) -> None:
        if refusals:
            raise refusals.pop()
        replaced.append(target)

    monkeypatch.setattr(disk, "IS_WINDOWS", True)
    monkeypatch.setattr(disk, "_INTERVAL", 0)
    monkeypatch.setattr(Path, "replace", refusing)
    disk.replace(tmp_path / "a", tmp_path / "b")
    assert replaced == [tmp_path / "b"]
    refusals.extend([PermissionError(13, "Access is denied")] * 20)
    with pytest.raises(PermissionError, match=r"is it open in another program"):
        disk.replace(tmp_path / "a", tmp_path / "b")
