"""The libraries that people install have the same features of their common dependencies, so that one build compiles
each dependency once (core/features/Cargo.toml)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: The crates that become libraries, where each is built.
EVERYWHERE = ("colonnade-python", "colonnade-adbc")
LIBRARIES = {
    "x86_64-unknown-linux-gnu": (*EVERYWHERE, "colonnade-bridge"),
    "aarch64-unknown-linux-musl": (*EVERYWHERE, "colonnade-bridge"),
    "x86_64-pc-windows-gnu": EVERYWHERE,
    "aarch64-apple-darwin": EVERYWHERE,
}


def features(library: str, target: str) -> dict[str, str]:
    """The features of each crate in a library, and of those that run while it is compiled."""
    command = ["cargo", "tree", "--locked", "--package", library, "--target", target, "--edges", "normal,build"]
    command += ["--format", "{p}|{f}", "--prefix", "none", "--no-dedupe"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    pairs = (line.split("|") for line in printed.splitlines())
    return {" ".join(package.split(" ")[:2]): found for package, found in pairs}


@pytest.mark.parametrize("target", LIBRARIES)
def test_each_dependency_is_compiled_once(target: str) -> None:
    first, *others = (features(library, target) for library in LIBRARIES[target])
    for other in others:
        differing = {package for package in first.keys() & other.keys() if first[package] != other[package]}
        assert not differing, "core/features/Cargo.toml lacks features of these"
