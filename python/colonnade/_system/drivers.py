"""Where driver managers find drivers: ADBC's manifests (or entries of the registry, on Windows), and ODBC's manager.

<https://arrow.apache.org/adbc/current/format/driver_manifests.html>
"""

from __future__ import annotations

import ctypes.util
import importlib
import os
from pathlib import Path
from typing import Any

from .names import IS_MACOS, IS_WINDOWS

#: What separates the folders of ADBC_DRIVER_PATH.
SEPARATOR = os.pathsep
#: Below HKEY_LOCAL_MACHINE: Windows has no folder of manifests for all users.
_REGISTRY = "SOFTWARE\\ADBC\\Drivers"


def user_folder() -> Path:
    """The user's folder of manifests."""
    if IS_WINDOWS:
        data = os.environ.get("LOCALAPPDATA")
        return (Path(data) if data else Path.home() / "AppData/Local") / "ADBC/Drivers"
    if IS_MACOS:
        return Path.home() / "Library/Application Support/ADBC/Drivers"
    configuration = os.environ.get("XDG_CONFIG_HOME")
    return (Path(configuration) if configuration else Path.home() / ".config") / "adbc/drivers"


def system_folder() -> Path | None:
    """The folder of manifests for all users; None where the registry has them."""
    if IS_WINDOWS:
        return None
    return Path("/Library/Application Support/ADBC/Drivers" if IS_MACOS else "/etc/adbc/drivers")


def registry_key(driver: str) -> str:
    """The driver's key in the registry as Windows shows it."""
    return f"HKEY_LOCAL_MACHINE\\{_REGISTRY}\\{driver}"


def odbc_manager() -> str:
    """The library of ODBC's driver manager."""
    return "odbc32" if IS_WINDOWS else ctypes.util.find_library("odbc") or "libodbc.so.2"


def register(driver: str, name: str, library: Path, entrypoint: str) -> None:
    """Makes a driver known to all users of Windows. Administrators may do so."""
    winreg = _winreg()
    with winreg.CreateKey(winreg.HKEY_LOCAL_MACHINE, f"{_REGISTRY}\\{driver}") as key:
        winreg.SetValueEx(key, "manifest_version", 0, winreg.REG_DWORD, 1)
        for field, value in (("name", name), ("driver", str(library)), ("entrypoint", entrypoint)):
            winreg.SetValueEx(key, field, 0, winreg.REG_SZ, value)


def unregister(driver: str) -> None:
    """Removes it. Raises FileNotFoundError if there is none."""
    winreg = _winreg()
    winreg.DeleteKey(winreg.HKEY_LOCAL_MACHINE, f"{_REGISTRY}\\{driver}")


def registered(driver: str) -> str:
    """The library of a driver in the registry; empty if there is none."""
    winreg = _winreg()
    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, f"{_REGISTRY}\\{driver}") as key:
            return str(winreg.QueryValueEx(key, "driver")[0])
    except FileNotFoundError:
        return ""


def _winreg() -> Any:
    """The standard library's module, which exists on Windows only."""
    return importlib.import_module("winreg")
