"""A Python whose C library is musl, as Alpine's: built here from the source of Debian 12's Python 3.11, in two minutes.

    python -m tests.testbed.musl     # prints its command

Only the modules are there that need no other library: neither ctypes nor ssl nor zlib. The loader, which is musl, is
that of Debian's testing release, because pyarrow's wheel crashes with the musl 1.2.3 of Debian 12.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

from tests.testbed.debian import Release

FOLDER = Path(__file__).parents[2] / "target/pythons"
#: The oldest musl in use, that of Debian 12's package `musl`, which the compiler needs as well.
OLDEST_LOADER = Path("/lib/ld-musl-x86_64.so.1")
#: musl's compiler without the include folders of the machine's C library, which Python's build adds.
_COMPILER = """\
#!/bin/bash
# Debian's gcc answers with the name of its own C library.
case "$*" in *print-multiarch*) exit 0;; esac
words=()
for word; do case "$word" in -I/usr/include*|-I/usr/local/include*) ;; *) words+=("$word");; esac; done
exec musl-gcc "${words[@]}"
"""


def interpreter() -> list[str]:
    """The command of the interpreter, which is built if it is not there.

    Raises:
        LookupError: musl's compiler is not installed.
    """
    loader = FOLDER / "musl/usr/lib/ld-musl-x86_64.so.1"
    if not loader.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        Release("forky").unpack(FOLDER / "musl", ["musl"])
    return [str(loader), str(_built())]


def _built() -> Path:
    folder = FOLDER / "musl-source"
    [*found] = folder.glob("Python-*/python")
    complete = folder / "complete"
    if found and complete.exists():
        return found[0]
    if shutil.which("musl-gcc") is None:
        raise LookupError("musl-gcc is needed: apt-get install musl musl-dev musl-tools")
    shutil.rmtree(folder, ignore_errors=True)
    archive = Release("bookworm").source(folder, "python3.11")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="tar")
    [source] = folder.glob("Python-*")
    compiler = folder / "compiler"
    compiler.write_text(_COMPILER)
    compiler.chmod(0o755)
    configure = ["./configure", "--without-ensurepip", "--disable-test-modules", "--with-pkg-config=no"]
    with (folder / "log").open("w") as log:
        for command in (configure, ["make", f"-j{os.cpu_count()}"]):
            variables = os.environ | {"CC": str(compiler)}
            subprocess.run(command, cwd=source, env=variables, stdout=log, stderr=log, check=True)
    complete.touch()
    return source / "python"


if __name__ == "__main__":
    print(*interpreter())
