"""This project's ADBC driver."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.support import programs

ROOT = Path(__file__).parents[2]
#: Built by `make test-python` with the package adbc-driver-colonnade, or named by the variable.
DRIVER = Path(os.environ.get("COLONNADE_ADBC_DRIVER", ROOT / "target/release/libadbc_driver_colonnade.so"))


def installed(directory: Path) -> dict[str, str]:
    """The environment in which driver managers find the driver by the name `colonnade`."""
    environment = {"XDG_CONFIG_HOME": str(directory)}
    programs.run([sys.executable, "-m", "colonnade", "adbc", "install", "--library", DRIVER], **environment)
    return environment
