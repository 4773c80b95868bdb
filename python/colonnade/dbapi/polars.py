"""`polars.read_database` with this package's cursors."""

from __future__ import annotations

import sys

#: polars' list of the cursors that deliver Arrow, by the package that has them. Others are read row by row, and polars
#: infers the columns' types from the first rows.
_REGISTRY = "polars.io.database._arrow_registry"


def register() -> None:
    """Adds this package to the list, if polars is loaded. Without it, polars takes types from `Cursor.description`."""
    found = getattr(sys.modules.get(_REGISTRY), "ARROW_DRIVER_REGISTRY", None)
    if isinstance(found, dict):
        entry = {
            "fetch_all": "_polars_frames",
            "fetch_batches": "_polars_batches",
            "exact_batch_size": True,
            "repeat_batch_calls": False,
            "minimum_version": None,
        }
        found.setdefault("colonnade", [entry])
