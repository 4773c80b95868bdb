"""`make dist`, and `make dist-aarch64`, `-musl`, `-windows` and `-macos`: everything that is shipped, in `dist/` and
folders in it.

- The wheels of `colonnade`, of its server and of its ADBC driver for Linux with glibc 2.17 or newer (manylinux2014).
  zig links against that version of the C library, whatever this machine has, and compiles for other processors.
- The wheels of `colonnade` and of its ADBC driver for Linux with musl, for Windows (`windows.py`) and for macOS
  (`macos.py`).
- The debug information of their libraries, and a list of their components.
- With the wheels for Linux on x86-64: the source distributions and the extension for VS Code.
- SHA256SUMS of each folder.

The files do not name this machine's folders, and have the time of the last commit.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from . import sdist, versions, vsix, wheel
from .macos import macos
from .platforms import Platform, linux, musl
from .sbom import sbom
from .windows import WINDOWS

ROOT = Path(__file__).parents[2]
OUT = ROOT / "dist"
MACHINES = ("x86_64", "aarch64")
#: What is built, by the name of the wheel's project: the crate whose components it contains.
CRATES = {
    "colonnade": "colonnade-python",
    "colonnade_serve": "colonnade-bridge",
    "adbc_driver_colonnade": "colonnade-adbc",
}


ALL = (linux("x86_64"), linux("aarch64"), *map(musl, MACHINES), WINDOWS, *map(macos, MACHINES))
#: The platforms by the names of their folders. The first one's files are in `dist/` itself.
PLATFORMS = {platform.name: platform for platform in ALL}


def main() -> int:
    """Builds and checks. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.release.dist")
    parser.add_argument("--platform", choices=PLATFORMS, default="x86_64", help="what the wheels are for")
    platform = PLATFORMS[parser.parse_args().platform]
    moment = int(subprocess.check_output(["git", "log", "-1", "--format=%ct"], cwd=ROOT))
    environment = build_environment(platform, moment)
    is_own = platform.name == "x86_64"
    # `pip install dist/colonnade-*.whl` must find one wheel.
    out = OUT if is_own else OUT / platform.name
    out.mkdir(parents=True, exist_ok=True)
    # The folders in `dist/` are other platforms'.
    for path in out.iterdir():
        if path.is_file():
            path.unlink()
    wheels(platform, environment, moment, out)
    if is_own:
        for folder in platform.packages:
            sdist.build(folder, out, platform.target, environment, moment)
        vsix.pack(out / vsix.name(), moment)
    sums(out)
    return 0


def wheels(platform: Platform, environment: dict[str, str], moment: int, out: Path) -> None:
    """Builds the wheels of a platform with their lists of components and their debug information."""
    work = ROOT / "target/dist" / platform.name
    shutil.rmtree(work, ignore_errors=True)
    debug = work / "debug"
    debug.mkdir(parents=True)
    platform.prepare()
    packages = [package(folder, platform, work, environment) for folder in platform.packages]
    for one in (*packages, driver(platform, work, environment)):
        project, version = one.name.split("-")[:2]
        components = sbom(ROOT, CRATES[project], platform.target, moment)
        name = f"{project}-{version}-{platform.name}.cdx.json"
        (out / name).write_text(components)
        finished = wheel.finish(one, components, name, debug, out, moment, platform)
        print(platform.check(finished), flush=True)
    if platform.objcopy is None:
        return
    version = versions.current(ROOT)
    archive(debug, out / f"colonnade-{version}-debug-{platform.tag.partition('.')[0]}.tar", moment)


def build_environment(platform: Platform, moment: int) -> dict[str, str]:
    """The variables of the builds."""
    cargo = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
    folders = {cargo: "/cargo", str(ROOT): "/colonnade"}
    return os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYO3_PYTHON": sys.executable,
        "SOURCE_DATE_EPOCH": str(moment),
        **platform.variables,
        "RUSTFLAGS": " ".join(
            [*(f"--remap-path-prefix={path}={name}" for path, name in folders.items()), *platform.rustflags]
        ),
        f"CFLAGS_{platform.target.replace('-', '_')}": " ".join(
            f"-ffile-prefix-map={path}={name}" for path, name in folders.items()
        ),
    }


def package(folder: Path, platform: Platform, work: Path, environment: dict[str, str]) -> Path:
    """Builds the wheel of a package, with its debug information."""
    out = work / "packages" / folder.name
    command = ["maturin", "build", "--release", "--locked", *platform.maturin]
    command += ["--target", platform.target, "--strip", "false", "--out", str(out)]
    subprocess.run(command, cwd=folder, env=environment, check=True)
    [built] = out.glob("*.whl")
    return built


def driver(platform: Platform, work: Path, environment: dict[str, str]) -> Path:
    """Builds the wheel of the ADBC driver, with its debug information."""
    return driver_wheel(driver_library(platform, environment), platform, work, environment)


def driver_library(platform: Platform, environment: dict[str, str]) -> Path:
    """Compiles the ADBC driver. Returns its library."""
    # maturin and cargo-zigbuild name the linker differently, for which cargo would compile each other's crates again.
    folder = ROOT / ("target/driver" if "zigbuild" in platform.cargo else "target")
    command = [*platform.cargo, "--release", "--locked", "-p", CRATES["adbc_driver_colonnade"]]
    command += ["--target", platform.cargo_target, "--target-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    return folder / platform.target / "release" / platform.driver


def driver_wheel(library: Path, platform: Platform, work: Path, environment: dict[str, str]) -> Path:
    """Packs the driver's library into a wheel."""
    named = {"COLONNADE_DRIVER": str(library), "COLONNADE_DRIVER_PLATFORM": platform.tag}
    command = [sys.executable, "-m", "pip", "wheel", "--disable-pip-version-check", "--quiet", "--no-build-isolation"]
    command += ["--no-deps", "--wheel-dir", str(work / "driver"), str(ROOT / "client/adbc/python")]
    subprocess.run(command, env=environment | named, check=True)
    [built] = (work / "driver").glob("*.whl")
    return built


def archive(folder: Path, file: Path, moment: int) -> None:
    """Packs the files of a folder. Their sections are compressed already."""
    with tarfile.open(file, "w") as packed:
        sdist.add(packed, folder, sorted(path.name for path in folder.iterdir()), moment)


def sums(folder: Path) -> None:
    """Writes SHA256SUMS, which `sha256sum --check` reads."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (folder / "SHA256SUMS").write_text("".join(lines))


if __name__ == "__main__":
    sys.exit(main())
