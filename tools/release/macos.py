"""macOS without a Mac: what the linker needs of Apple's libraries, and a check of the libraries that it makes.

Apple's SDK may not be passed on, and the linker reads only two things of it: the path of each library on a Mac, and the
names in it. So `sdk` writes both into text files (`.tbd`, which Apple's own SDK has too). The names of the system's
library come with zig. Those of the frameworks are in `FRAMEWORKS`: the linker refuses a program that uses another one.

The linker is LLVM's, which comes with Rust. zig's own exports every function of Rust's libraries, keeps all that they
use, and names the folder of the build in the library.
"""

from __future__ import annotations

import functools
import hashlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import lief
import ziglang

from . import wheel
from .platforms import ROOT, Platform

#: The oldest macOS on which the wheels run, by processor: the oldest that Rust supports. macOS 11 is the first on ARM.
MACOS = {"aarch64": (11, 0), "x86_64": (10, 12)}
#: Apple's names of the processors.
PROCESSORS = {"aarch64": "arm64", "x86_64": "x86_64"}
#: What rustls-native-certs calls to read the certificates of the keychains. All names are in macOS 10.12 and before.
#: Before another name is added, see Apple's documentation. An older system cannot load a library that uses it.
FRAMEWORKS = {
    "CoreFoundation": (
        "CFArrayCreate",
        "CFArrayGetCount",
        "CFArrayGetValueAtIndex",
        "CFDataGetBytePtr",
        "CFDataGetLength",
        "CFDictionaryGetValueIfPresent",
        "CFEqual",
        "CFNumberGetValue",
        "CFRelease",
        "CFRetain",
        "CFStringCreateWithBytesNoCopy",
        "CFStringGetBytes",
        "CFStringGetCStringPtr",
        "CFStringGetLength",
        "kCFAllocatorDefault",
        "kCFAllocatorNull",
        "kCFTypeArrayCallBacks",
    ),
    "Security": (
        "SecCertificateCopyData",
        "SecCopyErrorMessageString",
        "SecTrustSettingsCopyCertificates",
        "SecTrustSettingsCopyTrustSettings",
    ),
}
#: The only libraries that a wheel's library may need. Each Mac has them.
ALLOWED = {
    "/usr/lib/libSystem.B.dylib",
    *(f"/System/Library/Frameworks/{name}.framework/Versions/A/{name}" for name in FRAMEWORKS),
}

_STUB = """\
--- !tapi-tbd
tbd-version: 4
targets: [ x86_64-macos, arm64-macos ]
install-name: '{path}'
exports:
  - targets: [ x86_64-macos, arm64-macos ]
    symbols: [ {names} ]
...
"""
#: Rust's compiler calls its linker directly, and maturin writes options for a C compiler. A library without a name gets
#: one, because the linker's own is the path of the build.
_LINKER = """\
#!{python}
import os, sys
words = [word for one in sys.argv[1:] for word in (one[4:].split(",") if one.startswith("-Wl,") else [one])]
if "-install_name" not in words:
    words += ["-install_name", "@rpath/" + os.path.basename(words[words.index("-o") + 1])]
os.execv("{lld}", ["rust-lld", *words])
"""


def macos(machine: str) -> Platform:
    """macOS on a processor, which has the name that Rust gives it."""
    target = f"{machine}-apple-darwin"
    name = f"macos-{machine}"
    sdk = ROOT / "target/dist" / name / "sdk"
    # -S and -x leave out names of files with debug information, which stay on this machine, and of local symbols.
    linked = ("-syslibroot", sdk, "-dead_strip", "-dead_strip_dylibs", "-S", "-x")
    return Platform(
        name=name,
        target=target,
        tag=tag(machine),
        packages=(ROOT,),
        maturin=("--zig",),
        cargo=("cargo-zigbuild", "zigbuild"),
        cargo_target=target,
        driver="libadbc_driver_colonnade.dylib",
        suffixes=(".so", ".dylib"),
        # A signature is for what the linker has written.
        objcopy=None,
        debug_options=(),
        check=functools.partial(check, machine=machine),
        rustflags=(
            f"-Clinker={sdk / 'linker'}",
            "-Clinker-flavor=ld64.lld",
            *(f"-Clink-arg={word}" for word in linked),
        ),
        variables={"MACOSX_DEPLOYMENT_TARGET": ".".join(map(str, MACOS[machine]))},
        prepare=functools.partial(write_sdk, sdk),
    )


def tag(machine: str) -> str:
    """The tag of wheels."""
    major, minor = MACOS[machine]
    return f"macosx_{major}_{minor}_{PROCESSORS[machine]}"


