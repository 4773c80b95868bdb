"""The columns of an ODBC result: in which types they are requested, and how they get the types of `spec/TYPES.md`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._libraries import require

if TYPE_CHECKING:
    import pyarrow as pa

#: The text of a time that is not cut off.
_WHOLE_TIME = r"^-?[0-9]{2,}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([+-].*)?$"


class _Infinite(ValueError):
    """The driver's text of an infinite timestamp."""


class BrokenStream(Exception):
    """Ends a stream of batches; only its text reaches the reader."""


def asked_type(pa: Any, described: pa.DataType) -> pa.DataType:
    """The type in which a column is requested, so that it loses nothing."""
    types = pa.types
    # The text is exact even if the description is not. ODBC's structs have no room for each time, and arrow-odbc and
    # drivers then fill them with others.
    if types.is_decimal(described) or types.is_temporal(described) or described == pa.int64():
        return pa.utf8()
    # MariaDB's driver returns NULL for every value that is requested as a bit.
    if types.is_boolean(described):
        return pa.int16()
    return given_type(pa, described)


def given_type(pa: Any, described: pa.DataType) -> pa.DataType:
    """The type of a column in the result."""
    wider = {
        pa.uint8(): pa.int16(),
        pa.int8(): pa.int16(),
        pa.int16(): pa.int32(),
        pa.int32(): pa.int64(),
        pa.float32(): pa.float64(),
    }
    if described in wider:
        return wider[described]
    # arrow-odbc crashes if a value is shorter than described.
    if pa.types.is_fixed_size_binary(described):
        return pa.binary()
    if pa.types.is_timestamp(described) and described.unit in ("s", "ms"):
        return pa.timestamp("us")
    return described


class ColumnReader:
    """One column of a result."""

    def __init__(self, pa: Any, field: pa.Field, described: pa.DataType, infinity: str) -> None:
        """`infinity` is the driver's text of an infinite timestamp, if that is also the text of another one."""
        self._pa = pa
        self._compute = require("pyarrow.compute", "an odbc: URI", "odbc")
        self._field = field
        self._is_time = pa.types.is_time(described)
        self._infinity = infinity if pa.types.is_timestamp(described) else ""

    def read(self, column: pa.Array, before: int) -> pa.Array:
        """The column in its own type. Nothing is rounded.

        Args:
            column: The column as it was requested.
            before: The number of rows before these.
        """
        try:
            return self._read(column)
        except (self._pa.ArrowInvalid, _Infinite) as error:
            row = next(index for index in range(len(column)) if not self._fits(column[index : index + 1]))
            name, kind = self._field.name, self._field.type
            if isinstance(error, _Infinite):
                why = f"the driver also writes infinity as {self._infinity}: read postgresql:// instead"
            elif kind == self._pa.utf8():
                why = "a time that the driver has cut off: cast it to text in the query"
            else:
                why = f"a value that {kind} does not hold: cast it to text in the query, or read it as text: "
                why += f"as_text=[{name!r}]"
            raise BrokenStream(f'column "{name}", row {before + row + 1}: {why}') from None

    def _read(self, column: pa.Array) -> pa.Array:
        pa, compute, wanted = self._pa, self._compute, self._field.type
        if column.type == pa.binary() and wanted != pa.binary():
            column = column.cast(pa.utf8())
        if self._infinity and compute.any(compute.equal(column, self._infinity)).as_py():
            raise _Infinite
        if column.type == wanted:
            if (
                self._is_time
                and not compute.all(compute.match_substring_regex(column, _WHOLE_TIME), min_count=0).as_py()
            ):
                raise pa.ArrowInvalid("a time that is cut off")
            return column
        if not self._is_time:
            return column.cast(wanted)
        # pyarrow reads no times of day from text.
        moments = compute.binary_join_element_wise("1970-01-01", column, " ")
        return moments.cast(pa.timestamp(wanted.unit)).cast(wanted)

    def _fits(self, column: pa.Array) -> bool:
        try:
            self._read(column)
        except (self._pa.ArrowInvalid, _Infinite):
            return False
        return True
