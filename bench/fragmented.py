"""Puts the machine's memory into the state of one that has been up for a while: fragmented, the rest full of files.

    python bench/fragmented.py COMMAND...

It holds every other page of a part of the memory, so that no free 2 MiB stay together, fills what is left with the
page cache, and runs the command. What allocates in large units then pays for what the kernel does to find them.
"""

from __future__ import annotations

import mmap
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PAGE = mmap.PAGESIZE
MIB = 1 << 20
#: Of the available memory, how much is taken in single pages; a half of it is given back.
SHARE = 0.7


def megabytes(field: str) -> int:
    """A line of /proc/meminfo."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) >> 10
    raise KeyError(field)


@contextmanager
def fragmented() -> Iterator[None]:
    """Fragmented for the time of the block. The disk needs room for two thirds of the memory."""
    size = int(megabytes("MemAvailable") * SHARE) * MIB
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as taken:
        taken.madvise(mmap.MADV_NOHUGEPAGE)
        for page in range(0, size, PAGE):
            taken[page] = 1
        with tempfile.NamedTemporaryFile(dir=Path(__file__).parent) as files:
            for page in range(0, size, 2 * PAGE):
                taken.madvise(mmap.MADV_DONTNEED, page, PAGE)
            # As much as is free now. The kernel takes the oldest pages of the file for whoever needs memory.
            for _ in range(megabytes("MemFree") // 64):
                files.write(bytes(64 * MIB))
            yield


if __name__ == "__main__":
    with fragmented():
        sys.exit(subprocess.run(sys.argv[1:], check=False).returncode)
