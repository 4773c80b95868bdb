"""The state of the memory in which a benchmark was measured."""

from __future__ import annotations

import mmap
from pathlib import Path

import pytest
from colonnade._cli.memory_state import memory_report, memory_state

MEMINFO = """\
MemTotal:       24684084 kB
MemFree:        {free} kB
MemAvailable:   13176912 kB
Buffers:            4096 kB
Cached:          {cached} kB
Shmem:             12288 kB
HugePages_Total:       0
"""
#: As the kernel writes it: blocks of 1, 2, 4 … pages.
BUDDYINFO = """\
Node 0, zone      DMA      {small}      0      0      0      0      0      0      0      0      0      0
Node 0, zone   Normal      0      0      0      0      0      0      0      0      0      {large}      0
"""


def machine(
    root: Path, *, free: int, cached: int, small: int, large: int, switch: str = "always [madvise] never"
) -> Path:
    files = {
        "proc/meminfo": MEMINFO.format(free=free, cached=cached),
        "proc/buddyinfo": BUDDYINFO.format(small=small, large=large),
        "sys/kernel/mm/transparent_hugepage/enabled": switch,
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


pages = pytest.mark.skipif(mmap.PAGESIZE != 4096, reason="a block of 512 pages has 2 MiB only where a page has 4 KiB")


@pages
@pytest.mark.parametrize(
    ("small", "large", "free", "cached", "share", "names"),
    [
        # 512 single pages are as much as one block of 2 MiB.
        (512, 3, 13_000_000, 300_000, 0.75, ["fresh"]),
        (512 * 9, 1, 13_000_000, 300_000, 0.1, ["fragmented"]),
        (0, 4, 500_000, 9_000_000, 1.0, ["full of page cache"]),
        (512 * 3, 1, 500_000, 9_000_000, 0.25, ["fragmented", "full of page cache"]),
    ],
)
def test_states(small: int, large: int, free: int, cached: int, share: float, names: list[str], tmp_path: Path) -> None:
    state = memory_state(machine(tmp_path, free=free, cached=cached, small=small, large=large))
    assert state is not None
    assert (state.total, state.free, state.page_cache) == (24684084 << 10, free << 10, (cached + 4096 - 12288) << 10)
    assert (state.in_huge_blocks, state.huge_pages, state.names) == (share, "madvise", names)


@pages
def test_the_sentence_has_every_figure(tmp_path: Path) -> None:
    root = machine(
        tmp_path, free=1 << 20, cached=(2 << 20) + 8192, small=512 * 3, large=1, switch="[always] madvise never"
    )
    assert memory_report(root) == (
        "Memory before the measurement: fragmented and full of page cache: 1.0 of 23.5 GiB free, 25% of it in blocks "
        "of at least 2 MiB; 2.0 GiB of page cache; transparent huge pages: always."
    )


def test_what_a_kernel_does_not_say_is_unknown(tmp_path: Path) -> None:
    root = machine(tmp_path, free=1 << 20, cached=1 << 19, small=1, large=1)
    (root / "proc/buddyinfo").unlink()
    (root / "sys/kernel/mm/transparent_hugepage/enabled").unlink()
    state = memory_state(root)
    assert state is not None and (state.in_huge_blocks, state.huge_pages, state.names) == (None, None, ["fresh"])
    assert "unknown of it in blocks" in str(state) and "transparent huge pages: none" in str(state)
    assert memory_report(tmp_path / "nowhere") == (
        "Memory before the measurement: unknown, since the system is not Linux."
    )


def test_this_machine_has_a_state() -> None:
    state = memory_state()
    assert state is not None and 0 < state.free < state.total
    assert state.in_huge_blocks is None or 0 <= state.in_huge_blocks <= 1
