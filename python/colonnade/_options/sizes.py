"""Sizes in bytes as text."""

from __future__ import annotations

import math

UNITS = {"": 1, "b": 1, "bytes": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}


def size(text: str) -> int:
    """The bytes of a size such as `10GB` and `1.5 GiB`. ValueError or KeyError if it is not a size."""
    text = text.lower().replace(" ", "")
    number = text.rstrip("bytekmgi")
    bytes_ = float(number) * UNITS[text.removeprefix(number)]
    if not math.isfinite(bytes_):
        raise ValueError(text)
    return int(bytes_)
