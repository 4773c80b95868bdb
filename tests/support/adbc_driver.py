"""This project's ADBC driver."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Built by `make test-python`, or named by the variable.
DRIVER = Path(os.environ.get("COLONNADE_ADBC_DRIVER", ROOT / "target/release/libadbc_driver_colonnade.so"))
