"""The hook of the wheel's build: compiles the driver and puts its library into the package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

#: The library's file, by the beginning of the tags of a platform (as `adbc_driver_colonnade.driver_path` finds it).
LIBRARIES = {
    "win": "adbc_driver_colonnade.dll",
    "macosx": "libadbc_driver_colonnade.dylib",
    "": "libadbc_driver_colonnade.so",
}
#: Visual Studio's compiler is on the PATH in its own console only, and Rust finds it elsewhere.
COMPILERS = {"cargo": "cargo (Rust)"} | ({} if os.name == "nt" else {"cc": "cc (a C compiler)"})


class DriverBuildHook(BuildHookInterface[Any]):
    """The wheel has no extension module, so one wheel serves all versions of Python. Its tag names the version of the C
    library with which it was built; the driver needs no other library."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        # `make dist` has built the library for an older C library than this machine's (`tools/release/dist.py`).
        given = os.environ.get("COLONNADE_DRIVER")
        # Tags `linux_…` say nothing of the C library.
        own = next(tag for tag in platform_tags() if not tag.startswith("linux"))
        platform = os.environ["COLONNADE_DRIVER_PLATFORM"] if given else own
        name = library_name(platform)
        library = Path(given) if given else build(Path(self.root).parent, name)
        build_data["force_include"][str(library)] = f"adbc_driver_colonnade/{name}"
        build_data["tag"] = f"py3-none-{platform}"


def library_name(platform: str) -> str:
    """The name of the library's file for a platform, which is a wheel's tag."""
    return next(name for start, name in LIBRARIES.items() if platform.startswith(start))


def build(crate: Path, name: str) -> Path:
    """Compiles the driver, without debug information. Returns its library, a file of this name."""
    missing = [what for program, what in COMPILERS.items() if shutil.which(program) is None]
    if missing:
        sys.exit(
            f"adbc-driver-colonnade is compiled here, and this is missing on the PATH: {', '.join(missing)}. Install "
            "it, or install the file adbc_driver_colonnade-….whl of a release or of `make dist`"
        )
    command = ["cargo", "rustc", "--release", "--locked", "--message-format=json-render-diagnostics"]
    command += ["--", "-C", "strip=symbols"]
    done = subprocess.run(command, cwd=crate, check=True, stdout=subprocess.PIPE, text=True)
    messages = map(json.loads, done.stdout.splitlines())
    made = [file for message in messages if message["reason"] == "compiler-artifact" for file in message["filenames"]]
    [library] = [Path(file) for file in made if Path(file).name == name]
    return library
