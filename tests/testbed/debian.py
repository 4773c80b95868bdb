"""Programs of other releases of Debian, in a folder of their own.

apt resolves and verifies the packages in a state of its own, so the system's packages stay as they are. The packages
are unpacked, and no script of theirs runs. patchelf makes the programs load the C library and the other libraries of
their release from the folder.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
#: Where packages put libraries, from the root of the folder.
_LIBRARIES = ("usr/lib/x86_64-linux-gnu", "usr/lib", "lib/x86_64-linux-gnu")
_LOADERS = (
    "usr/lib64/ld-linux-x86-64.so.2",
    "lib64/ld-linux-x86-64.so.2",
    "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
)


@functools.cache
def _mirror() -> str:
    """Where this machine gets Debian's packages from, by apt's own settings."""
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    mirrors = [uri for uri in found if uri.rstrip("/").endswith("/debian")]
    if not mirrors:
        raise LookupError("apt has no mirror of Debian: run apt-get update")
    return mirrors[0].rstrip("/")


@dataclass(frozen=True)
class Release:
    """A release of Debian. If it is only a part, `base` is the one with the packages that others depend on."""

    suite: str
    base: str | None = None
    architecture: str = "amd64"
    """Programs of another one are run by qemu's `qemu-aarch64 -L FOLDER`, and need no `relocate`."""

    def unpack(self, folder: Path, packages: Sequence[str], alone: Sequence[str] = ()) -> None:
        """Unpacks packages with all that they depend on, and others without, into `folder`. The first are those of
        `base` if there is one."""
        state = folder.with_name(f"{folder.name}.apt")
        shutil.rmtree(state, ignore_errors=True)
        environment = self._state(state)

        def apt(*arguments: str, where: Path = state) -> None:
            subprocess.run(["apt-get", "-q", "-q", *arguments], check=True, cwd=where, env=environment)

        apt("update")
        target = ("--target-release", self.base or self.suite)
        apt("--yes", "--download-only", "--no-install-recommends", *target, "install", *packages)
        archives = state / "cache/archives"
        if alone:
            apt("--target-release", self.suite, "download", *alone, where=archives)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for archive in sorted(archives.glob("*.deb")):
            subprocess.run(["dpkg-deb", "--extract", archive, folder], check=True)
        shutil.rmtree(state)

    def source(self, folder: Path, package: str) -> Path:
        """Downloads a source package into `folder`. Returns the original archive, which is not unpacked."""
        state = folder.with_name(f"{folder.name}.apt")
        shutil.rmtree(state, ignore_errors=True)
        environment = self._state(state)
        folder.mkdir(parents=True, exist_ok=True)
        for arguments in (["update"], ["--download-only", "source", package]):
            subprocess.run(["apt-get", "-q", "-q", *arguments], check=True, cwd=folder, env=environment)
        shutil.rmtree(state)
        [archive] = folder.glob(f"{package}_*.orig.tar.*")
        return archive

    def _state(self, state: Path) -> dict[str, str]:
        """Makes a state of apt in which nothing is installed. Returns the variables with which apt uses it."""
        for name in ("lists/partial", "cache/archives/partial", "etc"):
            (state / name).mkdir(parents=True)
        (state / "status").touch()
        suites = [suite for suite in (self.suite, self.base) if suite]
        mirror = _mirror()
        options = f"[arch={self.architecture} signed-by={_KEYRING}]"
        lines = (f"{kind} {options} {mirror} {suite} main\n" for suite in suites for kind in ("deb", "deb-src"))
        (state / "sources.list").write_text("".join(lines))
        settings = {
            "APT::Architecture": self.architecture,
            "APT::Architectures": self.architecture,
            "Dir::State": state,
            "Dir::State::lists": state / "lists",
            "Dir::State::status": state / "status",
            "Dir::Cache": state / "cache",
            "Dir::Etc::sourcelist": state / "sources.list",
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::Etc::preferencesparts": "/dev/null",
            "APT::Sandbox::User": "root",
        }
        file = state / "apt.conf"
        file.write_text("".join(f'{name} "{value}";\n' for name, value in settings.items()))
        return os.environ | {"APT_CONFIG": str(file), "DEBIAN_FRONTEND": "noninteractive"}


def relocate(root: Path, programs: Iterable[Path]) -> None:
    """Makes programs that were unpacked into `root` load that release's libraries. A copy of such a program works
    anywhere, because the paths are absolute."""
    loader = next(root / name for name in _LOADERS if (root / name).exists())
    libraries = ":".join(str(root / name) for name in _LIBRARIES if (root / name).is_dir())
    for program in programs:
        if is_elf(program):
            # As DT_RPATH it is also used for the libraries that libraries need, and for those that are loaded later.
            change = ["--set-interpreter", loader, "--force-rpath", "--set-rpath", libraries]
            subprocess.run(["patchelf", *change, program], check=True)


def is_elf(file: Path) -> bool:
    """Whether a file is a program or a library, and not a script or a link."""
    if file.is_symlink() or not file.is_file():
        return False
    with file.open("rb") as opened:
        return opened.read(4) == b"\x7fELF"
