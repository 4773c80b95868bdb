"""The source distribution, with a Cargo.lock that fits it.

maturin packs the crates that the package needs, and the Cargo.lock of all crates. Packagers build with `--locked`,
which refuses a lock file with crates that are not there. So those are taken out. What stays has the same versions.
"""

from __future__ import annotations

import gzip
import subprocess
import tarfile
import tempfile
from pathlib import Path


def build(package: Path, out: Path, target: str, environment: dict[str, str], moment: int) -> Path:
    """Builds that of a package in `out`, after the wheels for `target`. Its files have the time `moment`."""
    before = {*out.glob("*.tar.gz")}
    subprocess.run(["maturin", "sdist", "--out", str(out)], cwd=package, env=environment, check=True)
    [built] = {*out.glob("*.tar.gz")} - before
    with tempfile.TemporaryDirectory() as name:
        with tarfile.open(built) as packed:
            packed.extractall(name, filter="data")
            names = packed.getnames()
        [folder] = Path(name).iterdir()
        # Reading the workspace writes the lock file, if it does not fit. Offline, because other versions would have to
        # be downloaded. So would crates of other platforms.
        command = ["cargo", "metadata", "--offline", "--format-version=1", "--filter-platform", target]
        subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
        _pack(Path(name), names, built, moment)
    return built


def _pack(folder: Path, names: list[str], file: Path, moment: int) -> None:
    with (
        file.open("wb") as target,
        gzip.GzipFile("", "wb", fileobj=target, mtime=moment) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as packed,
    ):
        add(packed, folder, sorted(names), moment)


def add(packed: tarfile.TarFile, folder: Path, names: list[str], moment: int) -> None:
    """Adds files of a folder. What differs between machines is left out."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = moment, 0, 0, "", ""
        return entry

    for name in names:
        packed.add(folder / name, name, recursive=False, filter=plain)
