"""Geometries for pyarrow, which writes them into Parquet as what they are if their extension type is registered."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from colonnade._libraries import require

_NAME = "geoarrow.wkb"


def know_geometries() -> None:
    """Makes pyarrow take columns of `geoarrow.wkb` for geometries: for this process, which is the command's. Another
    package may have done so."""
    pa = require("pyarrow", "writing Parquet")

    class Geometry(pa.ExtensionType):
        """Well-known binary."""

        def __init__(self, storage: Any, described: bytes) -> None:
            self._described = described
            super().__init__(storage, _NAME)

        def __arrow_ext_serialize__(self) -> bytes:
            return self._described

        @classmethod
        def __arrow_ext_deserialize__(cls, storage: Any, described: bytes) -> Geometry:
            return cls(storage, described)

    with suppress(pa.ArrowKeyError):
        pa.register_extension_type(Geometry(pa.binary(), b"{}"))
