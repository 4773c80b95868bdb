"""What the ADBC driver for PostgreSQL changes in a result, which is refused.

It keeps 32 bits of an oid as a signed number and the cents of a money, and flattens arrays of more than one dimension.
"""

from __future__ import annotations

from typing import Any

from colonnade._errors import NotSupportedError
from colonnade._libraries import require

#: The field's metadata that names PostgreSQL's type.
_TYPE = b"POSTGRESQL:type"
#: Types whose values may change, and the only nested one whose values do not.
_CHANGED = ("oid", "money")
_ONE_DIMENSION = "int2vector"


def refuse(described: Any, source: str) -> None:
    """Raises an error if the driver may change values of a column."""
    pa = require("pyarrow", "an adbc: URI", "adbc")
    for field in pa.schema(described):
        kind = (field.metadata or {}).get(_TYPE, b"").decode(errors="replace")
        if kind in _CHANGED or (pa.types.is_nested(field.type) and kind != _ONE_DIMENSION):
            raise NotSupportedError(
                f'column "{field.name}" of type {kind}: this driver may change its values',
                sqlstate="0A000",
                hint="read postgresql:// instead, or cast the column to text in the query",
                source=source,
            )
