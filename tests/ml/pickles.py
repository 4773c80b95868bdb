"""Pickles that no pickler writes."""

from __future__ import annotations


def changing(module: str, name: str, attribute: str) -> bytes:
    """A pickle that gives a class or a function the state {attribute: "changed"}."""

    def text(value: str) -> bytes:
        return b"\x8c" + bytes([len(value)]) + value.encode()

    target = text(module) + text(name) + b"\x93"
    return b"\x80\x04" + target + b"N}" + text(attribute) + text("changed") + b"s\x86b."
