"""PostgreSQL's catalog, kept in the user's cache directory, because making it takes half of a server's start.

A process of its own makes it, which has opened no database: nothing that a client sends or that a served file has in it
gets into what later servers use. Each server has a copy, and its engine cannot reach the cache from the sandbox. With
`--allow-files` there is no sandbox: then clients can write whatever the operator can.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from colonnade._sources.duckdb_types import exact

from .interpreter import command

MAKER = (
    "from pathlib import Path; from colonnade_serve._duckdb.catalog_file import make_public; "
    "make_public(Path(sys.argv[2]), files=sys.argv[3] == 'True')"
)
#: The file in a server's directory, as `catalog_file.py` names it. This process does not load DuckDB.
NAME = "catalog-public.duckdb"
#: Catalogs that no server has taken for so long are removed when another one is made.
KEPT_SECONDS = 90 * 24 * 3600


def provide_catalog(scratch: Path, *, files: bool) -> None:
    """Put the catalog into a server's directory. If that is not possible, the worker makes its own. `files` says
    whether clients may use files, which the catalog hides otherwise."""
    with suppress(OSError, RuntimeError, subprocess.CalledProcessError):
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "colonnade"
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_own(cache):
            return
        key = digest_of_parts(files)
        content = kept(cache, key)
        if content is not None:
            draft = scratch / "copy"
            draft.write_bytes(content)
            draft.rename(scratch / NAME)
            return
        making = command(MAKER, str(scratch), str(files))
        subprocess.run(making, stdin=subprocess.DEVNULL, capture_output=True, check=True)
        keep(cache, key, (scratch / NAME).read_bytes())


def is_own(directory: Path) -> bool:
    """Whether nobody else, root aside, can change what is in a directory."""
    status = directory.stat()
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def digest_of_parts(files: bool) -> str:
    """A digest of what decides what is in the catalog: this package, and the libraries whose functions it names."""
    parts = [f"{files} {sys.version}".encode()]
    for module in ("_duckdb", "colonnade_serve._core"):
        found = importlib.util.find_spec(module)
        if found is None or found.origin is None:
            raise RuntimeError(f"{module} is missing")
        status = Path(found.origin).stat()
        parts.append(f"{module} {status.st_size} {status.st_mtime_ns}".encode())
    for path in [Path(exact.__file__), *sorted(Path(__file__).parent.with_name("_duckdb").iterdir())]:
        if path.is_file():
            parts += path.name.encode(), path.read_bytes()
    return digest(b"".join(b"%d %s" % (len(part), part) for part in parts))


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def kept(cache: Path, key: str) -> bytes | None:
    """The content of a catalog in the cache. A damaged one is removed: a crash may have left a part of it."""
    for path in cache.glob(f"catalog-{key}-*.duckdb"):
        content = path.read_bytes()
        if path.stem.endswith(f"-{digest(content)}"):
            path.touch()
            return content
        path.unlink(missing_ok=True)
    return None


def keep(cache: Path, key: str, content: bytes) -> None:
    """Put a catalog into the cache, where other servers may be doing the same, and remove what nobody uses any more."""
    draft = cache / f"draft-{os.getpid()}"
    try:
        draft.write_bytes(content)
        draft.rename(cache / f"catalog-{key}-{digest(content)}.duckdb")
    finally:
        draft.unlink(missing_ok=True)
    for path in cache.glob("catalog-*.duckdb"):
        if time.time() - path.stat().st_mtime > KEPT_SECONDS:
            path.unlink(missing_ok=True)
