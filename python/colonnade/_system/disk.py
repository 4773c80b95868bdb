"""Files on disk: their owners, their names, and when their content is safe."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from .names import IS_WINDOWS

#: Windows refuses to replace a file that another program has open. Virus scanners open each new file for a moment.
_ATTEMPTS = 10
_INTERVAL = 0.1


def flush_to_disk(path: Path) -> None:
    """Returns when the file's or the directory's content is on disk. Windows has no such call for directories, and
    refuses it for files that are open for reading only."""
    if IS_WINDOWS and path.is_dir():
        return
    handle = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0) if IS_WINDOWS else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace(source: Path, target: Path) -> None:
    """Gives a file the name of another one, or a directory that of an empty one, which ends.

    Raises:
        OSError: It names the target.
    """
    if IS_WINDOWS and source.is_dir() and target.is_dir():
        target.rmdir()
    attempts = _ATTEMPTS if IS_WINDOWS else 1
    while True:
        attempts -= 1
        try:
            source.replace(target)
            return
        except OSError as error:
            if isinstance(error, PermissionError) and attempts > 0:
                time.sleep(_INTERVAL)
                continue
            told = f"{error.strerror} (is it open in another program?)" if IS_WINDOWS else error.strerror
            raise OSError(error.errno, told, str(target)) from error


def is_of_another_user(path: Path) -> bool:
    """Whether neither this user nor root owns the file or link. Python does not know owners on Windows, where only
    administrators make links by default."""
    if sys.platform == "win32":
        return False
    return path.lstat().st_uid not in (os.geteuid(), 0)
