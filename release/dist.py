"""`make dist`: everything that is shipped, in `dist/`.

- The wheels of `colonnade` and of its ADBC driver for Linux on x86-64 with glibc 2.17 or newer (manylinux2014). zig
  links against that version of the C library, whatever this machine has.
- The debug information of their libraries, and a list of their components.
- The source distribution, the extension for VS Code, and SHA256SUMS.

The files do not name this machine's folders, and have the time of the last commit.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from . import vsix, wheel
from .sbom import sbom

ROOT = Path(__file__).parents[1]
OUT = ROOT / "dist"
WORK = ROOT / "target/dist"
TARGET = "x86_64-unknown-linux-gnu"
#: zig's name of the oldest C library on which the wheels run, and the platform's tag.
GLIBC = "2.17"
PLATFORM = "manylinux2014_x86_64.manylinux_2_17_x86_64"
#: What is built, by the name of the wheel's project: the crate whose components it contains.
CRATES = {"colonnade": "colonnade-python", "adbc_driver_colonnade": "colonnade-adbc"}


def main() -> int:
    """Builds and checks. Returns the exit status."""
    moment = int(subprocess.check_output(["git", "log", "-1", "--format=%ct"], cwd=ROOT))
    environment = build_environment(moment)
    work = WORK
    shutil.rmtree(work, ignore_errors=True)
    shutil.rmtree(OUT, ignore_errors=True)
    debug = work / "debug"
    for folder in (debug, OUT):
        folder.mkdir(parents=True)
    built = [package(work, environment), driver(work, environment)]
    for one in built:
        project, version = one.name.split("-")[:2]
        components = sbom(ROOT, CRATES[project], TARGET, moment)
        name = f"{project}-{version}.cdx.json"
        (OUT / name).write_text(components)
        finished = wheel.finish(one, components, name, debug, OUT, moment)
        print(wheel.check(finished), flush=True)
    version = built[0].name.split("-")[1]
    archive(debug, OUT / f"colonnade-{version}-debug-{PLATFORM.partition('.')[0]}.tar", moment)
    subprocess.run(["maturin", "sdist", "--out", str(OUT)], cwd=ROOT, env=environment, check=True)
    vsix.pack(OUT / vsix.name(), moment)
    sums(OUT)
    return 0


def build_environment(moment: int) -> dict[str, str]:
    """The variables of the builds."""
    cargo = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
    folders = {cargo: "/cargo", str(ROOT): "/colonnade"}
    return os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYO3_PYTHON": sys.executable,
        "SOURCE_DATE_EPOCH": str(moment),
        "RUSTFLAGS": " ".join(f"--remap-path-prefix={path}={name}" for path, name in folders.items()),
        f"CFLAGS_{TARGET.replace('-', '_')}": " ".join(
            f"-ffile-prefix-map={path}={name}" for path, name in folders.items()
        ),
    }


def package(work: Path, environment: dict[str, str]) -> Path:
    """Builds the wheel of `colonnade`, with its debug information."""
    command = ["maturin", "build", "--release", "--locked", "--zig", "--compatibility", "manylinux2014"]
    command += ["--target", TARGET, "--strip", "false", "--out", str(work / "package")]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    [built] = (work / "package").glob("*.whl")
    return built


def driver(work: Path, environment: dict[str, str]) -> Path:
    """Builds the wheel of the ADBC driver, with its debug information."""
    return driver_wheel(driver_library(environment), work, environment)


def driver_library(environment: dict[str, str]) -> Path:
    """Compiles the ADBC driver. Returns its library."""
    # maturin and cargo-zigbuild name the linker differently, for which cargo would compile each other's crates again.
    folder = ROOT / "target/driver"
    command = ["cargo-zigbuild", "zigbuild", "--release", "--locked", "-p", CRATES["adbc_driver_colonnade"]]
    command += ["--target", f"{TARGET}.{GLIBC}", "--target-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    return folder / TARGET / "release/libadbc_driver_colonnade.so"


def driver_wheel(library: Path, work: Path, environment: dict[str, str]) -> Path:
    """Packs the driver's library into a wheel."""
    named = {"COLONNADE_DRIVER": str(library), "COLONNADE_DRIVER_PLATFORM": PLATFORM}
    command = [sys.executable, "-m", "pip", "wheel", "--disable-pip-version-check", "--quiet", "--no-build-isolation"]
    command += ["--no-deps", "--wheel-dir", str(work / "driver"), str(ROOT / "adbc/python")]
    subprocess.run(command, env=environment | named, check=True)
    [built] = (work / "driver").glob("*.whl")
    return built


def archive(folder: Path, file: Path, moment: int) -> None:
    """Packs the files of a folder. Their sections are compressed already."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = moment, 0, 0, "", ""
        return entry

    with tarfile.open(file, "w") as packed:
        for path in sorted(folder.iterdir()):
            packed.add(path, path.name, filter=plain)


def sums(folder: Path) -> None:
    """Writes SHA256SUMS, which `sha256sum --check` reads."""
    files = sorted(path for path in folder.iterdir() if path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (folder / "SHA256SUMS").write_text("".join(lines))


if __name__ == "__main__":
    sys.exit(main())
