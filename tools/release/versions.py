"""Every place that has the version of this project. Its source is `[workspace.package]` in `Cargo.toml`."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

#: Three numbers, as in semantic versioning. The files of the extension and of wheels take no other form.
FORM = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")

_WORKSPACE = re.compile(r'(?m)^(?P<before>version = ")(?P<version>[^"]+)(?="$)')
#: `colonnade-wire = { path = "core/wire", version = "1.2.3" }`
_DEPENDENCY = re.compile(r'(?m)^(?P<before>colonnade-[\w-]+ = \{ path = "[^"]+", version = ")[^"]+')
#: A package of the workspace in a lock file. Packages of registries have a line `source` below. The package of the fuzz
#: targets is never released.
_LOCKED = re.compile(r'(?m)^(?P<before>name = "colonnade-(?!fuzz")[\w-]+"\nversion = ")[^"]+(?="\n(?!source))')
#: `serve = ["colonnade-serve[serve]==1.2.3"]`
_PACKAGE = re.compile(r'(?P<before>"colonnade(?:-serve)?(?:\[[\w,]+\])?==)[^";]+')
_CONTROL = re.compile(r"(?m)^(?P<before>default_version = ')[^']+")
_DATA = re.compile(r"(?m)^DATA = .*$")

#: The files that have the version as it is written: a pattern whose group `before` is followed by it, and how often it
#: is there (None: at least once). A file that shall get the version is a line here. The extension's SQL and PGXN's
#: description also have it in names of files, and the extension for VS Code gets it when it is packed.
PLACES: tuple[tuple[str, re.Pattern[str], int | None], ...] = (
    ("Cargo.toml", _WORKSPACE, 1),
    ("Cargo.toml", _DEPENDENCY, None),
    ("Cargo.lock", _LOCKED, None),
    ("pyproject.toml", _PACKAGE, 4),
    ("serve/pyproject.toml", _PACKAGE, 1),
    ("tests/fuzz/Cargo.lock", _LOCKED, None),
    ("pg/colonnade.control", _CONTROL, 1),
)

_UPGRADE = """\
\\echo Use "ALTER EXTENSION colonnade UPDATE TO '{new}'" to load this file. \\quit

-- The objects of version {old} are those of version {new}.
"""


def current(root: Path) -> str:
    """The version in `Cargo.toml`."""
    found = _WORKSPACE.search((root / "Cargo.toml").read_text())
    if found is None:
        raise ValueError("Cargo.toml has no version")
    return found["version"]


def parsed(version: str) -> tuple[int, ...]:
    """The numbers of a version.

    Raises:
        ValueError: It does not have three numbers.
    """
    found = FORM.fullmatch(version)
    if found is None:
        raise ValueError(f"VERSION={version} is not of the form 1.2.3")
    return tuple(map(int, found.groups()))


def bump(root: Path, new: str) -> None:
    """Writes the version everywhere.

    Raises:
        ValueError: The version is not newer, a place is missing, or the extension's SQL has changed without a script.
    """
    old = current(root)
    if parsed(new) <= parsed(old):
        raise ValueError(f"VERSION={new} is not newer than {old}")
    check_extension(root, old, new)
    for name, pattern, expected in PLACES:
        _replace(root / name, pattern, lambda found: found["before"] + new, expected)
    _bump_extension(root / "pg", old, new)
    _bump_pgxn(root / "pg/META.json", new)


def check_extension(root: Path, old: str, new: str) -> None:
    """Refuses a version whose SQL differs from the last release's, if no script says how to get there."""
    name = f"pg/colonnade--{old}.sql"
    if (root / f"pg/colonnade--{old}--{new}.sql").exists():
        return
    tag = subprocess.run(["git", "rev-parse", "-q", "--verify", f"v{old}"], cwd=root, capture_output=True, check=False)
    if tag.returncode != 0:
        return
    released = subprocess.run(["git", "show", f"v{old}:{name}"], cwd=root, capture_output=True, check=True).stdout
    if released != (root / name).read_bytes():
        raise ValueError(f"{name} has changed since v{old}: write pg/colonnade--{old}--{new}.sql, which upgrades")


def _bump_extension(pg: Path, old: str, new: str) -> None:
    """The extension's SQL is of the new version, and a script upgrades from the old one."""
    (pg / f"colonnade--{old}.sql").rename(pg / f"colonnade--{new}.sql")
    upgrade = pg / f"colonnade--{old}--{new}.sql"
    if not upgrade.exists():
        upgrade.write_text(_UPGRADE.format(old=old, new=new))
    upgrades = sorted(path.name for path in pg.glob("colonnade--*--*.sql"))
    _replace(pg / "Makefile", _DATA, lambda _: " ".join(["DATA =", f"colonnade--{new}.sql", *upgrades]), 1)


def _bump_pgxn(file: Path, new: str) -> None:
    """PGXN's description of the extension."""
    meta = json.loads(file.read_text())
    meta["version"] = new
    meta["provides"]["colonnade"] |= {"version": new, "file": f"colonnade--{new}.sql"}
    file.write_text(json.dumps(meta, indent=2, ensure_ascii=False) + "\n")


def _replace(file: Path, pattern: re.Pattern[str], by: object, expected: int | None) -> None:
    """Replaces all matches; there must be `expected` of them, or some if it is None."""
    text, count = pattern.subn(by, file.read_text())  # pyright: ignore[reportCallIssue, reportArgumentType]
    if count != expected and (expected is not None or count == 0):
        raise ValueError(f"{file.name} has its version in {count} places")
    file.write_text(text)
