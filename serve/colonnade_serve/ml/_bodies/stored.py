"""Models as rows of the table."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy

from .artifacts import opened_artifact
from .matrix_graphs import opened_graph
from .refused import ModelError

#: What is read of a model at each call.
COLUMNS = "version, format, sha256, python, libraries"


def quoted(text: str) -> str:
    """A text as a literal of SQL."""
    if "\0" in text:
        raise ModelError("a name has no character 0")
    return "'" + text.replace("'", "''") + "'"


def identity(name: str) -> tuple[str, int | None]:
    """The name and the version of `name` or `name@version`."""
    bare, at, version = name.rpartition("@")
    if not at:
        return name, None
    if not version.isdecimal() or len(version) > 18:
        raise ModelError(f"{name!r} is no model: write name, or name@version")
    return bare, int(version)


def rows_of(found: Any) -> dict[str, Any]:
    """The first row of a result, as Python's values."""
    row = {}
    for name, column in found.items():
        if not len(column):
            return {}
        value = column[0]
        row[name] = None if value is numpy.ma.masked else value.item() if isinstance(value, numpy.generic) else value
    return row


def row_of(connection: Any, table: str, model: str) -> dict[str, Any]:
    """A stored model without its artifact: the newest version unless one is named."""
    name, version = identity(model)
    where = f"name = {quoted(name)}" + (f" AND version = {version}" if version is not None else "")
    row = rows_of(connection.execute(f"SELECT {COLUMNS} FROM {table} WHERE {where} ORDER BY version DESC LIMIT 1"))
    if not row:
        raise ModelError(f"there is no model {model!r} in {table}")
    return {"name": name, **row}


def artifact_of(connection: Any, table: str, row: dict[str, Any]) -> bytes:
    """The bytes of a stored model."""
    where = f"name = {quoted(row['name'])} AND version = {int(row['version'])}"
    found = rows_of(connection.execute(f"SELECT artifact FROM {table} WHERE {where}"))
    if not found or found["artifact"] is None:
        raise ModelError(f"the model {row['name']!r} has no artifact")
    return bytes(found["artifact"])


def model_of(connection: Any, table: str, name: str | None) -> tuple[Any, dict[str, Any]]:
    """A model that can be applied. The process keeps the last ones, by their rows with the hash of their bytes."""
    if not name:
        raise ModelError("the last argument is the name of a model")
    row = row_of(connection, table, name)
    kept = kept_models()
    # With its name, because a row that has the hash of another model is a damaged one.
    key = tuple(row.items())
    if key not in kept:
        row["artifact"] = artifact_of(connection, table, row)
        found = opened_artifact(f"{row['name']}@{row['version']}", row, opened_graph)
        while len(kept) >= 8:
            del kept[next(iter(kept))]
        kept[key] = found
    return kept[key]


def kept_models() -> dict[Any, tuple[Any, dict[str, Any]]]:
    """The models that this process has opened."""
    return globals().setdefault("colonnade_models", {})


def next_version(connection: Any, table: str, name: str) -> int:
    """The version of a new model with this name."""
    found = rows_of(
        connection.execute(f"SELECT system.main.max(version) AS newest FROM {table} WHERE name = {quoted(name)}")
    )
    return int(found["newest"] or 0) + 1


def digest(artifact: bytes) -> str:
    return hashlib.sha256(artifact).hexdigest()
