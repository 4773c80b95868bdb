"""The wheels for Windows, and a Python for Windows that has them."""

from __future__ import annotations

from pathlib import Path

from tests.dist.shipped import DIST, VERSION
from tests.testbed import wine

PACKAGE = DIST / "windows" / f"colonnade-{VERSION}-cp311-abi3-win_amd64.whl"
DRIVER = DIST / "windows" / f"adbc_driver_colonnade-{VERSION}-py3-none-win_amd64.whl"


def with_wheels(folder: Path) -> wine.Windows:
    """The Python. The wheels are installed into the folder."""
    wine.install(folder, "--no-deps", PACKAGE, DRIVER)
    return wine.Windows([folder])
