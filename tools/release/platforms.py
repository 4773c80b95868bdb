"""What wheels are built for: a system and a processor, with the programs and options that this takes."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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
    #: The program that splits libraries, if debug information is kept, and its options for it.
    objcopy: str | None
    debug_options: tuple[str, ...]
    #: Checks a wheel (`wheel.check`).
    check: Callable[[Path], str]
    #: More flags of rustc, and more variables of the builds.
    rustflags: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    #: Changes a library before its debug information is split off.
    change: Callable[[Path], None] = lambda library: None
    #: Makes what the builds need.
    prepare: Callable[[], None] = lambda: None


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
        objcopy=_objcopy(machine),
        debug_options=("--compress-debug-sections",),
        check=wheel.check,
    )


def musl(machine: str) -> Platform:
    """Linux with musl, as Alpine, on a processor."""
    target = f"{machine}-unknown-linux-musl"
    return Platform(
        name=f"musl-{machine}",
        target=target,
        tag=f"musllinux_1_2_{machine}",
        packages=(ROOT,),
        maturin=("--zig", "--compatibility", "musllinux_1_2"),
        cargo=("cargo-zigbuild", "zigbuild"),
        cargo_target=target,
        driver="libadbc_driver_colonnade.so",
        suffixes=(".so",),
        objcopy=_objcopy(machine),
        debug_options=("--compress-debug-sections",),
        check=wheel.check_musl,
        # Rust links to musl statically, and an extension module uses the C library of its interpreter.
        rustflags=("-Ctarget-feature=-crt-static",),
        change=functools.partial(wheel.name_musl, machine=machine),
    )


def _objcopy(machine: str) -> str:
    return "objcopy" if os.uname().machine == machine else f"{machine}-linux-gnu-objcopy"
