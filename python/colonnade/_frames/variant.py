"""Values of Parquet's variant encoding as JSON texts.
<https://github.com/apache/parquet-format/blob/master/VariantEncoding.md>

Numbers without an exact number in JSON, dates and bytes have the texts of `text.py`.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import struct
from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from typing import Any
from uuid import UUID

from colonnade._errors import DataError

#: The extension type of a struct of the two parts.
NAME = b"arrow.parquet.variant"
_EPOCH = dt.datetime(1970, 1, 1)


def json_text(parts: dict[str, Any] | None, column: str) -> str | None:
    """The JSON text of a value, whose parts are `metadata` and `value`; None for NULL."""
    if parts is None:
        return None
    if parts["value"] is None:
        return "null"
    try:
        return _Variant(parts["metadata"], parts["value"]).text(0)
    except (IndexError, struct.error, KeyError, ValueError, RecursionError, OverflowError) as error:
        raise DataError(f'column "{column}" has a damaged variant: {error}', sqlstate="22000") from error


class _Variant:
    def __init__(self, metadata: bytes, value: bytes) -> None:
        self._value = value
        size = (metadata[0] >> 6) + 1
        count = int.from_bytes(metadata[1 : 1 + size], "little")
        ends = _numbers(metadata, 1 + size, size, count + 1)
        start = 1 + size * (count + 2)
        self._names = [metadata[start + one : start + other].decode() for one, other in pairwise(ends)]

    def text(self, at: int) -> str:
        """The JSON of the value that begins there."""
        basic, header = self._value[at] & 3, self._value[at] >> 2
        match basic:
            case 0:
                return _PRIMITIVES[header](self._value, at + 1)
            case 1:
                return json.dumps(_bytes(self._value, at + 1, header).decode(), ensure_ascii=False)
            case 2:
                ids, offset = (header >> 2 & 3) + 1, (header & 3) + 1
                count, at = self._count(at + 1, large=header >> 4 & 1)
                names = _numbers(self._value, at, ids, count)
                at += ids * count
                places = _numbers(self._value, at, offset, count)
                at += offset * (count + 1)
                keys = (json.dumps(self._names[name], ensure_ascii=False) for name in names)
                return _joined(
                    "{", (f"{key}: {self.text(at + one)}" for key, one in zip(keys, places, strict=True)), "}"
                )
            case _:
                offset = (header & 3) + 1
                count, at = self._count(at + 1, large=header >> 2 & 1)
                places = _numbers(self._value, at, offset, count)
                at += offset * (count + 1)
                return _joined("[", (self.text(at + one) for one in places), "]")

    def _count(self, at: int, *, large: int) -> tuple[int, int]:
        """The number of elements, and where it ends."""
        size = 4 if large else 1
        return int.from_bytes(_bytes(self._value, at, size), "little"), at + size


def _joined(opening: str, texts: Any, closing: str) -> str:
    return f"{opening}{', '.join(texts)}{closing}"


def _bytes(data: bytes, at: int, length: int) -> bytes:
    if at + length > len(data):
        raise ValueError("it ends too early")
    return data[at : at + length]


def _numbers(data: bytes, at: int, size: int, count: int) -> list[int]:
    whole = _bytes(data, at, size * count)
    return [int.from_bytes(whole[start : start + size], "little") for start in range(0, len(whole), size)]


def _unpacked(form: str, show: Callable[[Any], str]) -> Callable[[bytes, int], str]:
    return lambda data, at: show(struct.unpack_from(form, data, at)[0])


def _float(number: float) -> str:
    if math.isfinite(number):
        return repr(number)
    return '"NaN"' if number != number else '"Infinity"' if number > 0 else '"-Infinity"'


def _single(number: float) -> str:
    """The shortest digits of a float of 32 bits."""
    digits = next((f"{number:.{count}g}" for count in range(6, 10) if _is_single(f"{number:.{count}g}", number)), "nan")
    return _float(float(digits)) if math.isfinite(number) else _float(number)


def _is_single(digits: str, number: float) -> bool:
    return struct.unpack("<f", struct.pack("<f", float(digits)))[0] == number


def _decimal(size: int) -> Callable[[bytes, int], str]:
    def show(data: bytes, at: int) -> str:
        number = int.from_bytes(_bytes(data, at + 1, size), "little", signed=True)
        sign, digits = int(number < 0), tuple(map(int, str(abs(number))))
        return f'"{Decimal((sign, digits, -data[at])):f}"'

    return show


def _date(days: int) -> str:
    try:
        return f'"{_EPOCH.date() + dt.timedelta(days=days)}"'
    except OverflowError:
        return f'"{days} days since 1970"'


def _moment(per_second: int, zone: str) -> Callable[[int], str]:
    digits = len(str(per_second)) - 1

    def show(number: int) -> str:
        seconds, fraction = divmod(number, per_second)
        try:
            return f'"{_EPOCH + dt.timedelta(seconds=seconds)}.{fraction:0{digits}d}{zone}"'
        except OverflowError:
            return f'"{number} {"us" if per_second == 1_000_000 else "ns"} since 1970"'

    return show


def _time(micros: int) -> str:
    seconds, fraction = divmod(micros, 1_000_000)
    return f'"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{fraction:06d}"'


def _of_length(show: Callable[[bytes], str]) -> Callable[[bytes, int], str]:
    return lambda data, at: show(_bytes(data, at + 4, struct.unpack_from("<I", data, at)[0]))


#: By their numbers.
_PRIMITIVES: dict[int, Callable[[bytes, int], str]] = {
    0: lambda _data, _at: "null",
    1: lambda _data, _at: "true",
    2: lambda _data, _at: "false",
    3: _unpacked("<b", str),
    4: _unpacked("<h", str),
    5: _unpacked("<i", str),
    6: _unpacked("<q", str),
    7: _unpacked("<d", _float),
    8: _decimal(4),
    9: _decimal(8),
    10: _decimal(16),
    11: _unpacked("<i", _date),
    12: _unpacked("<q", _moment(1_000_000, "Z")),
    13: _unpacked("<q", _moment(1_000_000, "")),
    14: _unpacked("<f", _single),
    15: _of_length(lambda found: json.dumps(f"\\x{found.hex()}")),
    16: _of_length(lambda found: json.dumps(found.decode(), ensure_ascii=False)),
    17: _unpacked("<q", _time),
    18: _unpacked("<q", _moment(1_000_000_000, "Z")),
    19: _unpacked("<q", _moment(1_000_000_000, "")),
    20: lambda data, at: f'"{UUID(bytes=_bytes(data, at, 16))}"',
}
