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
from release import vsix

from tests.dist.shipped import DIST, DRIVER, PACKAGE, ROOT, SDIST, VERSION, WHEELS


def libraries(wheel: Path, folder: Path) -> list[Path]:
    """The libraries of a wheel, unpacked into a folder."""
    with zipfile.ZipFile(wheel) as packed:
        names = [name for name in packed.namelist() if name.endswith(".so")]
        return [Path(packed.extract(name, folder)) for name in names]


def test_checksums() -> None:
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=DIST, capture_output=True, check=False
    )
    assert done.returncode == 0, done
    named = {line.split("  ")[1] for line in (DIST / "SHA256SUMS").read_text().splitlines()}
    assert named == {path.name for path in DIST.iterdir()} - {"SHA256SUMS"}
    assert named >= {PACKAGE.name, DRIVER.name, SDIST.name, vsix.name()}


def test_the_extension_for_editors() -> None:
    with zipfile.ZipFile(DIST / vsix.name()) as packed:
        assert packed.testzip() is None
        names = packed.namelist()
        assert names[:2] == ["[Content_Types].xml", "extension.vsixmanifest"]
        package = json.loads(packed.read("extension/package.json"))
        assert package["version"] == VERSION and f"extension/{package['main'].removeprefix('./')}" in names
        assert all(str(ROOT).encode() not in packed.read(name) for name in names)


@pytest.mark.parametrize("wheel", WHEELS, ids=lambda path: path.name.split("-")[0])
def test_wheels(wheel: Path, tmp_path: Path) -> None:
    assert wheel.stat().st_size <= 15_000_000
    [library] = libraries(wheel, tmp_path)
    symbols = subprocess.run(["objdump", "-T", library], check=True, capture_output=True, text=True).stdout
    versions = {tuple(map(int, found.split("."))) for found in re.findall(r"\bGLIBC_([\d.]+)", symbols)}
    assert versions and max(versions) <= (2, 17)
    sections = subprocess.run(["objdump", "-h", library], check=True, capture_output=True, text=True).stdout
    assert ".debug_info" not in sections and ".gnu_debuglink" in sections


@pytest.mark.parametrize("wheel", WHEELS, ids=lambda path: path.name.split("-")[0])
def test_nothing_names_the_machine_that_built_it(wheel: Path) -> None:
    cargo = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
    with zipfile.ZipFile(wheel) as packed:
        for name in packed.namelist():
            contents = packed.read(name)
            assert str(ROOT).encode() not in contents, name
            assert f"{cargo}/".encode() not in contents, name


def test_debug_information(tmp_path: Path) -> None:
    """A debugger finds a function's line by the library and its file of debug information."""
    [archive] = DIST.glob("*-debug-*.tar")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    for wheel in WHEELS:
        [library] = libraries(wheel, tmp_path / wheel.name)
        debug = tmp_path / f"{library.name}.debug"
        link = subprocess.run(["readelf", "--string-dump=.gnu_debuglink", library], check=True, capture_output=True)
        assert debug.name.encode() in link.stdout
        lines = subprocess.run(
            ["readelf", "--debug-dump=decodedline", debug], check=True, capture_output=True, text=True
        ).stdout
        assert "client/src/" in lines or "source.rs" in lines


@pytest.mark.parametrize("wheel", WHEELS, ids=lambda path: path.name.split("-")[0])
def test_components(wheel: Path) -> None:
    name = f"{wheel.name.split('-')[0]}-{VERSION}.cdx.json"
    components = json.loads((DIST / name).read_text())
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


def test_the_source_distribution_has_what_a_build_needs() -> None:
    with tarfile.open(SDIST) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert names >= {"Cargo.lock", "LICENSE", "README.md", "pyproject.toml", "python/colonnade_build.py"}
    assert names >= {"python/colonnade/__init__.py", "client/src/lib.rs", "server/src/lib.rs", "wire/src/lib.rs"}
