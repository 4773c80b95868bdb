"""The C library's functions for which Python has none."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import os
import struct
from collections.abc import Callable

try:
    # The class below multiprocessing's semaphores, which not every interpreter has.
    from _multiprocessing import SemLock
except ImportError:
    SemLock = None

LIBRARY = ctypes.CDLL(None, use_errno=True)

#: Numbers of system calls that the C library has no function for.
LANDLOCK_ADD_RULE = 445
LANDLOCK_RESTRICT_SELF = 446

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_MODE_FILTER = 2
LANDLOCK_RULE_PATH_BENEATH = 1
LANDLOCK_ACCESS_FS_READ_FILE = 1 << 2
LANDLOCK_ACCESS_FS_READ_DIR = 1 << 3
#: What a function process reads of its own directory in /proc: its memory, its threads, its time, the name of its
#: control group. A rule for the directory would also give the network's state, the mounts and the first environment.
OWN_FILES = ("cgroup", "maps", "stat", "statm", "status")
#: The version of the structures of capset(2).
CAPABILITY_VERSION = 0x20080522

#: The numbers of mremap(2).
MREMAP = {"x86_64": 25, "aarch64": 216}
#: Instructions of classic BPF, as in `serve/udf/src/sandbox/filter.rs`: a load, jumps if equal, greater, at least; a
#: return.
LOAD, IF_EQUAL, IF_GREATER, IF_AT_LEAST, RETURN = 0x20, 0x15, 0x25, 0x35, 0x06
#: Where `struct seccomp_data` has the call's number and the halves of its first argument.
NUMBER, LOW, HIGH = 0, 16, 20
RETURN_ERROR = 0x50000

_PROT_READ_WRITE = 3
_MAP_SHARED_NORESERVE = 0x1 | 0x4000

#: The kind of `_multiprocessing.SemLock` that is a plain semaphore, and its largest value.
_SEMAPHORE, _MAX_VALUE = 1, 2**31 - 1


def semaphore(address: int) -> tuple[Callable[[], object], Callable[[], object]]:
    """How to wait for a semaphore of the C library (`sem_t`) at an address, and how to post it. The interpreter lock is
    released while it waits, which may end before somebody has posted it."""
    if SemLock is not None:
        # A wait and a post by ctypes take 0.4 us longer each.
        with contextlib.suppress(AttributeError, TypeError, OSError):
            made = SemLock._rebuild(address, _SEMAPHORE, _MAX_VALUE, None)
            return made.acquire, made.release
    pointer = ctypes.c_void_p(address)
    return functools.partial(_quick.sem_wait, pointer), functools.partial(_quick.sem_post, pointer)


#: Functions whose result and error nobody needs.
_quick = ctypes.CDLL(None)

_syscall = ctypes.CDLL(None, use_errno=True).syscall
_syscall.restype = ctypes.c_long


def _checked(what: str, result: int) -> None:
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")


def map_shared(descriptor: int, size: int) -> int:
    """Map a file that may be shorter than `size`, and give the address. Python's mmap requires the file's size."""
    LIBRARY.mmap.restype = ctypes.c_void_p
    LIBRARY.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    address = LIBRARY.mmap(None, size, _PROT_READ_WRITE, _MAP_SHARED_NORESERVE, descriptor, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "mmap")
    return address


def prctl(option: int, *arguments: int) -> None:
    values = (*arguments, 0, 0, 0, 0)[:4]
    _checked(f"prctl {option}", LIBRARY.prctl(option, *(ctypes.c_ulong(value) for value in values)))


def set_thread_stacks(size: int) -> None:
    """Give threads that this process and its forks start stacks of so many bytes, unless they ask for others.

    The C library takes the size from RLIMIT_STACK when the program starts."""
    # `pthread_attr_t` has 56 bytes on x86-64, 64 on aarch64.
    attributes = ctypes.create_string_buffer(64)
    for call, *arguments in (
        (LIBRARY.pthread_attr_init,),
        (LIBRARY.pthread_attr_setstacksize, ctypes.c_size_t(size)),
        (LIBRARY.pthread_setattr_default_np,),
    ):
        error = call(attributes, *arguments)
        if error != 0:
            raise OSError(error, f"{call.__name__}: {os.strerror(error)}")


def drop_capabilities() -> None:
    """Give up all capabilities, which only root has."""
    header = struct.pack("<Ii", CAPABILITY_VERSION, 0)
    _checked("capset", LIBRARY.capset(header, bytes(24)))


def restrict_files(rules: int) -> None:
    """Put a Landlock ruleset on this thread, with some of the process's own files in /proc added to it.

    Their descriptors stay open, without a right to read: otherwise the kernel may forget a file's inode when it needs
    memory, and make another one for the next open, which has no rule (`proc_pid_make_inode` in fs/proc/base.c)."""
    number = ctypes.c_int(rules)
    accesses = {**dict.fromkeys(OWN_FILES, LANDLOCK_ACCESS_FS_READ_FILE), "fd": LANDLOCK_ACCESS_FS_READ_DIR}
    for name, access in accesses.items():
        own = os.open(f"/proc/self/{name}", os.O_PATH | os.O_CLOEXEC)
        rule = struct.pack("<Qi", access, own)
        added = _syscall(
            ctypes.c_long(LANDLOCK_ADD_RULE), number, ctypes.c_int(LANDLOCK_RULE_PATH_BENEATH), rule, ctypes.c_uint32(0)
        )
        _checked("landlock_add_rule", added)
    _checked("landlock_restrict_self", _syscall(ctypes.c_long(LANDLOCK_RESTRICT_SELF), number, ctypes.c_uint32(0)))


def filter_calls(program: bytes) -> None:
    """Put a seccomp filter on this thread: a program of classic BPF."""

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]

    given = Program(len(program) // 8, program)
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(given))


def stack_end() -> int:
    """The address behind the stack of the first thread."""
    with open("/proc/self/maps") as file:  # noqa: PTH123
        (line,) = (line for line in file if line.endswith("[stack]\n"))
    return int(line.split(maxsplit=1)[0].partition("-")[2], 16)


def stack_rule(lowest: int) -> bytes:
    """Instructions before a filter: mremap(2) is refused from this address on, where the stack is. Otherwise the stack
    could become as large as one likes, because RLIMIT_DATA does not count it, and RLIMIT_STACK only as it grows."""
    high, low = lowest >> 32, lowest & 0xFFFFFFFF
    instructions = (
        (LOAD, 0, 0, NUMBER),
        (IF_EQUAL, 0, 6, MREMAP[os.uname().machine]),
        (LOAD, 0, 0, HIGH),
        (IF_GREATER, 3, 0, high),
        (IF_EQUAL, 0, 3, high),
        (LOAD, 0, 0, LOW),
        (IF_AT_LEAST, 0, 1, low),
        (RETURN, 0, 0, RETURN_ERROR | errno.EPERM),
    )
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)
