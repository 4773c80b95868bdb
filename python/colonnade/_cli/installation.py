"""What is installed: this package, Python, the system, and the optional packages with their supported versions."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

import colonnade
from colonnade._core import BUILD_PROFILE, __version__
from colonnade._system.names import PLATFORM

from .memory_state import memory_state

#: A line of a package's metadata: `duckdb<3,>=2.0 ; extra == 'duckdb'`. Some are for one system only.
_REQUIREMENT = re.compile(
    r"""(?P<name>[\w.-]+)\s*(?:\[(?P<of>[^]]*)\])?\s*\(?(?P<range>[^;()]*)\)?\s*;\s*"""
    r"""(?:\(?sys_platform\s*==\s*['"](?P<only>\w+)['"]\)?\s+and\s+)?extra\s*==\s*['"](?P<extra>[\w-]+)['"]"""
)
_CLAUSE = re.compile(r"\s*(?P<operator>>=|==|<)\s*(?P<version>\d+(?:\.\d+)*)\s*")
_VERSION = re.compile(r"(?P<release>\d+(?:\.\d+)*)[-_.]?(?P<before>(?:a|b|c|rc|alpha|beta|pre|preview|dev)[-_.]?\d*)?")
#: Of this project, but of no extra.
_DRIVER = "adbc-driver-colonnade"
#: The wheel that some extras install, with an extra of its own.
_SERVER = "colonnade-serve"


@dataclass(frozen=True)
class Extra:
    """An extra of the package: `pip install 'colonnade[NAME]'`."""

    name: str
    state: Literal["ready", "not installed", "unsupported"]
    #: Packages that are not installed.
    missing: list[str]
    #: Packages of other versions than the supported ones, each with its range.
    unsupported: list[str]


@dataclass(frozen=True)
class Installation:
    """The facts of this machine and environment."""

    colonnade: str
    build: Literal["debug", "release"]
    #: The folder of the package.
    location: str
    python: str
    platform: str
    #: The C library with its version; None if it is unknown.
    libc: str | None
    #: The CPUs that this process may use.
    cpus: int
    #: The state of the machine's memory; None if it is unknown.
    memory: str | None
    #: The versions of optional packages; None for those that are not installed.
    packages: dict[str, str | None]
    #: Empty if the package was not installed from a wheel, so that its metadata is missing.
    extras: list[Extra]


def installation() -> Installation:
    """Reads the facts. Nothing is imported for them."""
    ranges = _ranges()
    names = sorted({name for needed in ranges.values() for name in needed} | {_DRIVER})
    packages = {name: _version(name) for name in names}
    return Installation(
        colonnade=__version__,
        build=BUILD_PROFILE,
        location=str(Path(colonnade.__file__).parent),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        platform=platform.platform(),
        libc=" ".join(platform.libc_ver()).strip() or None,
        cpus=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory=str(memory_state() or "") or None,
        packages=packages,
        extras=[_extra(name, needed, packages) for name, needed in sorted(ranges.items())],
    )


def _ranges() -> dict[str, dict[str, str]]:
    """The packages of each extra, with their ranges as the metadata has them."""
    of_server: dict[str, dict[str, str]] = {}
    for match in _requirements(_SERVER):
        of_server.setdefault(match["extra"], {})[match["name"]] = match["range"].strip()
    ranges: dict[str, dict[str, str]] = {}
    for match in _requirements("colonnade"):
        needed = ranges.setdefault(match["extra"], {})
        needed[match["name"]] = match["range"].strip()
        if match["name"] == _SERVER:
            needed |= of_server.get(match["of"], {})
    return ranges


def _requirements(package: str) -> Iterator[re.Match[str]]:
    """What the extras of a package need; nothing if it was not installed from a wheel."""
    try:
        found = filter(None, map(_REQUIREMENT.fullmatch, metadata.requires(package) or []))
        return (match for match in found if match["only"] in (None, PLATFORM))
    except metadata.PackageNotFoundError:
        return iter(())


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _extra(name: str, needed: dict[str, str], packages: dict[str, str | None]) -> Extra:
    """An extra whose packages are not all installed is not in use, so their versions do not matter."""
    missing = [package for package in needed if packages[package] is None]
    wrong = [
        f"{package} {version} is not in {range_}"
        for package, range_ in needed.items()
        if (version := packages[package]) is not None and not is_in_range(version, range_)
    ]
    if missing:
        return Extra(name, "not installed", missing, [])
    return Extra(name, "unsupported" if wrong else "ready", [], wrong)


def is_in_range(version: str, range_: str) -> bool:
    """Whether a version is in a range such as `>=2.0,<3`, by PEP 440. A version that cannot be read is in no range.

    Raises:
        ValueError: The range has a clause other than `>=`, `<` and `==`.
    """
    found = _VERSION.match(version)
    if found is None:
        return False
    release = _numbers(found["release"])
    for clause in filter(None, range_.split(",")):
        bound = _CLAUSE.fullmatch(clause)
        if bound is None:
            raise ValueError(f"the range {range_!r} has a clause that is none of >=, < and ==")
        limit = _numbers(bound["version"])
        # A pre-release of the bound is before it, and PEP 440 excludes it from `<` too.
        below = release < limit or (release == limit and found["before"] is not None)
        is_within = {">=": not below, "<": release < limit, "==": release == limit and not below}
        if not is_within[bound["operator"]]:
            return False
    return True


def _numbers(release: str) -> tuple[int, ...]:
    """The numbers of a release, without zeros at its end: 2.0 is 2."""
    numbers = [int(number) for number in release.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
