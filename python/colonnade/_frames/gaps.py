"""Refuses values that a destination cannot represent, some of which its library would change silently."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._core import unrepresentable
from colonnade._errors import DataError
from colonnade._libraries import require

if TYPE_CHECKING:
    import pyarrow as pa

#: The years of Python's dates and datetimes.
PYTHON_YEARS = (1, 9999)


def refuse(
    data: Any,
    destination: str,
    way_out: str,
    *,
    midnight: bool = False,
    years: tuple[int, int] | None = None,
    seconds: bool = False,
    only_nested: bool = False,
) -> None:
    """Raises DataError for the first column with a value that the destination cannot represent.

    `midnight` refuses the time 24:00:00. `years` refuses infinite dates and timestamps, and those outside these years.
    `seconds` refuses timestamps in seconds that do not fit into milliseconds. With `only_nested`, only values within
    lists, structs and maps are checked.
    """
    found = unrepresentable(data, midnight=midnight, years=years, seconds=seconds, only_nested=only_nested)
    if found is not None:
        name, what = found
        raise DataError(f"column {name!r} has {what}, which {destination} lacks", hint=way_out, sqlstate="22008")


def refuse_in_column(
    name: str, column: pa.ChunkedArray | pa.Array, destination: str, way_out: str, **gaps: Any
) -> None:
    """The same for one column."""
    pa = require("pyarrow", "to_pandas()", "pandas")
    refuse(pa.table([column], names=[name]), destination, way_out, **gaps)
