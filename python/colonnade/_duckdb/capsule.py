"""Streams that DuckDB gives as capsules."""

from __future__ import annotations


class Capsule:
    """A running stream with Arrow's PyCapsule interface."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._capsule
