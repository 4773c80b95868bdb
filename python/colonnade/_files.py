"""New files: complete or absent, and never through a link that somebody else has made."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

from ._errors import InterfaceError
from ._system.disk import is_of_another_user, replace


@contextmanager
def new_file(path: Path, *, below: Path | None = None, mode: int | None = None) -> Iterator[Path]:
    """A file that has another name until it is complete, and then replaces the one at `path`. After an error there is
    none.

    `below` is a directory with files of other people, such as a repository. Missing directories between it and the file
    are made, and neither they nor the file may be links. Without `below`, a link at `path` is followed, unless it
    belongs to somebody else. `mode`: the permissions, if they are not those of any new file.
    """
    if below is None:
        path = target(path)
    else:
        refuse_links(path, below)
        path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():
        raise InterfaceError(f"{path} exists and is not a regular file: choose another name")
    if not path.parent.is_dir():
        raise InterfaceError(f"{path.parent} is not a directory: make it first")
    temporary = part_of(path)
    # A signal may end this at any moment from the file's beginning on.
    try:
        with naming(path, temporary):
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            yield temporary
        # Until now, others could not read it.
        temporary.chmod(0o666 & ~umask() if mode is None else mode)
        replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def part_of(path: Path) -> Path:
    """A new name beside a path, for what is not complete. With the path's name in it, it could be too long."""
    return path.parent / f".colonnade-{token_hex(8)}.part"


@contextmanager
def naming(path: Path, temporary: Path) -> Iterator[None]:
    """Errors of the system about a temporary file or directory within the block as errors about what it will be. Those
    of pyarrow have no file."""
    try:
        yield
    except OSError as error:
        place = str(error.filename or "")
        if error.errno is None or not (place.startswith(str(temporary)) or (not place and error.errno in _FULL)):
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from error


#: A full disk, and a full quota.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def write_text(path: Path, text: str, *, below: Path | None = None) -> None:
    """Write a file at once or not at all."""
    with new_file(path, below=below) as file:
        file.write_bytes(text.encode())


def refuse_links(path: Path, below: Path) -> None:
    """Refuse a path below a directory that leads through a link: its target may be anywhere."""
    place = below
    for part in path.relative_to(below).parts:
        place /= part
        if place.is_symlink():
            raise InterfaceError(
                f"{place} is a link to {place.readlink()}, and nothing is written through links: remove it, or put a "
                f"{'directory' if place != path else 'file'} in its place"
            )


def target(path: Path) -> Path:
    """The file to which a path leads. Refuses a link that neither this user nor root has made (as Linux does in
    directories that all may write to: proc_sys_fs(5), protected_symlinks)."""
    if path.is_symlink() and is_of_another_user(path):
        raise InterfaceError(f"{path} is a link of another user: write to {path.readlink()} itself, or remove the link")
    return path.resolve()


def umask() -> int:
    """The permissions that a new file does not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
