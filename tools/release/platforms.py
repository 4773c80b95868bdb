"""What wheels are built for: a system and a processor, with the programs and options that this takes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import wheel

ROOT = Path(__file__).parents[2]
#: zig's name of the oldest C library on which the wheels for Linux run.
GLIBC = "2.17"


@dataclass(frozen=True)
class Platform:
    """One platform. Its files are in a folder of its name."""

    name: str
    #: Rust's name.
    target: str
    #: The wheels' tag, with the name that older versions of pip know first.
    tag: str
    #: The folders of the packages that maturin builds.
    packages: tuple[Path, ...]
    #: maturin's options.
    maturin: tuple[str, ...]
    #: The command that compiles the ADBC driver, up to its options, and cargo's target there.
    cargo: tuple[str, ...]
    cargo_target: str
    #: The file of the ADBC driver, as cargo calls it.
    driver: str
    #: What libraries' names end in.
    suffixes: tuple[str, ...]
    #: The program that splits libraries, and its options for debug information.
    objcopy: str
    debug_options: tuple[str, ...]
    #: Checks a wheel (`wheel.check`).
    check: Callable[[Path], str]
    #: More flags of rustc.
    rustflags: tuple[str, ...] = ()


def linux(machine: str) -> Platform:
    """Linux on a processor, which has the name that `uname -m` prints."""
    target = f"{machine}-unknown-linux-gnu"
    return Platform(
        name=machine,
        target=target,
        tag=f"manylinux2014_{machine}.manylinux_2_17_{machine}",
        packages=(ROOT, ROOT / "serve"),
        maturin=("--zig", "--compatibility", "manylinux2014"),
        cargo=("cargo-zigbuild", "zigbuild"),
        cargo_target=f"{target}.{GLIBC}",
        driver="libadbc_driver_colonnade.so",
        suffixes=(".so",),
        objcopy="objcopy" if os.uname().machine == machine else f"{machine}-linux-gnu-objcopy",
        debug_options=("--compress-debug-sections",),
        check=wheel.check,
    )
