"""The hook of the wheel's build: compiles the driver and puts its library into the package."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

LIBRARY = "libadbc_driver_colonnade.so"


class DriverBuildHook(BuildHookInterface[Any]):
    """The wheel has no extension module, so one wheel serves all versions of Python. Its tag names the version of the C
    library with which it was built; the driver needs no other library."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build_data["force_include"][str(build(Path(self.root).parent))] = f"adbc_driver_colonnade/{LIBRARY}"
        # Tags `linux_…` say nothing of the C library.
        platform = next(tag for tag in platform_tags() if not tag.startswith("linux"))
        build_data["tag"] = f"py3-none-{platform}"


def build(crate: Path) -> Path:
    """Compiles the driver, without debug information. Returns its library."""
    command = ["cargo", "rustc", "--release", "--locked", "--message-format=json-render-diagnostics"]
    command += ["--", "-C", "strip=symbols"]
    done = subprocess.run(command, cwd=crate, check=True, stdout=subprocess.PIPE, text=True)
    messages = map(json.loads, done.stdout.splitlines())
    made = [file for message in messages if message["reason"] == "compiler-artifact" for file in message["filenames"]]
    [library] = [Path(file) for file in made if Path(file).name == LIBRARY]
    return library
