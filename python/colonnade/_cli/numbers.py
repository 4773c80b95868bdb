"""Numbers of the command line. argparse shows the texts of these errors with the option's name."""

from __future__ import annotations

import argparse

from colonnade._options.sizes import size

#: More seconds would overflow the server's clocks.
MAX_SECONDS = 1e9
MAX_COUNT = 2**31 - 1
MAX_BYTES = 2**63 - 1


def share(text: str) -> float:
    """A number from 0 to 1."""
    try:
        found = float(text)
    except ValueError:
        found = -1
    if not 0 <= found <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share: write a number from 0 to 1")
    return found


def seconds(text: str) -> float:
    """A time from 0 on."""
    try:
        found = float(text)
    except ValueError:
        found = -1
    if not 0 <= found < MAX_SECONDS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time: write seconds from 0 on, such as 60 or 0.5")
    return found


def count(text: str, least: int = 0) -> int:
    """A whole number from `least` on."""
    try:
        found = int(text)
    except ValueError:
        found = least - 1
    if not least <= found <= MAX_COUNT:
        raise argparse.ArgumentTypeError(f"{text!r} is not such a number: write a whole number from {least} on")
    return found


def positive(text: str) -> int:
    """A whole number from 1 on."""
    return count(text, least=1)


def byte_size(text: str) -> int:
    """Bytes, from a size such as `10GB`."""
    try:
        found = size(text)
    except (KeyError, ValueError):
        found = -1
    if not 0 <= found <= MAX_BYTES:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size: write one such as 10GB or 256MiB")
    return found
