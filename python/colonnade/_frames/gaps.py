"""Values that a destination cannot represent are refused, by their column's name. The destination's own library would
change some of them silently."""

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
    """Raises for the first column of a table with a value that the destination has no form for.

    `midnight` is the time 24:00:00; `years` are those that dates and timestamps may have, which infinite ones do not;
    `seconds` are timestamps of that unit that do not fit into milliseconds. With `only_nested`, this is so only within
    lists, structs and maps.
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
