"""A CPython for Windows that wine runs, with packages for Windows.

    python -m tests.testbed.wine program.py …     # runs a program; without one, only prepares

The interpreter is python.org's build in an archive of Maven Central. It lacks `python3.dll`, which modules of the
stable ABI load, and wine 8 lacks two libraries of Windows 10; they are made or taken as `_complete` says. Everything is
below `target/windows/` and stays there.

wine does not show how fast something is, has its own sockets and files, and has no time zones for pyarrow (icu.dll).
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePath
from typing import IO

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "target/windows"
#: Changes with what is made of the same downloads.
STATE = "1"
VERSION = "3.11"
COMPILER = "x86_64-w64-mingw32-gcc"
#: What pip installs: their versions are those of the tests on Linux.
VERSIONS = ROOT / "tools/requirements/test.txt"
PACKAGES = ("numpy", "pandas", "pyarrow", "polars", "duckdb", "tqdm", "tzdata")
PACKAGES += ("adbc-driver-manager", "adbc-driver-postgresql", "adbc-driver-sqlite", "arrow-odbc")
PACKAGES += ("pytest", "pytest-timeout", "hypothesis", "psycopg[binary]", "psycopg2-binary", "SQLAlchemy", "shtab")
PACKAGES += ("cryptography", "psutil", "execnet", "cloudpickle", "zstandard")
PIP = ("--disable-pip-version-check", "--quiet", "--only-binary=:all:", "--platform=win_amd64")
PIP += ("--implementation=cp", f"--python-version={VERSION}")


@dataclass(frozen=True)
class Archive:
    """An archive of Maven Central, and what is taken from it."""

    coordinates: str
    sha256: str

    def fetch(self) -> Path:
        folder = FOLDER / "downloads"
        folder.mkdir(parents=True, exist_ok=True)
        _, artifact, version, _, classifier = self.coordinates.split(":")
        file = folder / f"{artifact}-{version}-{classifier}.jar"
        if not file.exists():
            maven = [
                "mvn",
                "--quiet",
                "--batch-mode",
                f"org.apache.maven.plugins:maven-dependency-plugin:{PLUGIN}:copy",
            ]
            options = [f"-Dartifact={self.coordinates}", f"-DoutputDirectory={folder}"]
            subprocess.run([*maven, *options], check=True, stdout=sys.stderr)
        found = hashlib.sha256(file.read_bytes()).hexdigest()
        if found != self.sha256:
            raise RuntimeError(f"{file} has the checksum {found}, and not {self.sha256}")
        return file


PLUGIN = "3.6.1"
PYTHON = Archive(
    "org.bytedeco:cpython:3.11.3-1.5.9:jar:windows-x86_64",
    "3263a50b256447bb7b9e604d6587627e419891370fc33b94469e6a06ff4de834",
)
#: It has Microsoft's C library, of which wine's own lacks functions that numpy calls.
C_LIBRARY = Archive(
    "org.openjfx:javafx-graphics:21.0.2:jar:win",
    "55947b98e30424b831f8e1f0e80656355d244f2d57df679841a2e07cbbd84729",
)
C_LIBRARIES = ("ucrtbase.dll", "vcruntime140.dll", "vcruntime140_1.dll")

#: A library of forwarded names has no code.
FORWARDER = """\
int DllMainCRTStartup(void *library, unsigned long reason, void *reserved) {
    (void)library; (void)reason; (void)reserved;
    return 1;
}
"""
#: Rust's standard library takes random numbers from here.
RANDOM_NUMBERS = """\
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG length);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length) {
    while (length > 0) {
        ULONG part = length > 0x40000000 ? 0x40000000 : (ULONG)length;
        if (!SystemFunction036(data, part)) return FALSE;
        data += part;
        length -= part;
    }
    return TRUE;
}
"""


class Windows:
    """A Python for Windows with packages. Programs have no standard input, and pipes for the other streams."""

    def __init__(self, packages: Sequence[Path] = ()) -> None:
        """`packages` are folders of packages in addition to this module's own, and are searched before them."""
        self.python = interpreter()
        self.packages = [*packages, own_packages()]

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """The variables of a program."""
        return os.environ | prefix() | {"PYTHONPATH": windows_path(*self.packages)} | (dict(more) if more else {})

    def run(self, *arguments: object, env: Mapping[str, str] | None = None, timeout: float = 600) -> str:
        """Runs Python with arguments. Returns what it wrote; a failure shows it."""
        status, out, err = self.ended(*arguments, env=env, timeout=timeout)
        assert status == 0, f"status {status}\n{out[-3000:]}\n{err[-3000:]}"
        return out

    def ended(
        self, *arguments: object, env: Mapping[str, str] | None = None, timeout: float = 600
    ) -> tuple[int, str, str]:
        """Runs Python with arguments, in the folder of this checkout. Returns its status and what it wrote."""
        process = subprocess.Popen(
            ["wine", str(self.python), *map(str, arguments)],
            env=self.environment(env),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        readers = [_Reader(stream) for stream in (process.stdout, process.stderr) if stream is not None]
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        out, err = (reader.written() for reader in readers)
        return status, out, err


class _Reader:
    """Reads what a program writes, until it has ended. Wine's own processes live longer, and have the same pipe."""

    #: Seconds after the program's end, for what is in the pipe.
    LAST = 5

    def __init__(self, stream: IO[bytes]) -> None:
        self._parts: list[bytes] = []
        self._stream = stream
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with self._stream as stream:
            while part := os.read(stream.fileno(), 1 << 16):
                self._parts.append(part)

    def written(self) -> str:
        self._thread.join(self.LAST)
        return b"".join(self._parts).decode("utf-8", "replace").replace("\r\n", "\n")


def windows_path(*paths: PurePath) -> str:
    """Paths of this system as programs for Windows see them, in the form of their variable PATH."""
    return ";".join(f"Z:{path}".replace("/", "\\") for path in paths)


def prefix() -> dict[str, str]:
    """The variables with which wine finds this machine's Windows."""
    overrides = "mscoree=d;mshtml=d;ucrtbase=n,b"
    return {"WINEPREFIX": str(FOLDER / "prefix"), "WINEDEBUG": "-all", "WINEDLLOVERRIDES": overrides}


@cache
def interpreter() -> Path:
    """The interpreter, which is made on first use.

    Raises:
        LookupError: A program is missing.
    """
    for program, package in (("wine", "wine wine64"), ("mvn", "maven"), (COMPILER, "gcc-mingw-w64-x86-64-posix")):
        if shutil.which(program) is None:
            raise LookupError(f"{program} is needed: apt-get install {package}")
    with _made_once("interpreter", STATE) as is_needed:
        if is_needed:
            for name in ("prefix", "python"):
                shutil.rmtree(FOLDER / name, ignore_errors=True)
            _unpack()
            for command in (["wineboot", "--init"], ["wine", "winecfg", "-v", "win10"]):
                _quiet(command)
            _complete()
    return FOLDER / "python/python.exe"


@cache
def own_packages() -> Path:
    """The folder with the packages."""
    folder = FOLDER / "packages"
    versions = hashlib.sha256(VERSIONS.read_bytes() + repr(PACKAGES).encode()).hexdigest()
    with _made_once("packages", versions) as is_needed:
        if is_needed:
            shutil.rmtree(folder, ignore_errors=True)
            install(folder, *PACKAGES, "--constraint", VERSIONS)
    return folder


def install(folder: Path, *wanted: object) -> None:
    """Installs packages for Windows into a folder. pip runs on this system."""
    pip = [sys.executable, "-m", "pip", "install", *PIP, "--target", str(folder), *map(str, wanted)]
    subprocess.run(pip, check=True, timeout=1200)


def _unpack() -> None:
    inside = "org/bytedeco/cpython/windows-x86_64/"
    with zipfile.ZipFile(PYTHON.fetch()) as archive:
        for name in archive.namelist():
            if name.startswith(inside) and not name.endswith("/"):
                file = FOLDER / "python" / name.removeprefix(inside)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(archive.read(name))
    with zipfile.ZipFile(C_LIBRARY.fetch()) as archive:
        for name in C_LIBRARIES:
            (FOLDER / "python" / name).write_bytes(archive.read(name))


def _complete() -> None:
    """Makes `python3.dll`, which forwards the names of the stable ABI, and `bcryptprimitives.dll`."""
    python = FOLDER / "python"
    library = f"python{VERSION.replace('.', '')}"
    listed = subprocess.run(
        ["x86_64-w64-mingw32-nm", python / "libs/python3.lib"], check=True, capture_output=True, text=True
    ).stdout
    stable = {line.split()[-1].removeprefix("__imp_") for line in listed.splitlines() if " __imp_" in line}
    exported = subprocess.run(
        ["x86_64-w64-mingw32-objdump", "-p", python / f"{library}.dll"], check=True, capture_output=True, text=True
    ).stdout.partition("[Ordinal/Name Pointer] Table")[2]
    names = stable & {line.split()[-1] for line in exported.splitlines() if line.startswith("\t[")}
    sources = FOLDER / "sources"
    sources.mkdir(exist_ok=True)
    (sources / "python3.c").write_text(FORWARDER)
    (sources / "python3.def").write_text("EXPORTS\n" + "".join(f"{name}={library}.{name}\n" for name in sorted(names)))
    (sources / "random.c").write_text(RANDOM_NUMBERS)
    forward = ["-nostdlib", sources / "python3.c", sources / "python3.def", "-Wl,--entry,DllMainCRTStartup"]
    subprocess.run([COMPILER, "-shared", "-o", python / "python3.dll", *forward], check=True)
    target = FOLDER / "prefix/drive_c/windows/system32/bcryptprimitives.dll"
    subprocess.run([COMPILER, "-shared", "-O2", "-o", target, sources / "random.c", "-ladvapi32"], check=True)


def _quiet(command: list[str]) -> None:
    done = subprocess.run(
        command, env=os.environ | prefix(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")


@contextlib.contextmanager
def _made_once(what: str, state: str) -> Iterator[bool]:
    """Whether the block has to make something that is to be in this state. Another process waits for it."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    mark = FOLDER / f"{what}.state"
    with (FOLDER / f"{what}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        is_needed = not mark.exists() or mark.read_text() != state
        yield is_needed
        mark.write_text(state)


def main() -> int:
    """Runs a program. Returns its status."""
    status, out, err = Windows().ended(*sys.argv[1:] or ["-c", "import sys; print(sys.version)"])
    sys.stdout.write(out)
    sys.stderr.write(err)
    return status


if __name__ == "__main__":
    sys.exit(main())
