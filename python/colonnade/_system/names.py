"""Which operating system this is."""

from __future__ import annotations

import sys

#: As requirements of packages name it (PEP 508, `sys_platform`).
PLATFORM = sys.platform
IS_LINUX = PLATFORM == "linux"
IS_WINDOWS = PLATFORM == "win32"
IS_MACOS = PLATFORM == "darwin"

#: Where the package `colonnade_serve` runs: it uses Landlock, memfd_create and other calls of Linux.
NEEDS_LINUX = "runs on Linux only: use WSL 2 (Windows Subsystem for Linux), a container, or a machine with Linux"
