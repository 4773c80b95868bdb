"""Windows on x86-64: mingw links, and the wheels load only libraries that each Windows 10 has."""

from __future__ import annotations

import re
import subprocess
import tempfile
import zipfile
from pathlib import Path

from . import wheel
from .platforms import ROOT, Platform

MINGW = "x86_64-w64-mingw32"
#: The system's libraries that the wheels may load, in lower case. Each is in Windows 10 since its first version.
SYSTEM = {
    *("advapi32.dll", "bcrypt.dll", "bcryptprimitives.dll", "crypt32.dll", "kernel32.dll", "msvcrt.dll", "ncrypt.dll"),
    *("ntdll.dll", "secur32.dll", "userenv.dll", "ws2_32.dll", "api-ms-win-core-synch-l1-2-0.dll"),
}
#: The library of Python's stable ABI, which extension modules load.
PYTHON = "python3.dll"


def check(path: Path) -> str:
    """Checks the size, and what the libraries load. Returns a line about them.

    Raises:
        ValueError: The wheel is too large, or a library loads one that is not of the system.
    """
    size = wheel.check_size(path)
    with zipfile.ZipFile(path) as packed, tempfile.TemporaryDirectory() as folder:
        for name in packed.namelist():
            if not name.endswith((".pyd", ".dll")):
                continue
            allowed = SYSTEM | ({PYTHON} if name.endswith(".pyd") else set())
            if others := loaded(Path(packed.extract(name, folder))) - allowed:
                raise ValueError(f"{path.name}: {name} loads {', '.join(sorted(others))}, which Windows does not have")
    return f"{path.name}: {size / 1e6:.1f} MB, {path.stem.rpartition('-')[2]}"


def loaded(library: Path) -> set[str]:
    """The libraries that a library loads, in lower case."""
    dump = subprocess.run([f"{MINGW}-objdump", "-p", library], check=True, capture_output=True, text=True).stdout
    return {name.lower() for name in re.findall(r"DLL Name: (\S+)", dump)}


WINDOWS = Platform(
    name="windows",
    target="x86_64-pc-windows-gnu",
    tag="win_amd64",
    packages=(ROOT,),
    # The module links to python3.dll by its name, so the interpreter is only one of the right version.
    maturin=("--interpreter", "python3.11"),
    cargo=("cargo", "build"),
    cargo_target="x86_64-pc-windows-gnu",
    driver="adbc_driver_colonnade.dll",
    suffixes=(".pyd", ".dll"),
    objcopy=f"{MINGW}-objcopy",
    # Debuggers do not read compressed sections of Windows' format.
    debug_options=(),
    check=check,
    # The linker would write the time of the build.
    rustflags=("-Clink-arg=-Wl,--no-insert-timestamp",),
)
