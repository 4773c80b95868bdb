"""Inputs and expected results of functions, as files of a project."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from colonnade._files import write_text

from . import folder, inputs
from .local import LocalFunction
from .plpython import RowFunction
from .queries import RecordedQueries

if TYPE_CHECKING:
    from .settings import Project

#: What follows a function's file in the name of its test: inputs and expected results.
INPUTS = ".inputs.arrow"
EXPECTED = ".expected.json"
QUERIES = ".queries"


Runnable = LocalFunction | RowFunction


def local_function(path: Path, description: inputs.Description, queries: RecordedQueries) -> Runnable:
    """The function of a file, to be called in this process. Its own queries are answered by `queries`."""
    if description.language == "plpython3u":
        return RowFunction(path, description)
    return LocalFunction(path, description, queries)


def recent(project: Project, path: Path) -> Path:
    """Where the inputs are that were fetched last for a function's file."""
    return project.private / "inputs" / f"{path.parent.name}.{path.stem}.arrow"


@dataclass(frozen=True)
class SavedTest:
    """A function with saved inputs and the results that it must have."""

    path: Path

    @property
    def inputs(self) -> Path:
        return self.path.with_name(self.path.stem + INPUTS)

    @property
    def expected(self) -> Path:
        return self.path.with_name(self.path.stem + EXPECTED)

    @property
    def queries(self) -> Path:
        """The folder of the answers to the function's own queries."""
        return self.path.with_name(self.path.stem + QUERIES)

    def save(self, found: inputs.Inputs, results: list[Any]) -> None:
        """Write inputs and results."""
        folder_of_all = self.path.parents[1]
        found.save(self.inputs, below=folder_of_all)
        lines = ",\n".join(json.dumps(plain(result), ensure_ascii=False) for result in results)
        write_text(self.expected, f"[\n{lines}\n]\n", below=folder_of_all)

    def difference(self) -> str | None:
        """How the results differ from those that are saved, or None."""
        found = inputs.load(self.inputs)
        function = local_function(self.path, found.description, RecordedQueries(self.queries, None))
        results = [plain(result) for result in function.run(found)]
        return first_difference(results, json.loads(self.expected.read_text(encoding="utf-8")), "saved")


def tests(directory: Path) -> list[SavedTest]:
    """The saved tests of a folder."""
    return [SavedTest(one.path) for one in folder.read(directory) if SavedTest(one.path).inputs.is_file()]


def plain(value: Any) -> Any:
    """A value as JSON has it. Values that JSON has not are texts with their type; equal values have equal texts."""
    if isinstance(value, np.ndarray):
        return [plain(item) for item in np.ma.MaskedArray(value).tolist()]
    if isinstance(value, np.generic) and value.dtype.kind not in "mMV":
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, dict):
        return {"dict": [[plain(key), plain(item)] for key, item in value.items()]}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    return {type(value).__name__: str(value)}


def first_difference(found: list[Any], expected: list[Any], whose: str) -> str | None:
    """Where results differ first, as a sentence. Values are those that `plain` gives."""
    for number, (one, other) in enumerate(zip(found, expected, strict=False), 1):
        # 1 is not True and not 1.0 here: the type of a result is a part of it.
        if json.dumps(one) != json.dumps(other):
            return f"result {number} is {json.dumps(one)}, and the {whose} one is {json.dumps(other)}"
    if len(found) != len(expected):
        return f"there are {len(found)} results, and {len(expected)} {whose} ones"
    return None