def write_sdk(folder: Path) -> None:
    """Writes the linker's program, and what it needs of Apple's SDK, into a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    libraries = folder / "usr/lib"
    libraries.mkdir(parents=True)
    for name, symbols in FRAMEWORKS.items():
        place = folder / f"System/Library/Frameworks/{name}.framework"
        place.mkdir(parents=True)
        path = f"/System/Library/Frameworks/{name}.framework/Versions/A/{name}"
        (place / f"{name}.tbd").write_text(_stub(path, [f"_{symbol}" for symbol in symbols]))
    system = _stub("/usr/lib/libSystem.B.dylib", _names_of_the_system())
    for name in ("System", "c", "m"):
        (libraries / f"lib{name}.tbd").write_text(system)
    # Rust's standard library asks for it, and uses nothing of it.
    (libraries / "libiconv.tbd").write_text(_stub("/usr/lib/libiconv.2.dylib", ["_iconv"]))
    root = subprocess.check_output(["rustc", "--print", "sysroot"], text=True).strip()
    [lld] = Path(root).glob("lib/rustlib/*/bin/rust-lld")
    linker = folder / "linker"
    linker.write_text(_LINKER.format(python=sys.executable, lld=lld))
    linker.chmod(0o755)


def _stub(path: str, names: list[str]) -> str:
    return _STUB.format(path=path, names=", ".join(f"'{name}'" for name in names))


def _names_of_the_system() -> list[str]:
    """The names in libSystem. zig's file has a part for each library in it, and processors that LLVM does not know."""
    text = (Path(ziglang.__path__[0]) / "lib/libc/darwin/libSystem.tbd").read_text()
    lists = re.findall(r"symbols: +\[([^\]]*)\]", text)
    names = {name.strip().strip("'\"") for one in lists for name in one.split(",")}
    # `$ld$…` are orders to Apple's linker for old systems.
    return sorted(name for name in names if name and not name.startswith("$ld$"))


def check(path: Path, machine: str) -> str:
    """Checks the size of a wheel, and its library: the processor, the oldest macOS that it says it needs, the libraries
    and names that it uses, its signature, and that the wheel's tag says the same. Returns a line about them.

    Raises:
        ValueError: Something is not as it should be.
    """
    size = wheel.check_size(path)
    if not path.stem.endswith(f"-{tag(machine)}"):
        raise ValueError(f"{path.name} should be for {tag(machine)}")
    with zipfile.ZipFile(path) as packed, tempfile.TemporaryDirectory() as folder:
        names = [name for name in packed.namelist() if name.endswith((".so", ".dylib"))]
        if len(names) != 1:
            raise ValueError(f"{path.name} should have one library, not {names}")
        try:
            _check(Path(packed.extract(names[0], folder)), machine)
        except ValueError as error:
            raise ValueError(f"{path.name}, {names[0]}: {error}") from error
    return f"{path.name}: {size / 1e6:.1f} MB, {tag(machine)}"


def _check(library: Path, machine: str) -> None:
    read = lief.MachO.parse(library)
    if read is None or len(read) != 1:
        raise ValueError("not a library for one processor")
    [binary] = read
    if binary.header.cpu_type.name != PROCESSORS[machine].upper():
        raise ValueError(f"for {binary.header.cpu_type.name}")
    said = binary.build_version.minos if binary.has_build_version else binary.version_min.version
    if tuple(said[:2]) != MACOS[machine]:
        raise ValueError(f"for macOS {said}, and the tag says {tag(machine)}")
    needed = {one.name for one in binary.libraries if one.command.name != "ID_DYLIB"}
    if not needed <= ALLOWED:
        raise ValueError(f"needs {sorted(needed - ALLOWED)}")
    [own] = [one.name for one in binary.libraries if one.command.name == "ID_DYLIB"]
    if not own.startswith("@rpath/"):
        raise ValueError(f"is named {own}, a path of the machine that built it")
    # Names without a library are looked up when it is loaded: those of the interpreter.
    loose = {one.symbol.name for one in binary.bindings if one.symbol and not one.has_library}
    if strange := sorted(name for name in loose if not name.startswith(("_Py", "__Py"))):
        raise ValueError(f"uses names of no library: {strange}")
    if binary.has_code_signature:
        check_signature(library.read_bytes(), binary.code_signature.data_offset)
    elif machine == "aarch64":  # for x86-64, linkers sign nothing
        raise ValueError("has no signature, and Macs with ARM load no library without one")


def check_signature(contents: bytes, start: int) -> None:
    """Checks the hash of each page of a library against its signature, which begins at `start`. A change of the file
    after it was linked makes it invalid, and the system ends a process that has loaded such a page.

    The layout is that of `CS_SuperBlob` and `CS_CodeDirectory` in Apple's `osfmk/kern/cs_blobs.h`, in network order.

    Raises:
        ValueError: The signature is of another kind, or for other contents.
    """
    magic, _, count = struct.unpack_from(">3I", contents, start)
    blobs = dict(struct.unpack_from(">2I", contents, start + 12 + 8 * index) for index in range(count))
    if magic != 0xFADE0CC0 or 0 not in blobs:
        raise ValueError("its signature cannot be read")
    directory = start + blobs[0]
    fields = struct.unpack_from(">9I4B", contents, directory)
    hashes, pages, limit, size, kind, page_bits = fields[4], fields[7], fields[8], fields[9], fields[10], fields[12]
    if (fields[0], size, kind, limit) != (0xFADE0C02, 32, 2, start):
        raise ValueError("its signature is not one of SHA-256 for the whole library")
    step = 1 << page_bits
    for page in range(pages):
        there = contents[directory + hashes + 32 * page :][:32]
        if hashlib.sha256(contents[page * step : min((page + 1) * step, limit)]).digest() != there:
            raise ValueError(f"its signature does not fit page {page}")
    if pages != -(-limit // step):
        raise ValueError("its signature is for a part of it")
