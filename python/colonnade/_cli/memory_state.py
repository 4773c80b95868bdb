"""The state of the machine's memory: its free blocks and their sizes. The cost of page faults depends on it."""

from __future__ import annotations

import mmap
import re
from dataclasses import dataclass
from pathlib import Path

from colonnade._system.process import KERNEL_FILES

#: The size of a huge page on x86-64, and on ARM with pages of 4 KiB.
HUGE_PAGE = 2 << 20
#: Below this share of free memory in blocks of a huge page, the state is called fragmented.
FRAGMENTED_BELOW = 0.5


@dataclass(frozen=True)
class MemoryState:
    """Facts of the files meminfo and buddyinfo of proc(5), and of the kernel's settings. Sizes are in bytes."""

    total: int
    free: int
    #: Contents of files, which the kernel drops when it needs memory. Shared memory is not counted.
    page_cache: int
    #: Share of the free memory in contiguous blocks of at least 2 MiB, from 0 to 1; None if it is unknown.
    in_huge_blocks: float | None
    #: The mode of transparent huge pages: `always`, `madvise` or `never`; None if the kernel has none.
    huge_pages: str | None

    @property
    def names(self) -> list[str]:
        """`fragmented` and `full of page cache` if they are true; otherwise `fresh`."""
        found = []
        if self.in_huge_blocks is not None and self.in_huge_blocks < FRAGMENTED_BELOW:
            found.append("fragmented")
        if self.page_cache > self.free:
            found.append("full of page cache")
        return found or ["fresh"]

    def __str__(self) -> str:
        blocks = "unknown" if self.in_huge_blocks is None else f"{self.in_huge_blocks:.0%}"
        return (
            f"{' and '.join(self.names)}: {self.free / 2**30:.1f} of {self.total / 2**30:.1f} GiB free, "
            f"{blocks} of it in blocks of at least 2 MiB; {self.page_cache / 2**30:.1f} GiB of page cache; "
            f"transparent huge pages: {self.huge_pages or 'none'}"
        )


def memory_state(root: Path | None = KERNEL_FILES) -> MemoryState | None:
    """The state now; None where the system is not Linux. `root` is the directory with `proc` and `sys`."""
    meminfo = None if root is None else _read(root / "proc/meminfo")
    if root is None or meminfo is None:
        return None
    sizes = {name: int(size) << 10 for name, size in re.findall(r"^(\w+):\s+(\d+) kB", meminfo, re.MULTILINE)}
    return MemoryState(
        total=sizes["MemTotal"],
        free=sizes["MemFree"],
        page_cache=max(0, sizes["Cached"] + sizes["Buffers"] - sizes.get("Shmem", 0)),
        in_huge_blocks=_in_huge_blocks(root / "proc/buddyinfo"),
        huge_pages=_selected(root / "sys/kernel/mm/transparent_hugepage/enabled"),
    )


def memory_report(root: Path | None = KERNEL_FILES) -> str:
    """The state as a sentence of a report."""
    return f"Memory before the measurement: {memory_state(root) or 'unknown, since the system is not Linux'}."


def _in_huge_blocks(buddyinfo: Path) -> float | None:
    """Each line of the file has the numbers of a zone's free blocks of 1, 2, 4 … pages."""
    free = huge = 0
    for line in (_read(buddyinfo) or "").splitlines():
        # `Node 0, zone   Normal   4707   4084 …`
        for order, count in enumerate(map(int, line.split()[4:])):
            block = mmap.PAGESIZE << order
            free += count * block
            huge += count * block if block >= HUGE_PAGE else 0
    return huge / free if free else None


def _selected(switch: Path) -> str | None:
    """The kernel marks the value of a switch by brackets: `always [madvise] never`."""
    found = re.search(r"\[(\w+)\]", _read(switch) or "")
    return found[1] if found else None


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return None
