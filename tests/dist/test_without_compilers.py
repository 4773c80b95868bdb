"""A build without Rust or without a C compiler says in one line what to do."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: How pip shows what a build's step has written.
OUTPUT = re.compile(r"─> \[1 lines of output\]\n\s*(?P<line>.*)\n\s*\[end of output\]")


def refused(project: Path, programs: Path, out: Path) -> str:
    """The line with which `pip wheel` fails, where the PATH has only these programs."""
    command = [sys.executable, "-m", "pip", "wheel", "--disable-pip-version-check", "--no-build-isolation", "--no-deps"]
    done = subprocess.run(
        [*command, "--wheel-dir", out, project],
        env={"PATH": str(programs), "HOME": str(out), "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 1
    found = OUTPUT.search(done.stderr)
    assert found is not None, done.stderr
    assert list(out.glob("*.whl")) == []
    return found["line"].strip()


def program(folder: Path, name: str, text: str, status: int = 0) -> None:
    """A program that writes a text and ends with a status, as a compiler does when it is asked for its version."""
    (folder / name).write_text(f"#!/bin/sh\necho '{text}'\nexit {status}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    return folder


def test_nothing_to_compile_with(programs: Path, tmp_path: Path) -> None:
    line = refused(ROOT, programs, tmp_path)
    assert line.startswith("colonnade is compiled here, and this is missing: Rust 1.91 or newer (there is no cargo ")
    assert "; a C compiler (there is no cc on the PATH" in line
    assert line.endswith("which needs no compiler")


@pytest.mark.parametrize(
    ("answer", "status", "missing"),
    [
        ("cargo 1.64.0 (387270bc7 2022-09-16)", 0, "Rust 1.91 or newer (there is 1.64)"),
        ("error: no default toolchain", 1, "cargo does not run)"),
        ("cargo 2.0.0", 0, "this is missing: a C compiler"),
    ],
)
def test_what_is_missing_is_named(programs: Path, tmp_path: Path, answer: str, status: int, missing: str) -> None:
    program(programs, "cargo", answer, status)
    assert missing in refused(ROOT, programs, tmp_path)


def test_rust_alone_is_missing(programs: Path, tmp_path: Path) -> None:
    program(programs, "cc", "cc 14")
    line = refused(ROOT, programs, tmp_path)
    assert "no cargo" in line and "C compiler" not in line


def test_the_adbc_driver(programs: Path, tmp_path: Path) -> None:
    line = refused(ROOT / "client/adbc/python", programs, tmp_path)
    assert line.startswith("adbc-driver-colonnade is compiled here")
    assert "cargo (Rust), cc (a C compiler)" in line
