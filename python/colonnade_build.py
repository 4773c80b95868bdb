"""The build backend of the package: maturin's, after a check that there is something to compile with.

Without the check, maturin would download a Rust toolchain by itself, and a missing C compiler would become an error of
some crate after minutes. pip calls these functions (PEP 517, PEP 660) and shows what they write.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import maturin
from maturin import build_sdist, get_requires_for_build_sdist

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

Settings = Mapping[str, Any] | None


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """pip calls this first."""
    require_compilers()
    return maturin.get_requires_for_build_wheel(config_settings)


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Settings = None) -> str:
    require_compilers()
    return maturin.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    require_compilers()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    require_compilers()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


get_requires_for_build_editable = get_requires_for_build_wheel
prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def require_compilers() -> None:
    """Ends the build with one line that says what to do, if Rust or a C compiler is missing."""
    missing = [*_missing_rust(), *_missing_c()]
    if missing:
        sys.exit(
            f"colonnade is compiled here, and this is missing: {'; '.join(missing)}. Install it, or install the file "
            "colonnade-….whl of a release or of `make dist`, which needs no compiler"
        )


def _missing_rust() -> list[str]:
    needed = _rust_version()
    cargo = shutil.which(os.environ.get("CARGO", "cargo"))
    if cargo is None:
        return [f"Rust {needed} or newer (there is no cargo on the PATH)"]
    # rustup's cargo exists without a toolchain too.
    done = subprocess.run([cargo, "--version"], capture_output=True, text=True, check=False)
    found = re.match(r"cargo (\d+)\.(\d+)", done.stdout)
    if done.returncode != 0 or found is None:
        return [f"Rust {needed} or newer ({cargo} does not run)"]
    if (int(found[1]), int(found[2])) < tuple(map(int, needed.split("."))):
        return [f"Rust {needed} or newer (there is {found[1]}.{found[2]})"]
    return []


def _rust_version() -> str:
    """`rust-version` of the workspace, which is in the current directory, as PEP 517 says."""
    return tomllib.loads(Path("Cargo.toml").read_text())["workspace"]["package"]["rust-version"]


def _missing_c() -> list[str]:
    """Looks for a C compiler under its usual names, and under those that variables give to Cargo and to C builds."""
    named = [name for name in os.environ if name in ("CC", "TARGET_CC") or name.startswith(("CC_", "CARGO_TARGET_"))]
    known = [shlex.split(os.environ[name])[0] for name in named if os.environ[name].strip()]
    if any(shutil.which(program) for program in [*known, "cc", "gcc", "clang"]) or os.name == "nt":
        return []
    return ["a C compiler (there is no cc on the PATH; Debian has it in build-essential)"]
