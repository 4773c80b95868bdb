"""Only `_system/` of the client's package knows operating systems. So what a port changes is in one place."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python/colonnade"
#: What asks for the system, is a module of some systems only, or is a path of some systems only.
OF_A_SYSTEM = re.compile(
    r"sys\.platform|os\.name\b|platform\.system\(|/proc/|/etc/|/sys/|/dev/|getuid\(|geteuid\(|\bwinreg\b|os\.fork\b"
    r"|(?:^|\s)(?:import|from) (?:resource|pwd|grp|fcntl|termios|winreg|msvcrt)\b|signal\.SIG(?!INT|_)|O_NOFOLLOW"
    r"|LOCALAPPDATA|XDG_|os\.fsync"
)


def test_only_one_part_names_systems() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{number}: {line.strip()}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.parent.name != "_system"
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if OF_A_SYSTEM.search(line)
    ]
    assert found == []


def test_text_of_files_has_an_encoding() -> None:
    """Windows takes the user's code page where none is named."""
    found = [
        f"{path.relative_to(PACKAGE)}:{number}: {line.strip()}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(r"\.(?:read|write)_text\((?!.*encoding)|text=True(?!.*encoding)", line)
    ]
    assert found == []
