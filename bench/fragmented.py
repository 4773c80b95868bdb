"""Simulates the memory of a machine with a long uptime: fragmented, with the rest full of files.

    python bench/fragmented.py COMMAND...

It holds every second page of a part of the memory, so that no free 2 MiB are contiguous, fills the rest with the page
cache, and runs the command. A program that allocates large units then has the cost of the kernel's search for them.
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
#: The share of the available memory that is taken in single pages; half of it is given back.
SHARE = 0.7


def megabytes(field: str) -> int:
    """A line of /proc/meminfo."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) >> 10
    raise KeyError(field)


@contextmanager
def fragmented() -> Iterator[None]:
    """Fragmented during the block. The disk needs space for two thirds of the memory."""
    size = int(megabytes("MemAvailable") * SHARE) * MIB
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as taken:
        taken.madvise(mmap.MADV_NOHUGEPAGE)
        for page in range(0, size, PAGE):
            taken[page] = 1
        with tempfile.NamedTemporaryFile(dir=Path(__file__).parent) as files:
            for page in range(0, size, 2 * PAGE):
                taken.madvise(mmap.MADV_DONTNEED, page, PAGE)
            # As much as is free now. If other programs need memory, the kernel evicts the oldest pages of the file.
            for _ in range(megabytes("MemFree") // 64):
                files.write(bytes(64 * MIB))
            yield


if __name__ == "__main__":
    with fragmented():
        sys.exit(subprocess.run(sys.argv[1:], check=False).returncode)
