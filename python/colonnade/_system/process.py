"""This process: its memory, the signals that end it, and pipes that nobody reads."""

from __future__ import annotations

import ctypes
import errno
import io
import signal
import sys
from pathlib import Path

from .names import IS_LINUX, IS_WINDOWS

#: Signals that would end the process at once. Windows sends SIGBREAK for Ctrl-Break and when its console is closed.
ENDING_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name))
#: The directory with the kernel's files about processes and memory; None where there is none.
KERNEL_FILES = Path("/") if IS_LINUX else None


def peak_bytes() -> int:
    """The peak of this process's memory. On systems other than Linux and Windows it may count the parent process."""
    if KERNEL_FILES is not None:
        lines = (KERNEL_FILES / "proc/self/status").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    if sys.platform == "win32":
        return _peak_working_set()
    import resource

    # Kilobytes, but bytes on macOS.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def is_closed_pipe(error: BaseException) -> bool:
    """Whether the reader of a pipe has closed it. The C library of Windows has EINVAL for this too."""
    return isinstance(error, BrokenPipeError) or (
        IS_WINDOWS and isinstance(error, OSError) and error.errno == errno.EINVAL and error.filename is None
    )


def write_unicode() -> None:
    """Makes the standard streams UTF-8, which consoles have already. Windows would give pipes and files
    the user's code page, which lacks most characters, until Python 3.15."""
    if IS_WINDOWS:
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding="utf-8")


class _MemoryCounters(ctypes.Structure):
    """PROCESS_MEMORY_COUNTERS, <https://learn.microsoft.com/windows/win32/api/psapi/>."""

    _fields_ = (
        ("cb", ctypes.c_uint32),
        ("PageFaultCount", ctypes.c_uint32),
        ("PeakWorkingSetSize", ctypes.c_size_t),
        ("WorkingSetSize", ctypes.c_size_t),
        ("QuotaPeakPagedPoolUsage", ctypes.c_size_t),
        ("QuotaPagedPoolUsage", ctypes.c_size_t),
        ("QuotaPeakNonPagedPoolUsage", ctypes.c_size_t),
        ("QuotaNonPagedPoolUsage", ctypes.c_size_t),
        ("PagefileUsage", ctypes.c_size_t),
        ("PeakPagefileUsage", ctypes.c_size_t),
    )


if sys.platform == "win32":

    def _peak_working_set() -> int:
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        kernel.GetCurrentProcess.restype = ctypes.c_void_p
        kernel.K32GetProcessMemoryInfo.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32)
        counters = _MemoryCounters(cb=ctypes.sizeof(_MemoryCounters))
        if not kernel.K32GetProcessMemoryInfo(kernel.GetCurrentProcess(), ctypes.byref(counters), counters.cb):
            raise ctypes.WinError(ctypes.get_last_error())
        return counters.PeakWorkingSetSize
