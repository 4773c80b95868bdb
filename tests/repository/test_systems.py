"""Which files know the operating system. The client runs on Linux, macOS and Windows, so its system calls, conditions
and paths are in few places, which the others use."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: The files, with what they know.
ROOMS = {
    "client/src/system.rs": "sockets, files, the user",
    "client/src/system/": "the same",
    "core/tcp/src/lib.rs": "what the kernel reports of a connection",
    "core/wire/src/clock.rs": "a thread's CPU time",
    "client/duckdb_api/src/symbols.rs": "libraries that the process has loaded",
}
TESTS = re.compile(r"#\[cfg\(test\)\]\s*(#\[[^\]]*\]\s*)*mod \w+ \{.*", re.S)
COMMENT = re.compile(r"^\s*//.*", re.M)
#: Crates of a system, conditions, and paths.
KNOWS = re.compile(
    r"\b(?:libc|rustix|windows_sys|libloading)::|\bstd::os::|\bcfg!?\([^)]*\b(?:unix|windows|target_os|target_family)\b"
    r"|\"(?:/etc|/tmp|/var|/proc|/usr|/home|~/)|\"(?:HOME|APPDATA|USERPROFILE)\""
)
SOURCES = sorted(
    path
    for folder in ("core", "client", "python")
    for path in (ROOT / folder).rglob("*.rs")
    if not {"tests", "benches", "target"} & set(path.relative_to(ROOT).parts) and not path.stem.endswith("tests")
)


def known(text: str) -> list[str]:
    """What a file's code knows of a system; its tests may know more."""
    return [found[0] for found in KNOWS.finditer(COMMENT.sub("", TESTS.sub("", text)))]


def test_the_search_finds_what_it_is_for() -> None:
    for line in (
        "libc::recv(",
        "use std::os::fd::AsFd;",
        "#[cfg(unix)]",
        "cfg!(windows)",
        '#[cfg(not(target_os = "linux"))]',
    ):
        assert known(line), line
    assert known('Path::new("/etc/hosts")') and known('lookup("HOME")')
    assert not known("// libc::recv") and not known("#[cfg(test)]\nmod tests {\n    use std::os::fd;\n}")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_these_files_know_the_system(path: Path) -> None:
    if not any(str(path.relative_to(ROOT)).startswith(room) for room in ROOMS):
        assert known(path.read_text()) == []


@pytest.mark.parametrize("room", ROOMS)
def test_the_list_is_not_longer_than_needed(room: str) -> None:
    place = ROOT / room
    files = place.rglob("*.rs") if place.is_dir() else [place]
    assert any(known(file.read_text()) for file in files)
