"""The files of `make dist`: their checksums, their platform, and what is in them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.dist.shipped import DIST, IS_BUILT, OTHER_WHEELS, ROOT, SDIST, SERVER_SDIST, VERSION, WHEELS
from tools.release import vsix

ALL_WHEELS = (*WHEELS, *OTHER_WHEELS)
needs_dist = pytest.mark.skipif(not IS_BUILT, reason="make dist has not run")


def machine(wheel: Path) -> str:
    """The processor of a wheel."""
    return "aarch64" if wheel.stem.endswith(("aarch64", "arm64")) else "x86_64"


def name_of(wheel: Path) -> str:
    """The name of a wheel's tests."""
    return f"{wheel.name.split('-')[0]}-{wheel.stem.split('-')[-1].split('.')[0]}"


def libraries(wheel: Path, folder: Path) -> list[Path]:
    """The libraries of a wheel, unpacked into a folder."""
    with zipfile.ZipFile(wheel) as packed:
        names = [name for name in packed.namelist() if name.endswith((".so", ".dylib"))]
        return [Path(packed.extract(name, folder)) for name in names]


@pytest.mark.parametrize("folder", sorted({wheel.parent for wheel in ALL_WHEELS}), ids=lambda folder: folder.name)
def test_checksums(folder: Path) -> None:
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=folder, capture_output=True, check=False
    )
    assert done.returncode == 0, done
    named = {line.split("  ")[1] for line in (folder / "SHA256SUMS").read_text().splitlines()}
    assert named == {path.name for path in folder.iterdir() if path.is_file()} - {"SHA256SUMS"}
    assert named >= {wheel.name for wheel in ALL_WHEELS if wheel.parent == folder}
    assert folder != DIST or named >= {SDIST.name, SERVER_SDIST.name, vsix.name()}


@needs_dist
def test_the_extension_for_editors() -> None:
    with zipfile.ZipFile(DIST / vsix.name()) as packed:
        assert packed.testzip() is None
        names = packed.namelist()
        assert names[:2] == ["[Content_Types].xml", "extension.vsixmanifest"]
        package = json.loads(packed.read("extension/package.json"))
        assert package["version"] == VERSION and f"extension/{package['main'].removeprefix('./')}" in names
        assert all(str(ROOT).encode() not in packed.read(name) for name in names)


@pytest.mark.parametrize("wheel", WHEELS, ids=name_of)
def test_wheels(wheel: Path, tmp_path: Path) -> None:
    assert wheel.stat().st_size <= 15_000_000
    [library] = libraries(wheel, tmp_path)
    # readelf reads the libraries of all processors.
    read = ["readelf", "--wide", "--file-header", "--version-info", "--section-headers", library]
    shown = subprocess.run(read, check=True, capture_output=True, text=True).stdout
    assert {"x86_64": "X86-64", "aarch64": "AArch64"}[machine(wheel)] in shown
    versions = {tuple(map(int, found.split("."))) for found in re.findall(r"\bGLIBC_([\d.]+)", shown)}
    assert versions and max(versions) <= (2, 17)
    assert ".debug_info" not in shown and ".gnu_debuglink" in shown


@pytest.mark.parametrize("wheel", OTHER_WHEELS, ids=name_of)
def test_wheels_for_other_systems(wheel: Path, tmp_path: Path) -> None:
    """`tools/release/dist.py` checks what they need, with what the environment of releases has."""
    assert wheel.stat().st_size <= 15_000_000
    [library] = libraries(wheel, tmp_path)
    head = library.read_bytes()[:20]
    # The kind of file and the processor: `e_machine` of ELF, `cputype` of Mach-O.
    is_macho = head[:4] == b"\xcf\xfa\xed\xfe"
    assert is_macho or head[:4] == b"\x7fELF"
    assert is_macho == ("-macosx_" in wheel.name)
    processor = int.from_bytes(head[4:8] if is_macho else head[18:20], "little")
    assert processor == {"x86_64": (62, 0x01000007), "aarch64": (183, 0x0100000C)}[machine(wheel)][is_macho]


@pytest.mark.parametrize("wheel", ALL_WHEELS, ids=name_of)
def test_nothing_names_the_machine_that_built_it(wheel: Path) -> None:
    cargo = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
    with zipfile.ZipFile(wheel) as packed:
        for name in packed.namelist():
            contents = packed.read(name)
            assert str(ROOT).encode() not in contents, name
            assert f"{cargo}/".encode() not in contents, name


def test_debug_information(tmp_path: Path) -> None:
    """A debugger finds a function's line by the library and its file of debug information."""
    for wheel in WHEELS:
        folder = tmp_path / machine(wheel)
        [archive] = wheel.parent.glob("*-debug-*.tar")
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        [library] = libraries(wheel, tmp_path / wheel.name)
        debug = folder / f"{library.parent.name}-{library.name}.debug"
        link = subprocess.run(["readelf", "--string-dump=.gnu_debuglink", library], check=True, capture_output=True)
        assert debug.name.encode() in link.stdout
        lines = subprocess.run(
            ["readelf", "--debug-dump=decodedline", debug], check=True, capture_output=True, text=True
        ).stdout
        assert "client/src/" in lines or "source.rs" in lines


@pytest.mark.parametrize("wheel", ALL_WHEELS, ids=name_of)
def test_components(wheel: Path) -> None:
    name = f"{wheel.name.split('-')[0]}-{VERSION}-{'x86_64' if wheel.parent == DIST else wheel.parent.name}.cdx.json"
    components = json.loads((wheel.parent / name).read_text())
    with zipfile.ZipFile(wheel) as packed:
        [inside] = [entry for entry in packed.namelist() if "/sboms/" in entry]
        assert json.loads(packed.read(inside)) == components
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    locked = {(one["name"], one["version"]): one.get("checksum") for one in lock}
    listed = {
        (one["name"], one["version"]): one["hashes"][0]["content"] if "hashes" in one else None
        for one in components["components"]
    }
    assert len(listed) > 50
    assert listed.items() <= locked.items()
    assert {"arrow-array", "colonnade-client", "rustls"} <= {name for name, _ in listed}
    assert not {"pytest", "proptest", "cc"} & {name for name, _ in listed}
    assert all(one["licenses"] for one in components["components"])


def names_in(sdist: Path) -> set[str]:
    with tarfile.open(sdist) as packed:
        return {name.partition("/")[2] for name in packed.getnames()}


@needs_dist
def test_the_source_distributions_have_what_a_build_needs() -> None:
    names = names_in(SDIST)
    assert names >= {"Cargo.lock", "LICENSE", "README.md", "pyproject.toml", "python/colonnade_build.py"}
    assert names >= {"python/colonnade/__init__.py", "client/src/lib.rs", "core/wire/src/lib.rs"}
    assert not [name for name in names if name.startswith("serve/")]
    names = names_in(SERVER_SDIST)
    assert names >= {"Cargo.lock", "pyproject.toml", "serve/protocol/src/lib.rs", "client/src/lib.rs"}
